"""`parent-quota`: a CFS quota on the parent of all pods, while the app's own cgroup has none.

The app's own counters read zero; those of an ancestor tell.
"""

from __future__ import annotations

from chaoslat.backends.base import Saboteur
from chaoslat.faults import decoy
from chaoslat.faults.base import Bench, FaultDef, Level
from chaoslat.faults.quota import LimitParams


async def inject(bench: Bench, params: LimitParams) -> Level:
    return await decoy.limit(bench, "pods", params.limit_cores)


async def undo(saboteur: Saboteur) -> None:
    await decoy.restore(saboteur, "pods")


FAULT = FaultDef(
    name="parent-quota",
    cause="cpu-throttling",
    doc="CFS quota on the parent cgroup of all pods; the app's own has none",
    params=LimitParams,
    inject=inject,
    undo=undo,
)
