"""On a backend without means for decoys, a decoy says so, and its undo is nothing."""

import pytest

from chaoslat import faults
from chaoslat.errors import EnvironmentMissing
from tests.doubles import VirtualTime, bench

DECOYS = (
    "database-cpu",
    "slow-statement",
    "table-lock",
    "parent-quota",
    "harmless-throttling",
    "cpu-neighbour",
)


class Plain:
    """Unit-test double: a saboteur of a backend that has no decoys."""

    decoys = None


@pytest.mark.parametrize("name", DECOYS)
async def test_not_here(name):
    fault = faults.get(name)
    with pytest.raises(EnvironmentMissing, match="Not here"):
        await fault.inject(bench(VirtualTime(), Plain()), fault.params())
    await fault.undo(Plain())
