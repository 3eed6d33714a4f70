"""One flat row of plain values per trial: what tables, summaries and JUnit properties are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from chaoslat.model import NONE, Ruling, Symptom, Verdict

COLUMNS = (
    "experiment",
    "injected",
    "diagnosed",
    "ruling",
    "p95/p99 ms",
    "diagnosis s",
    "trial s",
)


@dataclass(frozen=True, slots=True)
class Row:
    """A trial in one line. Only JSON types, so that it can cross processes."""

    experiment: str
    injected: str
    diagnosed: str
    ruling: str
    reason: str
    p95_ms: float | None
    p99_ms: float | None
    to_diagnosis_s: float | None
    trial_s: float
    seed: int
    recording: str

    @classmethod
    def of(cls, verdict: Verdict) -> Row:
        symptom: Symptom | None = verdict.symptom
        return cls(
            experiment=verdict.experiment,
            injected=" + ".join(verdict.truth) or NONE,
            diagnosed=verdict.diagnosis.label if verdict.diagnosis else "-",
            ruling=str(verdict.ruling),
            reason=verdict.reason,
            p95_ms=symptom.p95_ms if symptom else None,
            p99_ms=symptom.p99_ms if symptom else None,
            to_diagnosis_s=verdict.seconds_to_diagnosis_s,
            trial_s=verdict.trial_s,
            seed=verdict.seed,
            recording=verdict.folder,
        )

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Row:
        return cls(**data)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def good(self) -> bool:
        return self.ruling == Ruling.CORRECT

    def cells(self) -> tuple[str, ...]:
        """The texts of `COLUMNS`."""
        return (
            self.experiment,
            self.injected,
            self.diagnosed,
            self.ruling,
            f"{_number(self.p95_ms)} / {_number(self.p99_ms)}",
            _number(self.to_diagnosis_s),
            _number(self.trial_s),
        )

    def properties(self) -> tuple[tuple[str, str], ...]:
        """JUnit properties: name and value."""
        return (
            ("truth", self.injected),
            ("diagnosis", self.diagnosed),
            ("ruling", self.ruling),
            ("seconds", _number(self.to_diagnosis_s)),
            ("seed", str(self.seed)),
            ("recording", self.recording),
        )


def score(rows: Sequence[Row]) -> str:
    """`4 of 5 diagnosed right, 1 invalid`; an invalid trial counts neither for nor against."""
    invalid = sum(row.ruling == Ruling.INVALID for row in rows)
    right = sum(row.good for row in rows)
    return f"{right} of {len(rows) - invalid} diagnosed right" + (f", {invalid} invalid" if invalid else "")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
