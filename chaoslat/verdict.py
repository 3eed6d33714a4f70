"""Judges a diagnosis against the truth: the exact set of causes, or what was wrong with it."""

from __future__ import annotations

from chaoslat.model import NONE, Cause, Diagnosis, Ruling


def judge(truth: tuple[Cause, ...], diagnosis: Diagnosis) -> tuple[Ruling, str]:
    """The ruling, and why in a sentence. Only the exact set is correct; inconclusive is neither right nor wrong."""
    wanted, found = set(truth) - {NONE}, set(diagnosis.causes)
    if diagnosis.inconclusive:
        return Ruling.INCONCLUSIVE, "inconclusive, because " + "; ".join(diagnosis.missing)
    if found == wanted:
        return Ruling.CORRECT, f"{diagnosis.label}, as injected"
    if not wanted:
        return Ruling.FALSE_ALARM, f"nothing was injected, and {_words(found)} was found"
    if found < wanted:
        return Ruling.MISSED, f"{_words(wanted - found)} was injected and not found"
    return Ruling.MISATTRIBUTED, f"{_words(wanted)} was injected, and {_words(found)} was found"


def _words(causes: set[Cause]) -> str:
    return " + ".join(sorted(causes))
