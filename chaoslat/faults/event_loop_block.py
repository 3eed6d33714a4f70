"""`event-loop-block`: the app renders a report in its event loop, synchronously, and serves nobody meanwhile.

No limit is touched and no counter of the kernel moves; the CPU that it takes is a few per cent of a core. A request
that arrives while the loop is blocked waits for the rest of the block, so of a block of B every T a fraction
(B - SLO + usual latency) / T of the requests is late: the first guess of the search.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from chaoslat.backends.base import Saboteur, decoys_of
from chaoslat.errors import SystemLost
from chaoslat.faults import decoy
from chaoslat.faults.base import Bench, FaultDef, Level, Params
from chaoslat.faults.calibrate import BAND, search
from chaoslat.load.log import Requests

EVERY_MS = 1000


class EventLoopBlockParams(Params):
    """`block_ms`: length of a block; absent: calibrated. `every_ms`: from one block to the next."""

    block_ms: int | None = Field(default=None, ge=1, le=30_000)
    every_ms: int = Field(default=EVERY_MS, ge=10, le=60_000)


async def inject(bench: Bench, params: EventLoopBlockParams) -> Level:
    """Have the report rendered, with blocks of the length given or found, and read it back."""
    decoys = decoy.means(bench.saboteur)
    if params.block_ms is not None:
        await _block(bench, params.block_ms, params.every_ms)
    else:
        await _calibrate(bench, params.every_ms)
    block_ms, every_ms = await decoys.report()
    return {"event loop blocked for": f"{block_ms} ms every {every_ms} ms"}


async def undo(saboteur: Saboteur) -> None:
    decoys = decoys_of(saboteur)
    if decoys is not None:
        await decoys.stop_report()


async def again(saboteur: Saboteur) -> EventLoopBlockParams:
    block_ms, every_ms = await decoy.means(saboteur).report()
    return EventLoopBlockParams(block_ms=block_ms, every_ms=every_ms)


async def _calibrate(bench: Bench, every_ms: int) -> None:
    seen = await bench.measure(3.0, settle_s=0.0)

    async def at(block_ms: float) -> None:
        await _block(bench, round(block_ms), every_ms)

    first = first_ms(seen, bench.slo_ms, every_ms)
    await search(bench, at, first=first, lo=1.0, hi=every_ms / 2, tries=4, name="block_ms")


def first_ms(seen: Requests, slo_ms: float, every_ms: float) -> float:
    """The length of a block (ms) that makes as many requests late as the middle of the band asks for."""
    usual_ms = float(np.median(seen.latency_ms)) if len(seen) else 0.0
    return max(slo_ms - usual_ms, 0.0) + sum(BAND) / 2 * every_ms


async def _block(bench: Bench, block_ms: int, every_ms: int) -> None:
    wanted = (max(block_ms, 1), every_ms)
    decoys = decoy.means(bench.saboteur)
    await decoys.set_report(*wanted)
    got = await decoys.report()
    if got != wanted:
        raise SystemLost(f"the app's report reads {got} after {wanted} was set", where="app's admin endpoint")


FAULT = FaultDef(
    name="event-loop-block",
    cause="app-event-loop",
    doc="synchronous work in the app's event loop, a block at a time",
    params=EventLoopBlockParams,
    inject=inject,
    undo=undo,
    again=again,
)
