"""`slow-statement`: the server takes longer for one statement of every request.

Below the 40 ms of the delayed-acknowledgement timer the server's think time shows as srtt of the app's sockets, above
it does not: neither says anything of the network.
"""

from __future__ import annotations

from pydantic import Field

from chaoslat.backends.base import Saboteur, decoys_of
from chaoslat.errors import SystemLost
from chaoslat.faults import decoy
from chaoslat.faults.base import Bench, FaultDef, Level, Params


class SlowStatementParams(Params):
    """`delay_ms`: what the server waits in the statement; `every`: for one customer in so many."""

    delay_ms: float = Field(default=20.0, ge=1, le=10_000)
    every: int = Field(default=1, ge=1, le=1000)


async def inject(bench: Bench, params: SlowStatementParams) -> Level:
    decoys = decoy.means(bench.saboteur)
    await decoys.set_statement_delay(params.delay_ms, params.every)
    got_ms = await decoys.statement_delay_ms()
    if abs(got_ms - params.delay_ms) > 0.1:
        raise SystemLost(f"the schema says {got_ms} ms after {params.delay_ms} ms was set", where="database")
    some = "" if params.every == 1 else f" for one customer in {params.every}"
    return {"statement delay": f"{got_ms:g} ms{some}"}


async def undo(saboteur: Saboteur) -> None:
    decoys = decoys_of(saboteur)
    if decoys is not None:
        await decoys.restore_statement()


FAULT = FaultDef(
    name="slow-statement",
    cause="database",
    doc="the server waits in one statement of every request",
    params=SlowStatementParams,
    inject=inject,
    undo=undo,
)
