"""The phases of a trial, from its events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chaoslat.report.html.levers import Span

Event = dict[str, Any]
_ENDS = (
    ("steady state", "steady"),
    ("injection", "injected"),
    ("symptom gate", "diagnose"),
    ("diagnosis", "diagnosis"),
    ("undo and recovery", "undone"),
)
STEADY, INJECTION, GATE, DIAGNOSIS, RECOVERY = (name for name, _ in _ENDS)
_BROKEN = ("invalid", "broken off")


@dataclass(frozen=True, slots=True)
class Phase:
    """One part of a trial. CLOCK_MONOTONIC seconds."""

    name: str
    span: Span


def phases(events: Sequence[Event], start_s: float, *, faults: bool) -> tuple[Phase, ...]:
    """The phases that were reached, from `start_s` on; what broke the trial ends the phase that it broke."""
    broken_s = last(events, *_BROKEN)
    found: list[Phase] = []
    for name, kind in _ENDS:
        if name == INJECTION and not faults:
            continue
        end_s = last(events, kind)
        if end_s is None and broken_s is not None:
            end_s, broken_s = broken_s, None
        if end_s is not None and end_s >= start_s:
            found.append(Phase(name, Span(start_s, end_s)))
            start_s = end_s
    return tuple(found)


def last(events: Sequence[Event], *kinds: str) -> float | None:
    """When the last event of these kinds was; None when there was none."""
    return max((float(event["at_s"]) for event in events if event.get("event") in kinds), default=None)


def in_force(events: Sequence[Event]) -> tuple[tuple[str, Span], ...]:
    """Each fault and the time for which it was certainly there: from its injection until its undo began."""
    end_s = last(events, "diagnosis", *_BROKEN) or last(events, "undone") or _end_of(events)
    return tuple(
        (str(event.get("fault", "fault")), Span(float(event["at_s"]), end_s))
        for event in events
        if event.get("event") == "injected" and float(event["at_s"]) <= end_s
    )


def _end_of(events: Sequence[Event]) -> float:
    return max((float(event["at_s"]) for event in events), default=0.0)
