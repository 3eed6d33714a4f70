"""What the faults share that only decoys need: their means, or a plain "not here"; and a quota of any place."""

from __future__ import annotations

from chaoslat.backends.base import Decoys, Saboteur, decoys_of
from chaoslat.errors import EnvironmentMissing, SystemLost
from chaoslat.faults.base import Bench, Level
from chaoslat.faults.calibrate import search
from chaoslat.faults.cpu_limit import BAND, MILLICORE_US, MIN_QUOTA_US, PERIOD_US, WINDOW_S

USE_S = 5.0


def means(saboteur: Saboteur) -> Decoys:
    """The saboteur's means for decoys. Raises EnvironmentMissing on a backend that has none."""
    found = decoys_of(saboteur)
    if found is None:
        raise EnvironmentMissing(
            "Not here: this backend has no means for this decoy", fix="run it with --backend local"
        )
    return found


async def limit(bench: Bench, place: str, limit_cores: float | None) -> Level:
    """A quota on that place, given or as tight as breaks the SLO, read back. Raises SystemLost when it differs."""
    decoys = means(bench.saboteur)
    if limit_cores is not None:
        await set_cores(decoys, place, limit_cores)
    else:
        await _calibrate(bench, decoys, place)
    quota_us = await decoys.quota_us(place)
    return {f"limit of {place}": f"{(quota_us or 0) / PERIOD_US:.3f} cores"}


async def _calibrate(bench: Bench, decoys: Decoys, place: str) -> None:
    used = await used_cores(bench, place)
    bench.progress(f"{place} uses {used:.2f} cores without a limit")

    async def at(hardness: float) -> None:
        await set_cores(decoys, place, used / hardness)

    await search(bench, at, first=0.76, lo=0.3, hi=1.1, band=BAND, window_s=WINDOW_S, name="use/limit")


async def used_cores(bench: Bench, place: str) -> float:
    """Cores in use there, over a window of `USE_S`."""
    decoys = means(bench.saboteur)
    start_s, before_s = bench.operator.now_s(), await decoys.usage_s(place)
    await bench.operator.sleep(USE_S)
    used_s = await decoys.usage_s(place) - before_s
    return max(used_s / (bench.operator.now_s() - start_s), 0.01)


async def set_cores(decoys: Decoys, place: str, limit_cores: float) -> None:
    """Set it and read it back."""
    wanted_us = max(int(limit_cores * 1000) * MILLICORE_US, MIN_QUOTA_US)
    await decoys.set_quota(place, wanted_us)
    got_us = await decoys.quota_us(place)
    if got_us != wanted_us:
        raise SystemLost(f"the quota reads {got_us} us after {wanted_us} us was written", where=place)


async def restore(saboteur: Saboteur, place: str) -> None:
    """The quota of that place as it was; nothing happens on a backend without decoys."""
    decoys = decoys_of(saboteur)
    if decoys is not None:
        await decoys.restore_quota(place)
