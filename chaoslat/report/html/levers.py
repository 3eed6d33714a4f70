"""What the runbook changed on the system, and when: read from the calls that it made.

The recorded calls carry no times of their own; the clock that the runbook read between them gives each its time, to
the length of a call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Call = dict[str, Any]
CPU, POOL = "cpu-limit", "pool-size"
INSTANTS = {"reclaim": "memory cgroup emptied", "remove_volume": "volume removed"}


@dataclass(frozen=True, slots=True)
class Span:
    """From and to, CLOCK_MONOTONIC seconds."""

    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Lever:
    """One setting that the runbook changed: when it was not as found, and in words to what."""

    factor: str
    label: str
    changed: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Instant:
    """Something that was done once and cannot be switched back."""

    at_s: float
    label: str


@dataclass(frozen=True, slots=True)
class _Change:
    at_s: float
    factor: str
    changed: bool
    label: str


def levers(calls: Sequence[Call], end_s: float) -> tuple[Lever, ...]:
    """Every setting that was changed at some time; what was left changed stays so until `end_s`."""
    every = list(timed(calls))
    flat = [call for _, call in every]
    changes = [change for at_s, call in every for change in _changes(at_s, call, flat)]
    factors = dict.fromkeys(change.factor for change in changes)
    found = (_lever(factor, [c for c in changes if c.factor == factor], end_s) for factor in factors)
    return tuple(lever for lever in found if lever.changed)


def instants(calls: Sequence[Call]) -> tuple[Instant, ...]:
    """What was done once."""
    return tuple(
        Instant(at_s, INSTANTS[call["call"]]) for at_s, call in timed(calls) if call["call"] in INSTANTS
    )


def timed(calls: Iterable[Call]) -> Iterator[tuple[float, Call]]:
    """Each call with the time at which it was made, as far as the clock before it tells.

    Those that an external program made are among them; they have their own times.
    """
    at_s = 0.0
    for call in calls:
        if call.get("call") == "now_s":
            at_s = float(call["answer"])
        yield at_s, call
        if call.get("call") == "outside" and isinstance(call.get("answer"), dict):
            yield from ((float(own["at_s"]), own) for own in call["answer"].get("calls", []))
        if call.get("call") == "sleep":
            at_s += float(call["args"][0])


def _changes(at_s: float, call: Call, calls: Sequence[Call]) -> Iterator[_Change]:
    if call["call"] == "set_cpu_quota":
        path, quota_us = call["args"]
        label = "CPU limit lifted" if quota_us is None else "CPU limit changed"
        yield _Change(at_s, CPU, quota_us != _found_quota_us(calls, path), label)
    if call["call"] == "set_pool_size":
        (size,) = call["args"]
        found = _found_pool(calls)
        yield _Change(at_s, POOL, size != found, f"pool {found} → {size}")


def _found_quota_us(calls: Sequence[Call], path: str) -> Any:
    """The quota of the cgroup when it was first read."""
    first: list[Any] = next((c["answer"] for c in calls if c["call"] == "app_cpu" and c.get("answer")), [])
    return next((cgroup["quota_us"] for cgroup in first if cgroup["path"] == path), None)


def _found_pool(calls: Sequence[Call]) -> Any:
    """The pool's size when it was first read."""
    return next((c["answer"]["max"] for c in calls if c["call"] == "pool" and c.get("answer")), None)


def _lever(factor: str, changes: Sequence[_Change], end_s: float) -> Lever:
    spans: list[Span] = []
    since_s: float | None = None
    for change in changes:
        if change.changed and since_s is None:
            since_s = change.at_s
        elif not change.changed and since_s is not None:
            spans.append(Span(since_s, change.at_s))
            since_s = None
    if since_s is not None:
        spans.append(Span(since_s, max(end_s, since_s)))
    label = next((change.label for change in changes if change.changed), "")
    return Lever(factor, label, tuple(spans))
