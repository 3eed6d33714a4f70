"""`harmless-throttling`: the app's cgroup is throttled for a few milliseconds in most periods, and nobody notices.

A background process in the app's cgroup burns what the quota leaves over. Its counters frighten; each stall is a
fraction of the SLO. No cause of anything: an experiment adds the one that is to be found.
"""

from __future__ import annotations

from pydantic import Field

from chaoslat.backends.base import Saboteur, decoys_of
from chaoslat.faults import decoy
from chaoslat.faults.base import Bench, FaultDef, Level, Params
from chaoslat.faults.cpu_limit import PERIOD_US
from chaoslat.model import NONE

NICE = 19
FOREVER_S = 3600.0


class HarmlessThrottlingParams(Params):
    """`stall`: fraction of each period for which the burner alone would be stalled."""

    stall: float = Field(default=0.05, gt=0, le=0.5)


async def inject(bench: Bench, params: HarmlessThrottlingParams) -> Level:
    """One burner, and a quota just below one core."""
    decoys = decoy.means(bench.saboteur)
    await decoys.start_burners(1, beside_app=True, nice=NICE, on_s=FOREVER_S, off_s=0.0)
    await decoy.set_cores(decoys, "app", 1.0 - params.stall)
    quota_us = await decoys.quota_us("app")
    return {
        "limit of app": f"{(quota_us or 0) / PERIOD_US:.3f} cores",
        "burners in the app's cgroup": str(await decoys.burners()),
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
