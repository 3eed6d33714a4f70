"""`cpu-limit`: a CFS quota on the app's cgroup, so tight that bursts inside one period are cut.

Mean CPU use stays below the limit; a few requests that overlap in one 100 ms period do not fit, and every thread of
the app sleeps until the next period. The level is found from what the app uses now.
"""

from __future__ import annotations

from pydantic import Field

from chaoslat.backends.base import Saboteur
from chaoslat.errors import SystemLost
from chaoslat.faults.base import Bench, FaultDef, Level, Params
from chaoslat.faults.calibrate import search

PERIOD_US = 100_000
MILLICORE_US = PERIOD_US // 1000  # the grain of a limit in a pod's resources
BAND = (0.12, 0.40)
"""Fraction over the SLO to aim at: past the classic symptom, on purpose. The app's CPU need moves by a fifth within
minutes and the tail follows steeply (from 0.4 % to 40 % between use/limit 0.72 and 0.84, seen here), so a level at
3 % may be at none soon; and while a limit is lifted and put back its queue forms only in part: at 10 % over the SLO
the blocks of a comparison showed 5 to 7 % and the step took 24 to 37 s; at this band 11, 12, 15, 15 and 29 s."""
WINDOW_S = 8.0  # queues of a second and more come and go: a shorter look meets one, or none
STEADY_USE = 0.08  # two windows whose use differs by less: the JIT is warm
MIN_QUOTA_US = 2_000  # the kernel refuses less than 1 ms; below 2 ms nothing runs


class CpuLimitParams(Params):
    """`limit_cores`: the limit, as in a pod's resources.limits.cpu; absent: calibrated."""

    limit_cores: float | None = Field(default=None, gt=0, le=1024)


async def inject(bench: Bench, params: CpuLimitParams) -> Level:
    """Set the quota, given or found, and read it back."""
    if params.limit_cores is not None:
        await _limit(bench.saboteur, params.limit_cores)
    else:
        await _calibrate(bench)
    quota_us = await bench.saboteur.cpu_quota_us()
    return {"limit": f"{(quota_us or 0) / PERIOD_US:.3f} cores", "quota": f"{quota_us} us per {PERIOD_US} us"}


async def undo(saboteur: Saboteur) -> None:
    await saboteur.restore_cpu_quota()


async def _calibrate(bench: Bench) -> None:
    used_cores = await _steady_use(bench)
    bench.progress(f"the app uses {used_cores:.2f} cores without a limit")

    async def at(hardness: float) -> None:
        await _limit(bench.saboteur, used_cores / hardness)

    # hardness = use / limit: at 0.3 a burst needs three times the mean, at 0.95 the queue hardly drains
    await search(
        bench, at, first=0.76, lo=0.3, hi=0.97, band=BAND, window_s=WINDOW_S, looks=2, name="use/limit"
    )


async def _steady_use(bench: Bench, looks: int = 4) -> float:
    """Cores in use, once two windows in a row agree; the last of `looks` where they never do."""
    used_cores = await _used_cores(bench, 2.5)
    for _ in range(looks):
        before_cores, used_cores = used_cores, await _used_cores(bench, 2.5)
        if abs(used_cores - before_cores) <= STEADY_USE * before_cores:
            break
    return used_cores


async def _used_cores(bench: Bench, duration_s: float) -> float:
    start_s, before_s = bench.operator.now_s(), await bench.saboteur.cpu_usage_s()
    await bench.operator.sleep(duration_s)
    used_s = await bench.saboteur.cpu_usage_s() - before_s
    return max(used_s / (bench.operator.now_s() - start_s), 0.01)


async def _limit(saboteur: Saboteur, limit_cores: float) -> None:
    wanted_us = max(int(limit_cores * 1000) * MILLICORE_US, MIN_QUOTA_US)
    await saboteur.set_cpu_quota(wanted_us)
    got_us = await saboteur.cpu_quota_us()
    if got_us != wanted_us:
        raise SystemLost(
            f"the quota reads {got_us} us after {wanted_us} us was written", where="app's cgroup"
        )


FAULT = FaultDef(
    name="cpu-limit",
    cause="cpu-throttling",
    doc="CFS quota on the app's cgroup so tight that it throttles",
    params=CpuLimitParams,
    inject=inject,
    undo=undo,
)
