"""`cgroup-leak`: thousands of dying memory cgroups under the limited parent of the database.

Pods came and went, each leaving a page in a memory-backed volume that nobody cleaned; the page keeps the removed
cgroup alive in the kernel. The database sits at its memory limit, so each read of a cold page makes the kernel
reclaim, and reclaim walks every one of them. It looks like a slow database, and is a fault of the node.
"""

from __future__ import annotations

from pydantic import Field

from chaoslat.backends.base import Saboteur
from chaoslat.errors import SystemLost
from chaoslat.faults.base import Bench, FaultDef, Level, Params
from chaoslat.faults.calibrate import BAND, lesser_of_two

FIRST = 7_500
MOST = 11_000  # each is charged about 18 kB to the parent, which has room for no more
GROWTH = 1.2


class CgroupLeakParams(Params):
    """`count`: dying cgroups to leave; absent: calibrated."""

    count: int | None = Field(default=None, ge=1, le=100_000)


async def inject(bench: Bench, params: CgroupLeakParams) -> Level:
    """Leak the number given, or as many as it takes, with the page cache full; read the number back."""
    await bench.saboteur.warm()
    if params.count is not None:
        await _leak_to(bench.saboteur, params.count)
    else:
        await _calibrate(bench)
    return {"dying memory cgroups": str(await bench.saboteur.leaked_cgroups())}


async def undo(saboteur: Saboteur) -> None:
    await saboteur.unleak_cgroups()


async def again(saboteur: Saboteur) -> CgroupLeakParams:
    return CgroupLeakParams(count=await saboteur.leaked_cgroups())


async def _calibrate(bench: Bench) -> None:
    wanted = FIRST
    while True:
        await _leak_to(bench.saboteur, wanted)
        over_slo = await lesser_of_two(bench)
        bench.progress(f"calibrating: {wanted} dying cgroups put {over_slo:.1%} over the SLO")
        if over_slo >= BAND[0] or wanted >= MOST:
            return
        wanted = min(int(wanted * GROWTH), MOST)


async def _leak_to(saboteur: Saboteur, wanted: int) -> None:
    more = wanted - await saboteur.leaked_cgroups()
    if more > 0:
        await saboteur.leak_cgroups(more)
    got = await saboteur.leaked_cgroups()
    if got < wanted:
        raise SystemLost(
            f"{got} of {wanted} leaked cgroups stay: not reproducible on this kernel",
            why="the kernel let the removed cgroups go although a page is charged to them",
        )


FAULT = FaultDef(
    name="cgroup-leak",
    cause="node-memory-cgroups",
    doc="dying memory cgroups under the database's limited parent, with its page cache at the limit",
    params=CgroupLeakParams,
    inject=inject,
    undo=undo,
    again=again,
)
