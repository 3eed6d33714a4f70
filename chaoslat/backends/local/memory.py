"""The memory limit of the database's pod: how it is chosen, and how many leaked cgroups it has room for.

The limit is the parent that the kernel reclaims from, so everything leaked below it is charged to it: a page of
tmpfs and the kernel's own memory for a cgroup, 17 KB on a machine with two CPUs. The page cache has to be larger
than that by the number of cgroups that a fault may need, and smaller than the table, so that cold rows are reclaimed.
"""

from __future__ import annotations

from chaoslat.backends.local.layout import Layout
from chaoslat.cgroup.base import CgroupTree, MemoryReading
from chaoslat.cgroup.leak import leak, unleak
from chaoslat.errors import ChaoslatError

LEAKABLE = 11_000
"""For so many leaked cgroups there is room. On two CPUs the classic symptom comes with 8,000 to 11,000."""
LEAST_CACHE_BYTES = 26 * 1024**2  # what the page cache keeps when that many are leaked
REFUSED_BELOW_BYTES = 12 * 1024**2  # with less the kernel kills the database
TABLE_SHARE = 0.75
SAMPLE = 400


def cgroup_cost_bytes(tree: CgroupTree, layout: Layout) -> int:
    """What one leaked cgroup charges to the pod, measured by leaking a few, and clearing them again."""
    folder = layout.volumes / "sample"
    folder.mkdir()
    before = tree.memory(layout.db)
    try:
        leak(tree, layout.db, SAMPLE, folder)
        return _charged_bytes(before, tree.memory(layout.db)) // SAMPLE
    finally:
        unleak(folder)
        folder.rmdir()


def set_limit(tree: CgroupTree, layout: Layout, cost_bytes: int) -> int:
    """Limit the pod, in bytes. Call it after a scan of the table, when buffer pool and page cache are filled."""
    limit_bytes = choose_limit_bytes(tree.memory(layout.db), cost_bytes)
    tree.set_memory_limit(layout.db, limit_bytes)
    return limit_bytes


def choose_limit_bytes(with_table_cached: MemoryReading, cost_bytes: int) -> int:
    """What cannot be reclaimed, plus a page cache with room for `LEAKABLE`, at most a share of the table."""
    table_bytes = with_table_cached.cache_bytes - with_table_cached.shmem_bytes
    cache_bytes = min(LEAKABLE * cost_bytes + LEAST_CACHE_BYTES, int(table_bytes * TABLE_SHARE))
    return _unreclaimable_bytes(with_table_cached) + cache_bytes


def check_room(now: MemoryReading, count: int, cost_bytes: int) -> None:
    """Raises ChaoslatError when leaking `count` more would leave the database too little to live."""
    if now.limit_bytes is None:
        return
    left_bytes = now.limit_bytes - _unreclaimable_bytes(now) - count * cost_bytes
    if left_bytes < REFUSED_BELOW_BYTES:
        raise ChaoslatError(
            f"There is no room to leak {count} more cgroups",
            where=now.path,
            why=f"each charges {cost_bytes // 1024} KB to the database's pod; {left_bytes // 1024**2} MB would be left "
            "for its page cache, and the kernel would kill the database",
            fix=f"leak fewer: the limit is made for {LEAKABLE}",
        )


def _charged_bytes(before: MemoryReading, after: MemoryReading) -> int:
    """What the sample cost: what cannot be reclaimed now and could before, and at least its pages and kernel memory.

    The first alone is not enough: a server that gives memory back meanwhile makes it small, even negative.
    """
    pinned = after.shmem_bytes - before.shmem_bytes + after.kernel_bytes - before.kernel_bytes
    return max(_unreclaimable_bytes(after) - _unreclaimable_bytes(before), pinned)


def _unreclaimable_bytes(reading: MemoryReading) -> int:
    return reading.usage_bytes - reading.cache_bytes + reading.shmem_bytes
