"""Which memory limit binds a process: a container and its pod have the same one, and the pod is charged for more."""

import pytest

from chaoslat.cgroup.base import MemoryReading
from chaoslat.probes.db_process import binding


class Tree:
    """Unit-test double: memory cgroups above a process, each with its limit and how often it was hit."""

    def __init__(self, **hits):
        self.hits = hits

    def memory_limited(self, _pid):
        return tuple(self.hits)

    def memory(self, path):
        return MemoryReading(path, 90, 100, self.hits[path], 0, 5, 80, 5)


@pytest.mark.parametrize(
    ("hits", "path"),
    [
        ({"container": 0, "pod": 7}, "pod"),
        ({"container": 7, "pod": 0}, "container"),
        ({"container": 0, "pod": 0}, "container"),
    ],
)
def test_the_one_that_was_hit_most_and_the_nearest_of_equals(hits, path):
    assert binding(Tree(**hits), 1).path == path


def test_no_limit_binds_nothing():
    assert binding(Tree(), 1) is None
