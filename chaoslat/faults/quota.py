"""CFS quotas of a cgroup, wherever it is: set and read back, and found as tight as the SLO takes to break."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import Field

from chaoslat.errors import SystemLost
from chaoslat.faults.base import Bench, Params
from chaoslat.faults.calibrate import search

PERIOD_US = 100_000
MILLICORE_US = PERIOD_US // 1000  # the grain of a limit in a pod's resources
MIN_QUOTA_US = 2_000  # the kernel refuses less than 1 ms; below 2 ms nothing runs
BAND = (0.12, 0.40)
"""Fraction over the SLO to aim at: past the classic symptom, on purpose. The app's CPU need moves by a fifth within
minutes and the tail follows steeply (from 0.4 % to 40 % between use/limit 0.72 and 0.84, seen here), so a level at
3 % may be at none soon; and while a limit is lifted and put back its queue forms only in part: at 10 % over the SLO
the blocks of a comparison showed 5 to 7 % and the step took 24 to 37 s; at this band 11, 12, 15, 15 and 29 s."""
WINDOW_S = 8.0  # queues of a second and more come and go: a shorter look meets one, or none


class LimitParams(Params):
    """`limit_cores`: the limit, as in a pod's resources.limits.cpu; absent: calibrated."""

    limit_cores: float | None = Field(default=None, gt=0, le=1024)


@dataclass(frozen=True, slots=True)
class Place:
    """A cgroup that a saboteur can limit: its quota as the kernel has it, and the CPU that it has used."""

    name: str
    quota_us: Callable[[], Awaitable[int | None]]
    set_quota: Callable[[int | None], Awaitable[None]]
    usage_s: Callable[[], Awaitable[float]]


async def used_cores(bench: Bench, place: Place, duration_s: float) -> float:
    """Cores in use there, over a window."""
    start_s, before_s = bench.operator.now_s(), await place.usage_s()
    await bench.operator.sleep(duration_s)
    used_s = await place.usage_s() - before_s
    return max(used_s / (bench.operator.now_s() - start_s), 0.01)


async def set_cores(place: Place, limit_cores: float) -> None:
    """Set the limit, in whole millicores, and read it back. Raises SystemLost when it differs."""
    wanted_us = max(round(limit_cores * 1000) * MILLICORE_US, MIN_QUOTA_US)
    await place.set_quota(wanted_us)
    got_us = await place.quota_us()
    if got_us != wanted_us:
        raise SystemLost(f"the quota reads {got_us} us after {wanted_us} us was written", where=place.name)


async def limit_cores(place: Place) -> float:
    """The limit as the kernel has it; 0 where there is none."""
    return (await place.quota_us() or 0) / PERIOD_US


async def calibrate(bench: Bench, place: Place, used: float, *, hardest: float, looks: int) -> None:
    """Find the limit, from what is used without one: hardness is use / limit.

    At 0.3 a burst needs three times the mean, at 0.95 the queue hardly drains.
    """
    bench.progress(f"{place.name} uses {used:.2f} cores without a limit")

    async def at(hardness: float) -> None:
        await set_cores(place, used / hardness)

    await search(
        bench, at, first=0.76, lo=0.3, hi=hardest, band=BAND, window_s=WINDOW_S, looks=looks, name="use/limit"
    )
