"""`load-spike`: more requests arrive than the system can serve in time. Nothing is wrong with any part of it.

The rate is the trial's own to change, and goes back to what it was when the fault is undone. The level is found
first; then the load is what it was for a while, and rises at once, as it does when a campaign starts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from pydantic import Field

from chaoslat.backends.base import Saboteur
from chaoslat.errors import EnvironmentMissing
from chaoslat.faults.base import Bench, FaultDef, Level, Params
from chaoslat.faults.calibrate import over, search

BAND = (0.08, 0.40)
"""Fraction over the SLO to aim at: near saturation the tail is steep, so a level at 3 % may be at none soon."""
WINDOW_S = 6.0
LEAST, FIRST, MOST = 1.5, 3.0, 12.0
CALM_S = 12.0
RISES, FURTHER = 3, 1.15
Scale = Callable[[float], Awaitable[None]]


class LoadSpikeParams(Params):
    """`factor`: arrival rate over the usual one; absent: calibrated."""

    factor: float | None = Field(default=None, gt=1, le=100)


async def inject(bench: Bench, params: LoadSpikeParams) -> Level:
    """Raise the rate by the factor given or found. Raises EnvironmentMissing where the load is not ours."""
    if bench.scale_load is None:
        raise EnvironmentMissing(
            "Not here: the load is not the trial's own", fix="run it with --backend local"
        )
    if params.factor is not None:
        factor = params.factor
        await bench.scale_load(factor)
    else:
        factor = await _rise(bench, bench.scale_load, await _calibrate(bench, bench.scale_load))
    return {"load": f"{factor:.2f} times the usual rate"}


async def undo(_saboteur: Saboteur) -> None:
    """Nothing of the system was changed; the trial puts its rate back."""


async def _calibrate(bench: Bench, scale: Scale) -> float:
    """The factor that breaks the SLO; the load is as usual, and has been for a while, when this returns."""
    factor = await search(
        bench, scale, first=FIRST, lo=LEAST, hi=MOST, band=BAND, window_s=WINDOW_S, name="factor"
    )
    await scale(1.0)
    await bench.operator.sleep(CALM_S)
    return factor


async def _rise(bench: Bench, scale: Scale, factor: float) -> float:
    """Rise by the factor found, and further where that does not break the SLO any more: an app gets warmer."""
    for _ in range(RISES):
        await scale(factor)
        if over(await bench.measure(WINDOW_S), bench.slo_ms) >= BAND[0] / 2:
            return factor
        factor *= FURTHER
    await scale(factor)
    return factor


FAULT = FaultDef(
    name="load-spike",
    cause="load",
    doc="more requests than the system can serve in time",
    params=LoadSpikeParams,
    inject=inject,
    undo=undo,
)
