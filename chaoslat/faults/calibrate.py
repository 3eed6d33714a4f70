"""Find the level at which a fault shows the classic symptom on this machine, now: P95 within the SLO, P99 over it.

The observable is the fraction of requests over the SLO. Between 1 % and 5 % is the classic symptom; the search aims
at `BAND`, in few short windows, and prefers the mildest level that breaks the SLO for sure: at 1 or 2 % a symptom
comes and goes with the noise of the machine.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from chaoslat.faults.base import Bench
from chaoslat.load.log import Requests

BAND = (0.03, 0.06)
WINDOW_S = 4.0


@dataclass(frozen=True, slots=True)
class Tried:
    """One level and the fraction of requests over the SLO that it gave."""

    level: float
    over_slo: float


def next_level(tried: list[Tried], lo: float, hi: float, band: tuple[float, float] = BAND) -> float:
    """The next level to try: the geometric middle of the bracket that the tries leave.

    `lo` is the mildest, `hi` the hardest allowed level; harder means more requests over the SLO.
    """
    mild = max((t.level for t in tried if t.over_slo < band[0]), default=lo)
    hard = min((t.level for t in tried if t.over_slo > band[1] and t.level > mild), default=hi)
    return math.sqrt(mild * hard)


def best(tried: list[Tried], band: tuple[float, float] = BAND) -> Tried:
    """The level nearest to the classic symptom: in the band if any was, else the mildest that is over it."""
    broken = [t for t in tried if t.over_slo >= band[0]]
    if not broken:
        return max(tried, key=lambda t: t.over_slo)
    return min(broken, key=lambda t: t.over_slo)


async def search(
    bench: Bench,
    apply: Callable[[float], Awaitable[None]],
    *,
    first: float,
    lo: float,
    hi: float,
    tries: int = 5,
    band: tuple[float, float] = BAND,
    window_s: float = WINDOW_S,
    looks: int = 1,
    name: str = "level",
) -> float:
    """Bisect (geometrically) for a level in `band`; the chosen level is in force when this returns.

    A level is taken when it is in the band `looks` times in a row: what a system needs may still be drifting.
    """
    tried: list[Tried] = []
    level = min(max(first, lo), hi)
    for _ in range(tries):
        await apply(level)
        for _ in range(looks):
            seen = over(await bench.measure(window_s), bench.slo_ms)
            bench.progress(f"calibrating: {name} {level:.3g} puts {seen:.1%} over the SLO")
            if not band[0] <= seen <= band[1]:
                break
        else:
            return level
        tried.append(Tried(level, seen))
        level = next_level(tried, lo, hi, band)
    chosen = best(tried, band)
    if chosen.level != tried[-1].level:
        await apply(chosen.level)
    return chosen.level


def over(requests: Requests, slo_ms: float) -> float:
    """Fraction of requests over the SLO; 0 where there are none."""
    return float((requests.latency_ms > slo_ms).mean()) if len(requests) else 0.0


async def lesser_of_two(bench: Bench, window_s: float = WINDOW_S) -> float:
    """Fraction over the SLO. Where it breaks it a second look has to agree: a burst of the machine breaks one."""
    first = over(await bench.measure(window_s), bench.slo_ms)
    return first if first < BAND[0] else min(first, over(await bench.measure(window_s), bench.slo_ms))
