"""`cpu-neighbour`: a pod beside the app that computes, all the time or in turns.

No quota throttles anybody; whoever wants a core waits for one.
"""

from __future__ import annotations

from pydantic import Field

from chaoslat.backends.base import Saboteur, decoys_of
from chaoslat.errors import SystemLost
from chaoslat.faults import decoy
from chaoslat.faults.base import Bench, FaultDef, Level, Params


class CpuNeighbourParams(Params):
    """`processes` that compute for `on_s`, then rest for `off_s` (0: never), at that nice value."""

    processes: int = Field(default=8, ge=1, le=64)
    on_s: float = Field(default=60.0, gt=0, le=3600)
    off_s: float = Field(default=0.0, ge=0, le=3600)
    nice: int = Field(default=0, ge=0, le=19)


async def inject(bench: Bench, params: CpuNeighbourParams) -> Level:
    decoys = decoy.means(bench.saboteur)
    await decoys.start_burners(
        params.processes, beside_app=False, nice=params.nice, on_s=params.on_s, off_s=params.off_s
    )
    alive = await decoys.burners()
    if alive != params.processes:
        raise SystemLost(f"{alive} of {params.processes} burners run")
    return {"burners beside the app": str(alive)}


async def undo(saboteur: Saboteur) -> None:
    decoys = decoys_of(saboteur)
    if decoys is not None:
        await decoys.stop_burners()


FAULT = FaultDef(
    name="cpu-neighbour",
    cause="node-cpu-contention",
    doc="a pod beside the app that uses the node's CPU, all the time or in turns",
    params=CpuNeighbourParams,
    inject=inject,
    undo=undo,
)
