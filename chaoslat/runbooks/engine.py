"""Runs a runbook: its steps in order, until the tail is accounted for, and concludes.

The end states: causes found; none; or inconclusive, with what is missing.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from chaoslat.backends.base import Operator, Progress
from chaoslat.errors import NotHere
from chaoslat.model import Diagnosis, Evidence, Finding, Outcome
from chaoslat.runbooks.base import Case, Note, Step, StepParams

GONE_S = 10.0
AGAIN_S = 10.0  # a comparison takes its floor and cap from a window without changes


@dataclass(frozen=True, slots=True)
class Planned:
    """A step of a runbook with its parameters."""

    step: Step
    params: StepParams


@dataclass(frozen=True, slots=True)
class Runbook:
    """An ordered list of steps. `classic` runbooks believe their windows: no closing look."""

    name: str
    description: str
    steps: tuple[Planned, ...]
    closing_look: bool = True


def _no_note(_kind: str, _data: object) -> None:
    return None


async def diagnose(
    runbook: Runbook,
    operator: Operator,
    *,
    slo_ms: float,
    seed: int,
    progress: Progress,
    note: Note = _no_note,
) -> Diagnosis:
    """Look for the cause of the tail. `seed` decides the order of the blocks and nothing else.

    Interventions stay in place; the caller undoes them. Raises `SystemLost` when the system goes away.
    """
    case = Case(operator, slo_ms, random.Random(f"{seed}:diagnose"), progress, note)
    started_s = operator.now_s()
    await _run_steps(runbook.steps, case)
    await _ask_again(runbook, case)
    if runbook.closing_look and _unexplained(case.findings):
        case.findings.append(await _closing_look(case))
    return _conclude(runbook, case, case.findings, operator.now_s() - started_s)


async def _run_steps(steps: Sequence[Planned], case: Case) -> None:
    for planned in steps:
        case.progress(f"step {planned.step.name}: {planned.step.hypothesis}")
        case.findings += await _run_step(planned, case)
        if case.findings[-1].settles:
            return


async def _ask_again(runbook: Runbook, case: Case) -> None:
    """What was asked beside a cause that is cured by now is asked anew, where a tail is left."""
    again = [planned for planned in runbook.steps if planned.step.name in case.outdated]
    if not again or case.findings[-1].settles:
        return
    case.progress("a cause is cured and a tail is left: what was asked beside that cause is asked again")
    case.answers = None
    await case.observe(AGAIN_S)
    names = {planned.step.name for planned in again}
    case.findings = [finding for finding in case.findings if finding.step not in names]
    await _run_steps(again, case)


async def _run_step(planned: Planned, case: Case) -> list[Finding]:
    """What the step found: one finding, or several of a step that looks for several causes."""
    started_s = case.operator.now_s()
    said = await _said(planned, case)
    took_s = case.operator.now_s() - started_s
    findings = [said] if isinstance(said, Finding) else said
    for finding in findings:
        case.progress(f"step {finding.step}: {finding.outcome}. {finding.sentence}")
    return [replace(finding, started_s=started_s, took_s=took_s) for finding in findings]


async def _said(planned: Planned, case: Case) -> Finding | Sequence[Finding]:
    """The step's own words; where it cannot see or do what it needs, that it is inconclusive, and why."""
    if lacking := case.missing(getattr(planned.step, "needs", ())):
        return _not_here(planned.step, lacking)
    try:
        found: Finding | Sequence[Finding] = await planned.step.run(case, planned.params)
    except NotHere as error:
        return _not_here(planned.step, (error.what,))
    return found


def _not_here(step: Step, lacking: Sequence[str]) -> Finding:
    sentence = f"not here: {'; '.join(dict.fromkeys(lacking))}"
    return Finding(step.name, step.hypothesis, Outcome.INCONCLUSIVE, step.cause, sentence)


def _unexplained(findings: list[Finding]) -> bool:
    """A tail was there, every step cleared its cause, and nothing settled it."""
    tested = [f for f in findings if f.cause]
    return bool(tested) and all(f.outcome is Outcome.CLEARED for f in tested)


async def _closing_look(case: Case) -> Finding:
    """Every cause was cleared: is there still a tail to explain? One that came and went is no standing fault."""
    start_s = case.operator.now_s()
    await case.operator.sleep(GONE_S)
    seen = await case.operator.requests(start_s, case.operator.now_s())
    over = float((seen.latency_ms > case.slo_ms).mean()) if len(seen) else 0.0
    evidence = Evidence(
        "requests over the SLO in the closing look", over, "fraction", f"{len(seen)} requests"
    )
    gone = over <= 0.01
    outcome = Outcome.CLEARED if gone else Outcome.INCONCLUSIVE
    sentence = (
        "the tail came and went although nothing was changed: no standing fault"
        if gone
        else f"a tail is still there ({over:.1%} over the SLO) and no step of this runbook explains it"
    )
    return Finding("closing-look", "is the tail still there?", outcome, "", sentence, (evidence,))


def _conclude(runbook: Runbook, case: Case, findings: list[Finding], took_s: float) -> Diagnosis:
    causes = tuple(dict.fromkeys(f.cause for f in findings if f.outcome is Outcome.IMPLICATED))
    settled = any(f.settles for f in findings)
    unsure = [f for f in findings if f.outcome is Outcome.INCONCLUSIVE]
    missing = () if causes and settled else tuple(f"{f.step}: {f.sentence}" for f in unsure)
    return Diagnosis(runbook.name, causes, tuple(findings), missing, took_s, len(case.interventions))
