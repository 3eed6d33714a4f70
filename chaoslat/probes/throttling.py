"""CPU bandwidth of a process: its cgroup's quota and throttling counters, and those of every ancestor."""

from __future__ import annotations

from chaoslat.cgroup.base import CgroupTree
from chaoslat.errors import ChaoslatError, SystemLost
from chaoslat.model import CgroupCpu


def throttling(tree: CgroupTree, pid: int) -> tuple[CgroupCpu, ...]:
    """The cgroup of process `pid` first, then each ancestor up to the root.

    A quota on a parent throttles the child while the child's own counters stay 0, hence the walk. By hand:
    read the cpu line of /proc/PID/cgroup, then cpu.stat and cpu.cfs_quota_us (v1) or cpu.max (v2) in that
    directory and in each one above it, twice, and take differences. Raises `SystemLost` when the process is
    gone.
    """
    try:
        return tree.cpu_path(pid)
    except (OSError, ChaoslatError) as error:
        raise SystemLost(
            f"process {pid} has no cgroup to read", where=f"/proc/{pid}/cgroup", why=str(error)
        ) from error
