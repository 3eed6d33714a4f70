"""`l3-delay`: packets between proxy and database are under way longer, those of open connections, too.

As a detour or a congested link does it, below every proxy. The app's own sockets end at the proxy, so neither their
srtt nor their minrtt is any the wiser; and the minrtt of a socket that was open before is the one of better days.
"""

from __future__ import annotations

from pydantic import Field

from chaoslat.backends.base import Saboteur, decoys_of
from chaoslat.errors import SystemLost
from chaoslat.faults import decoy
from chaoslat.faults.base import Bench, FaultDef, Level, Params
from chaoslat.faults.calibrate import search
from chaoslat.faults.network_latency import bounds_ms


class L3DelayParams(Params):
    """`delay_ms`: added to each round trip, half of it each way; absent: calibrated."""

    delay_ms: float | None = Field(default=None, ge=1, le=1000)


async def inject(bench: Bench, params: L3DelayParams) -> Level:
    """Put the detour in, with the delay given or found, and see that a new connection takes it."""
    decoys = decoy.means(bench.saboteur)

    async def at(delay_ms: float) -> None:
        await decoys.set_detour(delay_ms)
        took_ms = await decoys.handshake_ms()
        if took_ms < delay_ms:
            what = f"a handshake takes {took_ms:.2f} ms on a detour of {delay_ms:g} ms"
            raise SystemLost(what, where="proxy -> database")

    delay_ms = params.delay_ms
    if delay_ms is not None:
        await at(delay_ms)
    else:
        first, hi = bounds_ms(await bench.measure(3.0, settle_s=0.0), bench.slo_ms)
        delay_ms = await search(bench, at, first=first, lo=1.0, hi=max(hi, 2.0), tries=4, name="delay_ms")
    return {"detour": f"{delay_ms:.1f} ms a round trip"}


async def undo(saboteur: Saboteur) -> None:
    decoys = decoys_of(saboteur)
    if decoys is not None:
        await decoys.end_detour()


FAULT = FaultDef(
    name="l3-delay",
    cause="network-path",
    doc="packets between proxy and database take longer, those of open connections, too",
    params=L3DelayParams,
    inject=inject,
    undo=undo,
)
