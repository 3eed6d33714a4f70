"""`load-spike`: more requests arrive than the system can serve in time. Nothing is wrong with any part of it.

The rate is the trial's own to change, and goes back to what it was when the fault is undone. The level is found
first; then the load is what it was for a while, and rises at once, as it does when a campaign starts.
"""

from __future__ import annotations

from pydantic import Field

from chaoslat.backends.base import Saboteur
from chaoslat.errors import EnvironmentMissing
from chaoslat.faults.base import Bench, FaultDef, Level, Params
from chaoslat.faults.calibrate import search

BAND = (0.08, 0.40)
"""Fraction over the SLO to aim at: near saturation the tail is steep, so a level at 3 % may be at none soon."""
WINDOW_S = 6.0
LEAST, FIRST, MOST = 1.5, 3.0, 12.0
CALM_S = 12.0


class LoadSpikeParams(Params):
    """`factor`: arrival rate over the usual one; absent: calibrated."""

    factor: float | None = Field(default=None, gt=1, le=100)


async def inject(bench: Bench, params: LoadSpikeParams) -> Level:
    """Raise the rate by the factor given or found. Raises EnvironmentMissing where the load is not ours."""
    if bench.scale_load is None:
        raise EnvironmentMissing(
            "Not here: the load is not the trial's own", fix="run it with --backend local"
        )
    factor = params.factor or await _calibrate(bench)
    await bench.scale_load(factor)
    return {"load": f"{factor:.2f} times the usual rate"}


async def undo(_saboteur: Saboteur) -> None:
    """Nothing of the system was changed; the trial puts its rate back."""


async def _calibrate(bench: Bench) -> float:
    assert bench.scale_load is not None
    factor = await search(
        bench, bench.scale_load, first=FIRST, lo=LEAST, hi=MOST, band=BAND, window_s=WINDOW_S, name="factor"
    )
    await bench.scale_load(1.0)
    await bench.operator.sleep(CALM_S)
    return factor


FAULT = FaultDef(
    name="load-spike",
    cause="load",
    doc="more requests than the system can serve in time",
    params=LoadSpikeParams,
    inject=inject,
    undo=undo,
)
