"""A small model of the system under test, to try the comparison on thousands of diagnoses with a known truth.

Poisson arrivals -> first-come connection pool held for the statement -> one thread under a CFS quota, plus the
noise that a real machine showed in a recording. A request due in a block runs on under the next block's settings,
as in reality: waiting requests are served when a pool grows, and a quota that is written again starts with a
full budget. What the model leaves out: more than one thread, garbage collection, retries, load that reacts.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaoslat.compare.statistic import Passive

PERIOD_MS = 100.0
BLOCK_MS = 500.0
LEAST_HEAD_MS = 30.0
MOST_HEAD_MS = 1000.0
GRACE_MS = 140.0
ROUND_TRIP_MS = 0.7
CLOCK_MS = 1e-9
"""Smallest step of the simulated clock: rounding must not stop it at the end of a period."""
LIMIT, POOL = "cpu-limit", "pool-size"
FACTORS = (LIMIT, POOL)

Floats = NDArray[np.float64]
Settings = Mapping[str, bool]
ORIGINAL: Settings = {LIMIT: False, POOL: False}


@dataclass(frozen=True, slots=True)
class Plant:
    """What the simulated system is made of. `quota_ms` None: no CPU limit, so lifting it changes nothing."""

    cpu_ms: float = 1.3
    cpu_spread: float = 0.35  # coefficient of variation (log-normal)
    heavy_share: float = 0.0
    heavy_cpu_ms: float = 0.0
    statement_ms: float = 0.7
    slow_share: float = 0.0
    slow_ms: float = 0.0
    quota_ms: float | None = None  # per period of 100 ms
    pool: int = 10
    lifted_pool: int = 10
    rate_rps: float = 60.0


class Noise:
    """Excess latency of a quiet recording, replayed from a random place."""

    def __init__(self, due_ms: Floats, latency_ms: Floats) -> None:
        self._due_ms = due_ms
        self._excess_ms = np.maximum(latency_ms - np.quantile(latency_ms, 0.3), 0.0)

    def at(self, due_ms: Floats, offset_ms: float) -> Floats:
        """Excess of the recorded request that follows each time, the recording repeated as often as needed."""
        place = np.searchsorted(self._due_ms, (due_ms + offset_ms) % self._due_ms[-1])
        excess_ms: Floats = self._excess_ms[np.minimum(place, len(self._excess_ms) - 1)]
        return excess_ms


class Simulation:
    """One run of a plant: a passive window, then block after block."""

    def __init__(
        self, plant: Plant, noise: Noise, rng: np.random.Generator, *, horizon_s: float = 150.0
    ) -> None:
        self._plant = plant
        self._demand = _Demand(plant, noise, rng, horizon_s * 1000.0)
        self._pool = _Pool()
        self._cpu = _Cpu(plant.quota_ms, float(rng.uniform(0.0, PERIOD_MS)))
        self._settings: Settings = ORIGINAL
        self._switch_ms = 0.0
        self._head_ms = LEAST_HEAD_MS
        self._started_ms = 0.0

    def passive(self, duration_s: float, first: Settings) -> Passive:
        """Watch the original settings, cut into blocks; then switch to the `first` block's settings."""
        end_ms = duration_s * 1000.0
        due_ms, latency_ms = self._run_until(end_ms, first)
        self._started_ms = end_ms
        return Passive.cut(due_ms / 1000.0, latency_ms, BLOCK_MS / 1000.0)

    def block(self, then: Settings) -> tuple[Floats, float]:
        """Finish the running block and switch: latencies (ms) behind its head, and when they were known (s)."""
        from_ms = self._switch_ms + self._head_ms
        end_ms = from_ms + BLOCK_MS
        due_ms, latency_ms = self._run_until(end_ms, then)
        age_ms = end_ms + GRACE_MS - due_ms
        known = np.minimum(latency_ms, age_ms)[due_ms >= from_ms]
        return known, (end_ms + GRACE_MS - self._started_ms) / 1000.0

    def _run_until(self, end_ms: float, then: Settings) -> tuple[Floats, Floats]:
        due, statement, work, noise = self._demand.until(end_ms)
        done = self._serve(due, statement, work, end_ms, then)
        in_flight_ms = max(done, default=end_ms) - end_ms
        self._head_ms = min(max(in_flight_ms, LEAST_HEAD_MS), MOST_HEAD_MS)
        self._settings, self._switch_ms = then, end_ms
        due_ms = np.asarray(due)
        return due_ms, np.asarray(done) - due_ms + noise

    def _serve(
        self, due: list[float], statement: list[float], work: list[float], switch_ms: float, then: Settings
    ) -> list[float]:
        now, plant = self._settings, self._plant
        size, size_then = (plant.lifted_pool if s[POOL] else plant.pool for s in (now, then))
        answered = [
            self._pool.answer(at, held, size, size_then, switch_ms)
            for at, held in zip(due, statement, strict=True)
        ]
        done = [0.0] * len(due)
        limited, limited_then = not now[LIMIT], not then[LIMIT]
        for index in sorted(range(len(due)), key=answered.__getitem__):
            done[index] = self._cpu.finish(answered[index], work[index], limited, limited_then, switch_ms)
        return done


