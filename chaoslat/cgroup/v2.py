"""cgroup version 2: one unified hierarchy (kernel documentation: admin-guide/cgroup-v2).

Two of its rules shape this file: a controller has to be enabled from the top down in cgroup.subtree_control, and
only a cgroup without children that use controllers may hold processes.
"""

from __future__ import annotations

import time
from pathlib import Path

from chaoslat.cgroup import files, walk
from chaoslat.cgroup.base import MemoryReading
from chaoslat.cgroup.launch import launcher
from chaoslat.cgroup.mounts import Hierarchy, parse_proc_cgroup
from chaoslat.cgroup.reclaim import write_bounded
from chaoslat.errors import ChaoslatError
from chaoslat.model import CgroupCpu, MemoryCgroups, ReclaimResult

PERIOD_US = 100_000
_WANTED = ("cpu", "memory", "pids")


class V2Tree:
    """The unified hierarchy."""

    version = 2

    def __init__(self, unified: Hierarchy, proc: Path) -> None:
        self._unified, self._proc = unified, proc

    # making and entering -----------------------------------------------------------------------------------
    def create(self, path: str) -> tuple[str, ...]:
        for ancestor in reversed(walk.ancestors(path)[1:]):
            files.make_directory(self._unified.at(ancestor))
            self._enable_controllers(ancestor)
        files.make_directory(self._unified.at(path))
        return self.directories(path)

    def _enable_controllers(self, path: str) -> None:
        """For the children of this cgroup. One write per controller: a refused one must not take the others along."""
        directory = self._unified.at(path)
        enabled = files.read(directory / "cgroup.subtree_control").split()
        offered = files.read(directory / "cgroup.controllers").split()
        for controller in _WANTED:
            if controller in offered and controller not in enabled:
                self._enable(directory / "cgroup.subtree_control", controller)

    def _enable(self, file: Path, controller: str) -> None:
        try:
            files.write(file, f"+{controller}")
        except ChaoslatError as error:
            raise ChaoslatError(
                f"The cgroup controller `{controller}` cannot be enabled",
                where=str(file),
                why=f"{error.why}. A cgroup that holds processes itself cannot pass controllers on, as the top of a "
                "container does not",
                fix="run on the host, or move the processes of that cgroup into a child of it first",
            ) from error

    def directories(self, path: str) -> tuple[str, ...]:
        return (str(self._unified.at(path)),)

    def remove(self, path: str) -> None:
        files.remove_directory(self._unified.at(path))

    def exists(self, path: str) -> bool:
        return self._unified.at(path).is_dir()

    def procs_files(self, path: str) -> tuple[str, ...]:
        return (str(self._unified.at(path) / "cgroup.procs"),)

    def launcher(self, path: str) -> list[str]:
        return launcher(self.procs_files(path))

    def pids(self, path: str) -> tuple[int, ...]:
        return files.integers(files.read(self._unified.at(path) / "cgroup.procs"))

    # CPU ---------------------------------------------------------------------------------------------------
    def cpu_path(self, pid: int) -> tuple[CgroupCpu, ...]:
        return tuple(self.cpu(path) for path in walk.ancestors(self.memory_path(pid)))

    def cpu(self, path: str) -> CgroupCpu:
        directory = self._unified.at(path)
        stat = files.keyed(files.read_if_there(directory / "cpu.stat"))
        quota, period = files.read_if_there(directory / "cpu.max", f"max {PERIOD_US}").split()
        return CgroupCpu(
            path=walk.normal(path),
            quota_us=None if quota == "max" else int(quota),
            period_us=int(period),
            periods=stat.get("nr_periods", 0),
            throttled_periods=stat.get("nr_throttled", 0),
            throttled_s=stat.get("throttled_usec", 0) / 1e6,
            usage_s=stat.get("usage_usec", 0) / 1e6,
        )

    def set_cpu_quota(self, path: str, quota_us: int | None) -> None:
        """A quota alone leaves the period as it is."""
        files.write(self._unified.at(path) / "cpu.max", "max" if quota_us is None else str(quota_us))

    def cpu_quota_file(self, path: str) -> tuple[str, str]:
        file = self._unified.at(path) / "cpu.max"
        return str(file), files.read(file)

    # memory ------------------------------------------------------------------------------------------------
    def memory_directory(self, path: str) -> str:
        return str(self._unified.at(path))

    def set_memory_limit(self, path: str, limit_bytes: int | None) -> None:
        files.write(self._unified.at(path) / "memory.max", "max" if limit_bytes is None else str(limit_bytes))

    def memory(self, path: str) -> MemoryReading:
        """The top has no files but memory.stat: its usage reads as the sum of what that says."""
        directory = self._unified.at(path)
        stat = files.keyed(files.read(directory / "memory.stat"))
        known = stat.get("anon", 0) + stat.get("file", 0) + stat.get("kernel", 0)
        return MemoryReading(
            path=walk.normal(path),
            usage_bytes=int(files.read_if_there(directory / "memory.current", str(known))),
            limit_bytes=self._limit_bytes(path),
            hits=files.keyed(files.read_if_there(directory / "memory.events")).get("max", 0),
            shmem_bytes=stat.get("shmem", 0),
            cache_bytes=stat.get("file", 0),
            anon_bytes=stat.get("anon", 0),
            kernel_bytes=stat.get("kernel", 0),
        )

    def _limit_bytes(self, path: str) -> int | None:
        limit = files.read_if_there(self._unified.at(path) / "memory.max", "max")
        return None if limit == "max" else int(limit)

    def memory_path(self, pid: int) -> str:
        own = parse_proc_cgroup(files.read(self._proc / str(pid) / "cgroup"))
        return self._unified.relative(own[""])

    def memory_limited(self, pid: int) -> tuple[str, ...]:
        parents = walk.ancestors(self.memory_path(pid))
        return tuple(path for path in parents if self._limit_bytes(path) is not None)

    def count_memory_cgroups(self) -> MemoryCgroups:
        """From 6.12 the kernel counts those of each controller (nr_dying_subsys_memory), before only all cgroups."""
        stat = files.keyed(files.read(self._unified.directory / "cgroup.stat"))
        live = stat.get("nr_subsys_memory", stat.get("nr_descendants", 0) + 1)
        return MemoryCgroups(live, stat.get("nr_dying_subsys_memory", stat.get("nr_dying_descendants", 0)))

    def reclaim(self, path: str, bound_s: float) -> ReclaimResult:
        """memory.reclaim (5.19) takes the number of bytes to get back: all that is charged."""
        wanted_bytes = self.memory(path).usage_bytes
        before, began_s = self.count_memory_cgroups(), time.monotonic()
        finished = write_bounded(self._unified.at(path) / "memory.reclaim", str(wanted_bytes), bound_s)
        took_s = time.monotonic() - began_s
        dying_after = self.count_memory_cgroups().dying
        return ReclaimResult(walk.normal(path), took_s, finished, before.dying, dying_after)
