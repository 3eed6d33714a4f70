"""`connection-leak`: a part of the app takes connections for a transaction and does not give them back.

The pool has the size that it always had, and requests hold their connections no longer than before; and yet they wait,
for the few that are left. A larger pool helps until its connections have leaked too.
"""

from __future__ import annotations

from pydantic import Field

from chaoslat.backends.base import Saboteur, decoys_of
from chaoslat.faults import decoy
from chaoslat.faults.base import Bench, FaultDef, Level, Params
from chaoslat.faults.pool_size import calibrate


class ConnectionLeakParams(Params):
    """`connections`: how many are held; absent: calibrated."""

    connections: int | None = Field(default=None, ge=1, le=200)


async def inject(bench: Bench, params: ConnectionLeakParams) -> Level:
    """Have that many connections held, or as many as it takes, and read it back."""
    decoys = decoy.means(bench.saboteur)
    if params.connections is not None:
        await decoys.hold(params.connections)
    else:
        await _calibrate(bench)
    return {"connections held": f"{await decoys.held()} of {await bench.saboteur.pool_size()}"}


async def undo(saboteur: Saboteur) -> None:
    decoys = decoys_of(saboteur)
    if decoys is not None:
        await decoys.let_go()


async def again(saboteur: Saboteur) -> ConnectionLeakParams:
    return ConnectionLeakParams(connections=await decoy.means(saboteur).held())


async def _calibrate(bench: Bench) -> None:
    size = await bench.saboteur.pool_size()
    decoys = decoy.means(bench.saboteur)

    async def leave(connections: int) -> None:
        await decoys.hold(size - connections)

    await calibrate(bench, max(size - 1, 1), leave, "connections left:")


FAULT = FaultDef(
    name="connection-leak",
    cause="pool-wait",
    doc="a part of the app holds connections of its pool and does not give them back",
    params=ConnectionLeakParams,
    inject=inject,
    undo=undo,
    again=again,
)
