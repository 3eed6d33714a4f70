"""What the faults share that only decoys need: their means, or a plain "not here"; and a quota of any place."""

from __future__ import annotations

from functools import partial

from chaoslat.backends.base import Decoys, Saboteur, decoys_of
from chaoslat.errors import EnvironmentMissing
from chaoslat.faults import quota
from chaoslat.faults.base import Bench, Level
from chaoslat.faults.quota import Place

USE_S = 5.0
HARDEST = 0.95  # use / limit: beyond it the queue never drains, and nobody would call that a tail


def means(saboteur: Saboteur) -> Decoys:
    """The saboteur's means for decoys. Raises EnvironmentMissing on a backend that has none."""
    found = decoys_of(saboteur)
    if found is None:
        raise EnvironmentMissing(
            "Not here: this backend has no means for this decoy", fix="run it with --backend local"
        )
    return found


def place(saboteur: Saboteur, name: str) -> Place:
    """A place as a decoy can limit it. Raises EnvironmentMissing on a backend that has no means."""
    decoys = means(saboteur)
    return Place(
        name,
        partial(decoys.quota_us, name),
        partial(decoys.set_quota, name),
        partial(decoys.usage_s, name),
    )


async def limit(bench: Bench, name: str, limit_cores: float | None) -> Level:
    """A quota on that place, given or as tight as breaks the SLO, read back. Raises SystemLost when it differs."""
    where = place(bench.saboteur, name)
    if limit_cores is not None:
        await quota.set_cores(where, limit_cores)
    else:
        used = await quota.used_cores(bench, where, USE_S)
        await quota.calibrate(bench, where, used, hardest=HARDEST, looks=2)
    return {f"limit of {name}": f"{await quota.limit_cores(where):.3f} cores"}


async def restore(saboteur: Saboteur, name: str) -> None:
    """The quota of that place as it was; nothing happens on a backend without decoys."""
    decoys = decoys_of(saboteur)
    if decoys is not None:
        await decoys.restore_quota(name)
