"""`parent-quota`: a CFS quota on the parent of all pods, while the app's own cgroup has none.

The app's own counters read zero; those of an ancestor tell.
"""

from __future__ import annotations

from pydantic import Field

from chaoslat.backends.base import Saboteur
from chaoslat.faults import decoy
from chaoslat.faults.base import Bench, FaultDef, Level, Params


class ParentQuotaParams(Params):
    """`limit_cores`: the limit of all pods together; absent: calibrated."""

    limit_cores: float | None = Field(default=None, gt=0, le=1024)


async def inject(bench: Bench, params: ParentQuotaParams) -> Level:
    return await decoy.limit(bench, "pods", params.limit_cores)


async def undo(saboteur: Saboteur) -> None:
    await decoy.restore(saboteur, "pods")


FAULT = FaultDef(
    name="parent-quota",
    cause="cpu-throttling",
    doc="CFS quota on the parent cgroup of all pods; the app's own has none",
    params=ParentQuotaParams,
    inject=inject,
    undo=undo,
)
