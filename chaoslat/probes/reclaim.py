"""A bounded attempt to empty a memory cgroup. It changes something: it is the cure that an engineer would try."""

from __future__ import annotations

from chaoslat.cgroup.base import CgroupTree
from chaoslat.model import ReclaimResult


def reclaim(tree: CgroupTree, path: str, bound_s: float) -> ReclaimResult:
    """Ask the kernel to reclaim all it can from the cgroup at `path`; interrupted after `bound_s`.

    It drops the page cache of those who live there too. Against pages that cannot be reclaimed (tmpfs
    without swap) it spins in the kernel, hence the bound. By hand on v1: `timeout 5 sh -c 'echo 1 >
    memory.force_empty'`; on v2: `echo 1G > memory.reclaim`.
    """
    return tree.reclaim(path, bound_s)
