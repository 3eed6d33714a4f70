"""`harmless-throttling`: the app's cgroup is throttled for a few milliseconds in most periods, and nobody notices.

A background process in the app's cgroup burns what the quota leaves over. Its counters frighten; each stall is a
fraction of the SLO. No cause of anything: an experiment adds the one that is to be found.
"""

from __future__ import annotations

from pydantic import Field

from chaoslat.backends.base import Decoys, Saboteur, decoys_of
from chaoslat.errors import ChaoslatError
from chaoslat.faults import decoy, quota
from chaoslat.faults.base import Bench, FaultDef, Level, Params
from chaoslat.faults.calibrate import over
from chaoslat.faults.quota import Place
from chaoslat.model import NONE

NICE = 19
FOREVER_S = 3600.0
LOOK_S = 4.0
HARMLESS = 0.005  # over the SLO: half of its budget, so that the other cause makes the tail
SOFTER = (1.0, 0.5, 0.25, 0.1)  # of the stall asked for, until it harms nobody
LOOKS = 2  # at each: with a core burnt, a burst of the machine harms in any one look


class HarmlessThrottlingParams(Params):
    """`stall`: fraction of an ordinary period for which the app's cgroup is stalled."""

    stall: float = Field(default=0.05, gt=0, le=0.5)


async def inject(bench: Bench, params: HarmlessThrottlingParams) -> Level:
    """One burner, and a quota just below what it and the app need. Raises ChaoslatError unless that throttles and
    harms nobody: a decoy that breaks the SLO by itself would be no decoy."""
    decoys = decoy.means(bench.saboteur)
    app = decoy.place(bench.saboteur, "app")
    used = await quota.used_cores(bench, app, decoy.USE_S)
    await decoys.start_burners(1, beside_app=True, nice=NICE, on_s=FOREVER_S, off_s=0.0)
    for part in SOFTER:
        await quota.set_cores(app, (1.0 + used) * (1.0 - part * params.stall))
        for _ in range(LOOKS):
            over_slo, throttled_per_s = await _look(bench)
            bench.progress(f"throttled {throttled_per_s:.1f} times a second, {over_slo:.1%} over the SLO")
            if over_slo <= HARMLESS and throttled_per_s > 0:
                return await _level(decoys, app, throttled_per_s)
    raise ChaoslatError("The throttling cannot be made harmless on this machine now", where="app's cgroup")


async def _look(bench: Bench) -> tuple[float, float]:
    """Fraction over the SLO, and throttled periods per second."""
    start_s, before = bench.operator.now_s(), (await bench.operator.app_cpu())[0]
    seen = await bench.measure(LOOK_S)
    after = (await bench.operator.app_cpu())[0]
    throttled = after.throttled_periods - before.throttled_periods
    return over(seen, bench.slo_ms), throttled / (bench.operator.now_s() - start_s)


async def _level(decoys: Decoys, app: Place, throttled_per_s: float) -> Level:
    return {
        "limit of app": f"{await quota.limit_cores(app):.3f} cores",
        "burners in the app's cgroup": str(await decoys.burners()),
        "throttled periods": f"{throttled_per_s:.1f} a second",
    }


async def undo(saboteur: Saboteur) -> None:
    decoys = decoys_of(saboteur)
    if decoys is not None:
        await decoys.stop_burners()
        await decoys.restore_quota("app")


FAULT = FaultDef(
    name="harmless-throttling",
    cause=NONE,
    doc="throttling that harms nobody: a background process burns what the app's quota leaves over",
    params=HarmlessThrottlingParams,
    inject=inject,
    undo=undo,
)
