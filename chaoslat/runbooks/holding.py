"""Who holds the pool's connections: the requests, for longer than before; or somebody else.

Little's law both times. Requests keep rate x hold time connections busy. Where that was little of the pool when the
SLO was last kept, and is much more now at the same pool, the pool is full because requests hold their connections
longer: whatever slows them is the cause, and a larger pool would hide it. And where far more connections are in use
than the requests account for, something else holds them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chaoslat.load.log import Requests
from chaoslat.runbooks.base import Case
from chaoslat.runbooks.history import before
from chaoslat.runbooks.window import Window

AMPLE = 0.3  # of the connections busy, on average: of ten, hardly ever all
LONGER = 2.0
FOREIGN = 0.3  # of the pool in use, and not by requests


@dataclass(frozen=True, slots=True)
class Longer:
    """Mean hold times (ms), and the connections that the present rate keeps busy at each."""

    before_ms: float
    now_ms: float
    busy_before: float
    busy_now: float


async def held_longer(case: Case) -> Longer | None:
    """How much longer requests hold their connections than when the SLO was last kept; None where they do not, where
    the pool would have been short at the hold time of before, where the log does not reach back, or where the pool
    is not seen."""
    calm = (await before(case)).calm
    if calm is None or not case.window.pool:
        return None
    per_ms = len(case.window.requests) / case.window.duration_s / 1000.0
    was_ms, is_ms = hold_ms(calm.requests), hold_ms(case.window.requests)
    found = Longer(was_ms, is_ms, was_ms * per_ms, is_ms * per_ms)
    ample = found.busy_before <= AMPLE * case.window.pool[-1].max
    return found if ample and is_ms >= LONGER * was_ms > 0 else None


def held_by_others(window: Window) -> float:
    """Connections in use that the requests do not account for, on average; 0 where those are few of the pool."""
    if not window.pool:
        return 0.0
    in_use = float(np.mean([state.in_use for state in window.pool]))
    by_requests = hold_ms(window.requests) * len(window.requests) / window.duration_s / 1000.0
    others = in_use - by_requests
    return others if others >= max(FOREIGN * window.pool[-1].max, 1.0) else 0.0


def hold_ms(seen: Requests) -> float:
    """Mean time for which a request holds its connection; 0 where no request says so."""
    known_ms = (seen.latency_ms - seen.acquire_ms)[np.isfinite(seen.acquire_ms)]
    return float(np.maximum(known_ms, 0.0).mean()) if len(known_ms) else 0.0
