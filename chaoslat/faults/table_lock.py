"""`table-lock`: another session locks a table that the app reads, for a while, again and again.

The app's reads are consistent ones, which no row lock ever blocks: a table lock does.
"""

from __future__ import annotations

from pydantic import Field

from chaoslat.backends.base import Saboteur, decoys_of
from chaoslat.errors import SystemLost
from chaoslat.faults import decoy
from chaoslat.faults.base import Bench, FaultDef, Level, Params


class TableLockParams(Params):
    """Held for `held_ms`, free for `free_ms`, in turns."""

    held_ms: float = Field(default=90.0, ge=1, le=10_000)
    free_ms: float = Field(default=900.0, ge=1, le=60_000)


async def inject(bench: Bench, params: TableLockParams) -> Level:
    decoys = decoy.means(bench.saboteur)
    await decoys.start_lock(params.held_ms, params.free_ms)
    holders = await decoys.lock_holders()
    if holders != 1:
        raise SystemLost(f"{holders} sessions hold the lock instead of 1", where="database")
    return {"table lock": f"held {params.held_ms:g} ms, free {params.free_ms:g} ms"}


async def undo(saboteur: Saboteur) -> None:
    decoys = decoys_of(saboteur)
    if decoys is not None:
        await decoys.stop_lock()


FAULT = FaultDef(
    name="table-lock",
    cause="database",
    doc="another session locks a table that the app reads, in turns",
    params=TableLockParams,
    inject=inject,
    undo=undo,
)
