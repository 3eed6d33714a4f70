"""What a comparison found, in frozen JSON-able values: every number that a report needs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Answer(StrEnum):
    """Undecided is an answer of its own: no evidence of an effect is not evidence of none."""

    IMPLICATED = "implicated"
    CLEARED = "cleared"
    UNDECIDED = "undecided"


class Skipped(StrEnum):
    """Why a block was not used."""

    FEW_REQUESTS = "few requests"
    VOID = "void"


@dataclass(frozen=True, slots=True)
class Cell:
    """The blocks that had one combination of settings; `lifted` names the factors that were lifted."""

    lifted: tuple[str, ...]
    blocks: int
    requests: int
    mean_statistic: float | None  # None: no block
    over_slo: float | None  # fraction of requests


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer about one factor and the evidence behind it, as it stood when the answer fell (or stands now)."""

    factor: str
    outcome: Answer
    e_value: float  # for an effect
    clear_value: float  # for no relevant effect
    at_s: float
    blocks: int
    cells: tuple[Cell, ...]
    alone: float  # e-value: helps on its own
    once_other_fixed: float | None  # e-value: helps once the other factor is lifted; None with one factor
    together: float
    regardless: float
    harm_e_value: float
    harms: bool
    cleared_before_s: float | None = None  # cleared then, before the other factor was fixed, and tested again

    @property
    def retested(self) -> bool:
        return self.cleared_before_s is not None

    @property
    def reading(self) -> str:
        """The evidence in words."""
        if self.harms:
            return "lifting makes it worse"
        if self.outcome is Answer.IMPLICATED:
            return self._reading_of_a_cause()
        return "lifting is not relevant" if self.outcome is Answer.CLEARED else "the evidence is not in"

    def _reading_of_a_cause(self) -> str:
        fixed = self.once_other_fixed
        if fixed is None:
            return "lifting helps"
        if fixed > 10.0 * self.alone:
            return "lifting helps once the other factor is lifted too: a part of the cause"
        return "lifting helps on its own"


@dataclass(frozen=True, slots=True)
class BlockRecord:
    """One used block; e-values and clear-values after it, in the order of the comparison's factors."""

    at_s: float
    lifted: tuple[str, ...]
    requests: int
    over_slo: int  # requests
    statistic: float
    e_values: tuple[float, ...]
    clear_values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SkippedBlock:
    at_s: float
    lifted: tuple[str, ...]
    why: Skipped


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """A whole comparison."""

    factors: tuple[str, ...]
    slo_ms: float
    floor_ms: float
    passive_mean: float
    tail: bool  # False: the passive window had no tail, nothing was compared
    implicate_at: float
    clear_at: float
    decisions: tuple[Decision, ...]
    blocks: tuple[BlockRecord, ...]
    skipped: tuple[SkippedBlock, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
