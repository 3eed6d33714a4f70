"""A trial in sentences, for somebody who was not there."""

from __future__ import annotations

from collections.abc import Sequence

from chaoslat.model import Finding, Outcome, Ruling, Verdict
from chaoslat.score.trials import label


def sentence(verdict: Verdict) -> str:
    """What was wrong, what the runbook did, what it said, and whether that was right."""
    if verdict.ruling is Ruling.INVALID:
        reason = " ".join(verdict.reason.split())
        return f"{injected(verdict)} The trial is invalid and counts neither for nor against the runbook: {reason}"
    return f"{injected(verdict)} {looked(verdict)} That is {_ruling(verdict)}."


def injected(verdict: Verdict) -> str:
    """`cpu-throttling was injected (limit 0.27 cores).`"""
    if not verdict.truth:
        return "Nothing was wrong with the system."
    level = ", ".join(f"{name} {value}" for name, value in verdict.injected.items())
    return f"The cause was {label(verdict.truth)}" + (f" ({level})." if level else ".")


def looked(verdict: Verdict) -> str:
    """What the runbook did, without being told the cause."""
    diagnosis = verdict.diagnosis
    if diagnosis is None:
        return "No diagnosis was made."
    count = diagnosis.intervention_count
    changed = {0: "changed nothing", 1: "made one intervention"}.get(count, f"made {count} interventions")
    return (
        f"The runbook {diagnosis.runbook}, which was not told, looked for {diagnosis.took_s:.0f} s, {changed} and "
        f"concluded: {diagnosis.label}."
    )


def _ruling(verdict: Verdict) -> str:
    plain = {
        Ruling.CORRECT: "correct",
        Ruling.MISSED: "a miss: a cause that was there was not named",
        Ruling.MISATTRIBUTED: "a misattribution: another cause was named",
        Ruling.FALSE_ALARM: "a false alarm: a cause was named where there was none",
        Ruling.INCONCLUSIVE: "neither right nor wrong: the runbook could not tell",
    }
    return plain.get(verdict.ruling, str(verdict.ruling))


def deciding(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings that the conclusion rests on: what was implicated, else what stayed open, else the last."""
    for outcome in (Outcome.IMPLICATED, Outcome.INCONCLUSIVE):
        if chosen := tuple(f for f in findings if f.outcome is outcome):
            return chosen
    return tuple(findings[-1:])
