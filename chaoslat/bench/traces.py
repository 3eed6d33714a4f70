"""Diagnoses spliced from recorded traces: noise, bursts and drift as a real machine had them.

A trace is one setting of a real system, recorded without a break. Original blocks are cut from one trace and lifted
blocks from another, each at its own place and in order, so that neighbours in time stay neighbours. Where both sides
are the same trace they share one place in it: the coin changes nothing, whatever the tail looks like.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from chaoslat.bench.simulator import BLOCK_MS, FACTORS, GRACE_MS, LEAST_HEAD_MS, LIMIT, POOL
from chaoslat.compare import PASSIVE_S, Comparison, Passive
from chaoslat.paths import fixtures

TRACES = "recordings/compare/traces.npz"
SLO_MS = 30.0


@dataclass(frozen=True, slots=True)
class TraceCase:
    """Blocks of `original` against blocks of `lifted`, drawn by the coin of `factor`; the other coin does nothing."""

    name: str
    factor: str
    original: str
    lifted: str
    is_cause: bool = False
    least_found: float = 0.0

    @property
    def causes(self) -> tuple[str, ...]:
        return (self.factor,) if self.is_cause else ()


def _same(name: str, trace: str) -> TraceCase:
    return TraceCase(f"trace, nothing changes: {name}", LIMIT, trace, trace)


CASES = (
    TraceCase("trace: quota 24 ms lifted", LIMIT, "cpuS", "aa60", True, 0.95),
    TraceCase("trace: quota 29.5 ms lifted", LIMIT, "cpuM", "aa60", True, 0.85),
    TraceCase("trace: pool of 2, 18 ms", POOL, "poolSA", "poolSB", True, 0.95),
    TraceCase("trace: pool of 2, 12 ms", POOL, "poolMA", "poolMB", True, 0.85),
    _same("no fault", "aa60"),
    _same("no fault, 200 s", "aa200"),
    _same("quota 24 ms", "cpuS"),
    _same("quota 29.5 ms", "cpuM"),
    _same("pool of 2", "poolSA"),
    _same("relay 25 ms", "relay25"),
    _same("3 % slow statements", "slow3"),
)


class Trace:
    """Requests in order of their due time, read in a circle from any place."""

    def __init__(self, due_ms: NDArray[np.float64], latency_ms: NDArray[np.float64]) -> None:
        self._due_ms, self._latency_ms = due_ms, latency_ms
        self.length_ms = float(due_ms[-1])

    def latencies_ms(self, from_ms: float, duration_ms: float) -> NDArray[np.float64]:
        """Latencies of the requests due in [from, from + duration), those past the end from the beginning again."""
        start = from_ms % self.length_ms
        end = start + duration_ms
        inside = self._between(start, end)
        return (
            inside
            if end <= self.length_ms
            else np.concatenate([inside, self._between(0.0, end - self.length_ms)])
        )

    def _between(self, start_ms: float, end_ms: float) -> NDArray[np.float64]:
        first, last = np.searchsorted(self._due_ms, [start_ms, end_ms])
        return self._latency_ms[first:last]


@cache
def trace(name: str) -> Trace:
    """A recorded trace by its name in the file."""
    with np.load(fixtures() / TRACES) as recorded:
        return Trace(
            recorded[f"{name}_due_ms"].astype(np.float64), recorded[f"{name}_latency_ms"].astype(np.float64)
        )


def diagnose(case: TraceCase, seed: int) -> Comparison:
    """One spliced diagnosis, to its end."""
    coins = random.Random(f"{seed}:{case.name}")
    original = _Reader(trace(case.original), coins)
    same = case.lifted == case.original
    sides = {False: original, True: original if same else _Reader(trace(case.lifted), coins)}
    count = int(PASSIVE_S * 1000.0 / BLOCK_MS)
    passive = Passive(tuple(tuple(original.take(0.0).tolist()) for _ in range(count)))
    comparison, at_ms = Comparison(FACTORS, passive, SLO_MS, coins), 0.0
    while not comparison.finished(at_ms / 1000.0):
        settings = comparison.draw()
        at_ms += LEAST_HEAD_MS + BLOCK_MS
        latencies_ms = sides[settings[case.factor]].take(LEAST_HEAD_MS)
        comparison.add(settings, latencies_ms, (at_ms + GRACE_MS) / 1000.0)
    return comparison


class _Reader:
    """A place in a trace that moves on."""

    def __init__(self, recorded: Trace, coins: random.Random) -> None:
        self._trace, self._at_ms = recorded, coins.uniform(0.0, recorded.length_ms)

    def take(self, head_ms: float) -> NDArray[np.float64]:
        start_ms = self._at_ms + head_ms
        self._at_ms = start_ms + BLOCK_MS
        return np.minimum(self._trace.latencies_ms(start_ms, BLOCK_MS), BLOCK_MS + GRACE_MS)
