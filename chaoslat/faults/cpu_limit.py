"""`cpu-limit`: a CFS quota on the app's cgroup, so tight that bursts inside one period are cut.

Mean CPU use stays below the limit; a few requests that overlap in one 100 ms period do not fit, and every thread of
the app sleeps until the next period. The level is found from what the app uses now.
"""

from __future__ import annotations

from chaoslat.backends.base import Saboteur
from chaoslat.faults import quota
from chaoslat.faults.base import Bench, FaultDef, Level
from chaoslat.faults.quota import PERIOD_US, LimitParams, Place

STEADY_USE = 0.08  # two windows whose use differs by less: the JIT is warm


async def inject(bench: Bench, params: LimitParams) -> Level:
    """Set the quota, given or found, and read it back."""
    app = _app(bench.saboteur)
    if params.limit_cores is not None:
        await quota.set_cores(app, params.limit_cores)
    else:
        await quota.calibrate(bench, app, await _steady_use(bench, app), hardest=0.97, looks=2)
    quota_us = await app.quota_us()
    return {"limit": f"{(quota_us or 0) / PERIOD_US:.3f} cores", "quota": f"{quota_us} us per {PERIOD_US} us"}


async def undo(saboteur: Saboteur) -> None:
    await saboteur.restore_cpu_quota()


async def again(saboteur: Saboteur) -> LimitParams:
    return LimitParams(limit_cores=await quota.limit_cores(_app(saboteur)))


def _app(saboteur: Saboteur) -> Place:
    return Place("the app", saboteur.cpu_quota_us, saboteur.set_cpu_quota, saboteur.cpu_usage_s)


async def _steady_use(bench: Bench, app: Place, looks: int = 4) -> float:
    """Cores in use, once two windows in a row agree; the last of `looks` where they never do."""
    used = await quota.used_cores(bench, app, 2.5)
    for _ in range(looks):
        before, used = used, await quota.used_cores(bench, app, 2.5)
        if abs(used - before) <= STEADY_USE * before:
            break
    return used


FAULT = FaultDef(
    name="cpu-limit",
    cause="cpu-throttling",
    doc="CFS quota on the app's cgroup so tight that it throttles",
    params=LimitParams,
    inject=inject,
    undo=undo,
    again=again,
)
