"""`database-cpu`: a CFS quota on the database's cgroup.

The server is stalled in the middle of statements, and the kernel of the app sees late acknowledgements: srtt rises,
as if the network were slow. The app itself is never throttled.
"""

from __future__ import annotations

from chaoslat.backends.base import Saboteur
from chaoslat.faults import decoy
from chaoslat.faults.base import Bench, FaultDef, Level
from chaoslat.faults.quota import LimitParams


async def inject(bench: Bench, params: LimitParams) -> Level:
    return await decoy.limit(bench, "database", params.limit_cores)


async def undo(saboteur: Saboteur) -> None:
    await decoy.restore(saboteur, "database")


FAULT = FaultDef(
    name="database-cpu",
    cause="database",
    doc="CFS quota on the database's cgroup, so tight that it throttles",
    params=LimitParams,
    inject=inject,
    undo=undo,
)
