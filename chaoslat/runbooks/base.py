"""What a step is, and the case that the steps of one diagnosis share.

A step is one file: one hypothesis, with the probe or intervention that tests it and the rule that reads the
outcome. It gets a `Case` and its parameters (from the runbook file) and returns a `Finding`. To write the next
one, read `network_path.py`, add it to the tuple in `chaoslat/runbooks/__init__.py`, or offer it as an entry point
`chaoslat.steps`. A step sees an `Operator` and nothing else: no fault, no truth.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from chaoslat.backends.base import Operator, Progress
from chaoslat.model import Cause, Evidence, Finding, Outcome
from chaoslat.runbooks.window import Window, observe

Note = Callable[[str, dict[str, Any]], None]
"""Keeps one event for the recording: its kind and its data."""


class StepParams(BaseModel):
    """Base of a step's parameters: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the randomised comparison says of one factor, and what its mechanism did in the same blocks."""

    outcome: str  # implicated, cleared, undecided
    original: float  # the mechanism's figure in blocks with the original setting ...
    lifted: float  # ... and in lifted ones; nan where there was no such block
    evidence: tuple[Evidence, ...]

    @property
    def mechanism_fell(self) -> bool:
        """The mechanism was seen, and at most a third of it was left when lifted."""
        return self.original > 0 and self.lifted <= self.original / 3


@dataclass
class Case:
    """One diagnosis under way: the operator's tools, and what earlier steps have seen and changed."""

    operator: Operator
    slo_ms: float
    rng: random.Random
    progress: Progress
    note: Note
    windows: list[Window] = field(default_factory=list)
    interventions: list[str] = field(default_factory=list)
    answers: dict[str, Answer] | None = None  # of the comparison of CPU limit and pool, once it has run
    compared: tuple[str, ...] = ()  # the steps whose questions it answered
    compared_after: int = 0  # interventions that had been made when it began, itself included
    cured: bool = False  # whether the SLO came back with the comparison's winners lifted
    findings: list[Finding] = field(default_factory=list)  # of the steps before

    @property
    def window(self) -> Window:
        """The latest window with the present settings."""
        return self.windows[-1]

    @property
    def outdated(self) -> tuple[str, ...]:
        """Steps that did not implicate their cause, and asked before another cause was cured.

        What is a small part of a tail is cleared, and beside another cause each is less of it. The comparison asks
        two questions at once, each beside both answers of the other: one cure among them does not outdate the other.
        """
        cures = [
            i for i, f in enumerate(self.findings) if f.outcome is Outcome.IMPLICATED and f.interventions
        ]
        before = self.findings[: cures[-1]] if cures else []
        together = self.compared if len(self.interventions) <= self.compared_after else ()
        asked = (f.step for f in before if f.cause and f.outcome is not Outcome.IMPLICATED)
        return tuple(step for step in asked if step not in together)

    def missing(self, needs: tuple[str, ...]) -> tuple[str, ...]:
        """Why those of `needs` that the latest window lacks are not here; nothing lacks before the first window."""
        seen = self.windows[-1].not_here if self.windows else {}
        return tuple(seen[name] for name in needs if name in seen)

    def obstacle(self, call: str) -> str:
        """Why an intervention cannot be made here, as the operator knows beforehand; empty when it can."""
        known: Mapping[str, str] = getattr(self.operator, "obstacles", {})
        return known.get(call, "")

    async def observe(self, duration_s: float) -> Window:
        self.windows.append(await observe(self.operator, duration_s))
        return self.window

    def intervene(self, what: str) -> None:
        self.interventions.append(what)
        self.note("intervention", {"what": what})


@runtime_checkable
class Step(Protocol):
    """One hypothesis; see the module's docstring."""

    @property
    def name(self) -> str: ...
    @property
    def cause(self) -> Cause: ...
    @property
    def hypothesis(self) -> str: ...
    @property
    def params(self) -> type[StepParams]: ...
    @property
    def run(self) -> Callable[[Case, Any], Any]:
        """`async (case, params) -> Finding`, or a sequence of them."""
        ...


@dataclass(frozen=True, slots=True)
class StepDef:
    """The ordinary way to be a `Step`: a function and a description."""

    name: str
    cause: Cause
    hypothesis: str
    params: type[StepParams]
    run: Callable[[Case, Any], Any]
    needs: tuple[
        str, ...
    ] = ()  # of the window: calls of the operator, `acquire`, `query`, `cpu`; see `sight.py`

    def finding(
        self,
        outcome: Outcome,
        sentence: str,
        *evidence: Evidence,
        settles: bool = False,
        interventions: tuple[str, ...] = (),
        cause: Cause | None = None,
    ) -> Finding:
        """A finding of this step."""
        return Finding(
            step=self.name,
            hypothesis=self.hypothesis,
            outcome=outcome,
            cause=self.cause if cause is None else cause,
            sentence=sentence,
            evidence=evidence,
            interventions=interventions,
            settles=settles,
        )
