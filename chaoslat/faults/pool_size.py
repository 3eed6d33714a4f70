"""`pool-size`: the app's connection pool shrunk until requests wait for a connection.

How long a request holds its connection decides which size hurts: utilisation rho = arrival rate x hold time / size
(Little's law). The search starts at the size that puts rho near 0.6 and moves by one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import numpy as np
from pydantic import Field

from chaoslat.backends.base import Saboteur
from chaoslat.errors import SystemLost
from chaoslat.faults.base import Bench, FaultDef, Level, Params
from chaoslat.faults.calibrate import BAND, lesser_of_two

TARGET_RHO = 0.6
TRIES = 3


class PoolSizeParams(Params):
    """`size`: connections left in the pool; absent: calibrated."""

    size: int | None = Field(default=None, ge=1, le=200)


async def inject(bench: Bench, params: PoolSizeParams) -> Level:
    """Shrink the pool to the size given or found, and read it back."""
    if params.size is not None:
        await _shrink(bench.saboteur, params.size)
    else:
        largest = max(await bench.saboteur.pool_size() - 1, 1)
        await calibrate(bench, largest, partial(_shrink, bench.saboteur), "pool of")
    return {"pool size": f"{await bench.saboteur.pool_size()} connections"}


async def undo(saboteur: Saboteur) -> None:
    await saboteur.restore_pool_size()


async def again(saboteur: Saboteur) -> PoolSizeParams:
    return PoolSizeParams(size=await saboteur.pool_size())


async def calibrate(bench: Bench, largest: int, leave: Callable[[int], Awaitable[None]], name: str) -> None:
    """Leave as many connections as it takes to break the SLO, at most `largest`; `leave(n)` leaves n."""
    size = min(max(round(await _busy_connections(bench) / TARGET_RHO), 1), largest)
    seen: dict[int, float] = {}
    while size not in seen and len(seen) < TRIES:
        await leave(size)
        seen[size] = await lesser_of_two(bench)
        bench.progress(f"calibrating: {name} {size} puts {seen[size]:.1%} over the SLO")
        size = min(max(_step(size, seen[size]), 1), largest)
    chosen = _choose(seen)
    if chosen != next(reversed(seen)):
        await leave(chosen)


def _step(size: int, over_slo: float) -> int:
    if over_slo < BAND[0]:
        return size - 1
    return size + 1 if over_slo > BAND[1] else size


def _choose(seen: dict[int, float]) -> int:
    """The largest pool that still breaks the SLO; if none does, the smallest."""
    broken = [size for size, over_slo in seen.items() if over_slo >= BAND[0]]
    return max(broken) if broken else min(seen)


async def _busy_connections(bench: Bench) -> float:
    """Mean number of connections in use: arrivals per second x mean hold time (Little)."""
    window_s = 5.0
    seen = await bench.measure(window_s, settle_s=0.0)
    if not len(seen):
        return 1.0
    hold_ms = float(np.nanmean(seen.latency_ms - seen.acquire_ms))
    return len(seen) / window_s * hold_ms / 1000


async def _shrink(saboteur: Saboteur, size: int) -> None:
    await saboteur.set_pool_size(size)
    got = await saboteur.pool_size()
    if got != size:
        raise SystemLost(f"the pool's maximum reads {got} after {size} was set", where="app's admin endpoint")


FAULT = FaultDef(
    name="pool-size",
    cause="pool-wait",
    doc="the app's connection pool shrunk until requests wait for a connection",
    params=PoolSizeParams,
    inject=inject,
    undo=undo,
    again=again,
)
