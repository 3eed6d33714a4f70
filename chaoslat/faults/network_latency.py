"""`network-latency`: a Toxiproxy latency toxic on the app -> database path.

Every round trip takes longer; a request that makes many of them, one after another, pays for each. The level that
gives the classic symptom follows from how many statements a request makes: the ordinary one stays within the SLO,
the one with a dozen statements does not.
"""

from __future__ import annotations

import math

import numpy as np
from pydantic import Field

from chaoslat.backends.base import Saboteur
from chaoslat.errors import SystemLost
from chaoslat.faults.base import Bench, FaultDef, Level, Params
from chaoslat.faults.calibrate import search
from chaoslat.load.log import Requests


class NetworkLatencyParams(Params):
    """`latency_ms`: added to every reply; absent: calibrated. `jitter_ms`: uniform, each way."""

    latency_ms: float | None = Field(default=None, ge=1, le=60_000)
    jitter_ms: float = Field(default=0.0, ge=0, le=60_000)


async def inject(bench: Bench, params: NetworkLatencyParams) -> Level:
    """Add the toxic, at the latency given or found, and read it back."""
    if params.latency_ms is not None:
        await _delay(bench.saboteur, params.latency_ms, params.jitter_ms)
    else:
        await _calibrate(bench, params.jitter_ms)
    toxics = await bench.saboteur.toxics()
    return {
        f"toxic {name}": ", ".join(f"{k} {v:g}" for k, v in sorted(t.items())) for name, t in toxics.items()
    }


async def undo(saboteur: Saboteur) -> None:
    await saboteur.set_latency(0.0)


async def again(saboteur: Saboteur) -> NetworkLatencyParams:
    toxic = next(iter((await saboteur.toxics()).values()))
    return NetworkLatencyParams(latency_ms=toxic["latency"], jitter_ms=toxic.get("jitter", 0.0))


async def _calibrate(bench: Bench, jitter_ms: float) -> None:
    first, hi = bounds_ms(await bench.measure(3.0, settle_s=0.0), bench.slo_ms)

    async def at(latency_ms: float) -> None:
        await _delay(bench.saboteur, latency_ms, jitter_ms)

    await search(bench, at, first=first, lo=1.0, hi=max(hi, 2.0), tries=4, name="latency_ms")


def bounds_ms(seen: Requests, slo_ms: float) -> tuple[float, float]:
    """(first guess, upper bound) in ms for the delay of one round trip.

    The ordinary request (median statements) must stay within the SLO, the heavy one (P98) must pass it.
    """
    if not len(seen):
        return slo_ms, 4 * slo_ms
    base_ms = float(np.median(seen.latency_ms))
    heavy = float(np.quantile(seen.statements, 0.98))
    light = max(float(np.median(seen.statements)), 1.0)
    lowest = max((slo_ms - base_ms) / max(heavy, 1.0), 0.5)
    highest = max((slo_ms - 1.5 * base_ms) / light, lowest)
    return math.sqrt(lowest * highest), 2 * slo_ms


async def _delay(saboteur: Saboteur, latency_ms: float, jitter_ms: float) -> None:
    wanted_ms = max(round(latency_ms), 1)  # Toxiproxy takes whole milliseconds
    await saboteur.set_latency(wanted_ms, jitter_ms)
    got = [t.get("latency", 0.0) for t in (await saboteur.toxics()).values()]
    if got != [wanted_ms]:
        raise SystemLost(f"the latency toxic reads {got} ms after {wanted_ms} ms was set", where="toxiproxy")


FAULT = FaultDef(
    name="network-latency",
    cause="network-path",
    doc="a Toxiproxy latency toxic between app and database",
    params=NetworkLatencyParams,
    inject=inject,
    undo=undo,
    again=again,
)
