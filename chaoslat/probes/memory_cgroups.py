"""How many memory cgroups the node carries: live ones, and removed ones that are still charged."""

from __future__ import annotations

from chaoslat.cgroup.base import CgroupTree
from chaoslat.model import MemoryCgroups


def memory_cgroups(tree: CgroupTree) -> MemoryCgroups:
    """Node-wide counts. By hand on v1: num_cgroups of memory in /proc/cgroups, less
    `find /sys/fs/cgroup/memory -type d | wc -l`; on v2: nr_dying_descendants in the root's cgroup.stat.
    """
    return tree.count_memory_cgroups()