class _Demand:
    """Everything random about the requests, drawn ahead: due time, statement time, CPU work, noise."""

    def __init__(self, plant: Plant, noise: Noise, rng: np.random.Generator, horizon_ms: float) -> None:
        count = int(rng.poisson(plant.rate_rps * horizon_ms / 1000.0))
        self._due = np.sort(rng.uniform(0.0, horizon_ms, count))
        sigma = math.sqrt(math.log1p(plant.cpu_spread**2))
        work = plant.cpu_ms * rng.lognormal(-sigma * sigma / 2, sigma, count)
        self._work = work + plant.heavy_cpu_ms * (rng.random(count) < plant.heavy_share)
        slow = rng.random(count) < plant.slow_share
        self._statement = plant.statement_ms + ROUND_TRIP_MS + plant.slow_ms * slow
        self._noise = noise.at(self._due, float(rng.uniform(0.0, horizon_ms)))
        self._next = 0

    def until(self, end_ms: float) -> tuple[list[float], list[float], list[float], Floats]:
        part = slice(self._next, int(np.searchsorted(self._due, end_ms)))
        self._next = part.stop
        statement, work = self._statement[part].tolist(), self._work[part].tolist()
        return self._due[part].tolist(), statement, work, self._noise[part]


class _Pool:
    """Connections given out in order of arrival; a smaller pool takes none away from who holds it."""

    def __init__(self) -> None:
        self._busy: list[float] = []
        self._last = 0.0

    def answer(self, due: float, held: float, size: int, size_then: int, switch: float) -> float:
        """When the statement of a request is answered, having waited for a connection first."""
        at, busy = max(due, self._last), self._busy
        while True:
            while busy and busy[0] <= at:
                heapq.heappop(busy)
            if len(busy) < (size if at < switch else size_then):
                break
            at = busy[0] if at >= switch else min(busy[0], switch)
        self._last = at
        heapq.heappush(busy, at + held)
        return at + held


class _Cpu:
    """One thread under CFS bandwidth control: `quota` ms of work in each period, then sleep until the next."""

    def __init__(self, quota: float | None, phase: float) -> None:
        self._quota, self._phase = quota, phase
        self._free = self._used = 0.0
        self._period = -1
        self._refilled_at = 0.0

    def finish(self, ready: float, work: float, limited: bool, limited_then: bool, switch: float) -> float:
        at = max(ready, self._free)
        if self._quota is None or (at >= switch and not limited_then):
            self._free = at + work
        else:
            self._free = self._run(at, work, limited, limited_then, switch)
        return self._free

    def _run(self, at: float, work: float, limited: bool, limited_then: bool, switch: float) -> float:
        while work > 1e-9:
            until = switch if at < switch else math.inf
            if limited if at < switch else limited_then:
                at, work = self._run_limited(at, work, until, switch)
            else:
                ran = min(work, until - at)
                at, work = at + ran, work - ran
        return at

    def _run_limited(self, at: float, work: float, until: float, switch: float) -> tuple[float, float]:
        assert self._quota is not None
        self._renew(at, switch)
        period_end = (self._period + 1) * PERIOD_MS - self._phase
        left = self._quota - self._used
        if left <= 1e-9:
            return min(max(period_end, at) + CLOCK_MS, until), work
        ran = min(work, period_end - at, until - at, left)
        self._used += ran
        return at + max(ran, CLOCK_MS), work - ran

    def _renew(self, at: float, switch: float) -> None:
        period = int((at + self._phase) // PERIOD_MS)
        rewritten = at >= switch > self._refilled_at
        if period != self._period or rewritten:
            self._period, self._used = period, 0.0
        if rewritten:
            self._refilled_at = switch
