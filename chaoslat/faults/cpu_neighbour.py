"""`cpu-neighbour`: pods beside the app that compute, all the time or in turns.

No quota throttles anybody; whoever wants a core waits for one. A pod's processes share the weight of its request, so
it takes many pods to starve one, not many processes.
"""

from __future__ import annotations

from pydantic import Field

from chaoslat.backends.base import Decoys, Saboteur, decoys_of
from chaoslat.errors import SystemLost
from chaoslat.faults import decoy
from chaoslat.faults.base import Bench, FaultDef, Level, Params
from chaoslat.faults.calibrate import search

FEWEST, FIRST, MOST = 1, 6, 64
BAND = (0.10, 0.50)
WINDOW_S = 6.0


class CpuNeighbourParams(Params):
    """`pods` of one process each (absent: calibrated) that compute for `on_s`, then rest for `off_s` (0: never)."""

    pods: int | None = Field(default=None, ge=FEWEST, le=MOST)
    on_s: float = Field(default=60.0, gt=0, le=3600)
    off_s: float = Field(default=0.0, ge=0, le=3600)
    nice: int = Field(default=0, ge=0, le=19)


async def inject(bench: Bench, params: CpuNeighbourParams) -> Level:
    decoys = decoy.means(bench.saboteur)
    if params.pods is None:
        await _calibrate(bench, decoys, params)
    else:
        await _start(decoys, params.pods, params)
    return {"pods that compute": str(await decoys.burners())}


async def _start(decoys: Decoys, pods: int, params: CpuNeighbourParams) -> None:
    await decoys.start_burners(pods, beside_app=False, nice=params.nice, on_s=params.on_s, off_s=params.off_s)
    alive = await decoys.burners()
    if alive != pods:
        raise SystemLost(f"{alive} of {pods} burners run")


async def _calibrate(bench: Bench, decoys: Decoys, params: CpuNeighbourParams) -> None:
    await search(
        bench,
        lambda level: _start(decoys, round(level), params),
        first=FIRST,
        lo=FEWEST,
        hi=MOST,
        band=BAND,
        window_s=WINDOW_S,
        name="pods",
    )


async def undo(saboteur: Saboteur) -> None:
    decoys = decoys_of(saboteur)
    if decoys is not None:
        await decoys.stop_burners()


FAULT = FaultDef(
    name="cpu-neighbour",
    cause="node-cpu-contention",
    doc="pods beside the app that use the node's CPU, all the time or in turns",
    params=CpuNeighbourParams,
    inject=inject,
    undo=undo,
)
