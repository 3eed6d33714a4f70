"""The database's process: its CPU time, its CPU limits, and the memory cgroup that binds it."""

from __future__ import annotations

import os
from pathlib import Path

from chaoslat.cgroup.base import CgroupTree, MemoryReading
from chaoslat.errors import ChaoslatError, SystemLost
from chaoslat.model import DbProcess

_UTIME, _STIME = 11, 12  # of the fields after the command name: 14 and 15 in proc_pid_stat(5)


def db_process(tree: CgroupTree, pid: int, proc: Path = Path("/proc")) -> DbProcess:
    """Cumulative CPU of process `pid` in user and system mode, and the memory of the cgroup whose limit binds it.

    System time that grows against user time, with limit hits that rise, means that the kernel reclaims page
    cache on the database's behalf. By hand: `pidstat -p PID 1`, then /proc/PID/cgroup, and usage, limit,
    failcnt and memory.stat (v1) or memory.current, max, events and stat (v2) of that cgroup and each above it that
    has a limit. Raises `SystemLost` when the process is gone.
    """
    try:
        user_s, system_s = cpu_times_s((proc / str(pid) / "stat").read_text())
        memory = binding(tree, pid)
        cpu = tree.cpu_path(pid)
    except (OSError, ChaoslatError) as error:
        raise SystemLost("The database's process is gone", where=f"process {pid}", why=str(error)) from error
    return DbProcess(
        user_s=user_s,
        system_s=system_s,
        cpu=cpu,
        limited_path=memory.path if memory else "",
        limit_bytes=memory.limit_bytes if memory else None,
        usage_bytes=memory.usage_bytes if memory else 0,
        limit_hits=memory.hits if memory else 0,
        shmem_bytes=memory.shmem_bytes if memory else 0,
        cache_bytes=memory.cache_bytes if memory else 0,
    )


def binding(tree: CgroupTree, pid: int) -> MemoryReading | None:
    """Of the cgroups above the process that have a limit, the one that hit it most often; the nearest of equals.

    A container and its pod have the same limit, and what else is charged to the pod makes the pod's the tighter one.
    """
    limited = [tree.memory(path) for path in tree.memory_limited(pid)]
    return max(limited, key=lambda reading: reading.hits, default=None)


def cpu_times_s(stat: str) -> tuple[float, float]:
    """(user, system) seconds of a line of /proc/PID/stat. The name in it may hold spaces and brackets."""
    try:
        fields = stat.rpartition(")")[2].split()
        ticks_per_s = os.sysconf("SC_CLK_TCK")
        return int(fields[_UTIME]) / ticks_per_s, int(fields[_STIME]) / ticks_per_s
    except (IndexError, ValueError) as error:
        raise SystemLost("not a line of /proc/PID/stat", why=repr(stat[:80])) from error
