"""cgroup version 1: one hierarchy per controller (kernel documentation: admin-guide/cgroup-v1, scheduler/sched-bwc)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from chaoslat.cgroup import files, walk
from chaoslat.cgroup.base import MemoryReading
from chaoslat.cgroup.launch import launcher
from chaoslat.cgroup.mounts import Hierarchy, parse_proc_cgroup
from chaoslat.cgroup.reclaim import write_bounded
from chaoslat.errors import ChaoslatError
from chaoslat.model import CgroupCpu, MemoryCgroups, ReclaimResult

PERIOD_US = 100_000
_NO_LIMIT_FROM_BYTES = 2**60  # "no limit" reads as the largest page-aligned 63-bit number


class V1Tree:
    """The hierarchies of cpu and memory, and of cpuacct and pids where there are any; two may be one (cpu,cpuacct)."""

    version = 1

    def __init__(self, hierarchies: Mapping[str, Hierarchy], proc: Path) -> None:
        self._by_name, self._proc = dict(hierarchies), proc
        self._cpu, self._memory = hierarchies["cpu"], hierarchies["memory"]
        self._usage = hierarchies.get("cpuacct")
        self._distinct = tuple({one.directory: one for one in hierarchies.values()}.values())

    # making and entering -----------------------------------------------------------------------------------
    def create(self, path: str) -> tuple[str, ...]:
        for directory in self.directories(path):
            files.make_directory(Path(directory))
        self._account_for_children(path)
        return self.directories(path)

    def _account_for_children(self, path: str) -> None:
        """Kernels before 5.11 leave a parent's limit out of account unless told so, top cgroup first."""
        for ancestor in reversed(walk.ancestors(path)[:-1]):
            switch = self._memory.at(ancestor) / "memory.use_hierarchy"
            if files.read_if_there(switch, "1") == "0":
                files.write(switch, "1")

    def directories(self, path: str) -> tuple[str, ...]:
        return tuple(str(one.at(path)) for one in self._distinct)

    def remove(self, path: str) -> None:
        for directory in self.directories(path):
            files.remove_directory(Path(directory))

    def exists(self, path: str) -> bool:
        return all(Path(directory).is_dir() for directory in self.directories(path))

    def procs_files(self, path: str) -> tuple[str, ...]:
        return tuple(f"{directory}/cgroup.procs" for directory in self.directories(path))

    def launcher(self, path: str) -> list[str]:
        return launcher(self.procs_files(path))

    def pids(self, path: str) -> tuple[int, ...]:
        return files.integers(files.read(self._memory.at(path) / "cgroup.procs"))

    # CPU ---------------------------------------------------------------------------------------------------
    def cpu_path(self, pid: int) -> tuple[CgroupCpu, ...]:
        own = self._cpu.relative(self._own(pid)["cpu"])
        return tuple(self.cpu(path) for path in walk.ancestors(own))

    def cpu(self, path: str) -> CgroupCpu:
        directory = self._cpu.at(path)
        stat = files.keyed(files.read_if_there(directory / "cpu.stat"))
        quota_us = int(files.read_if_there(directory / "cpu.cfs_quota_us", "-1"))
        return CgroupCpu(
            path=walk.normal(path),
            quota_us=None if quota_us < 0 else quota_us,
            period_us=int(files.read_if_there(directory / "cpu.cfs_period_us", str(PERIOD_US))),
            periods=stat.get("nr_periods", 0),
            throttled_periods=stat.get("nr_throttled", 0),
            throttled_s=stat.get("throttled_time", 0) / 1e9,
            usage_s=self._usage_s(path),
        )

    def _usage_s(self, path: str) -> float:
        """0 where the accounting hierarchy is missing or has no such cgroup."""
        file = self._usage.at(path) / "cpuacct.usage" if self._usage else None
        return int(files.read_if_there(file, "0")) / 1e9 if file else 0.0

    def set_cpu_quota(self, path: str, quota_us: int | None) -> None:
        directory = self._cpu.at(path)
        files.write(directory / "cpu.cfs_quota_us", str(-1 if quota_us is None else quota_us))

    def cpu_quota_file(self, path: str) -> tuple[str, str]:
        file = self._cpu.at(path) / "cpu.cfs_quota_us"
        return str(file), files.read(file)

    # memory ------------------------------------------------------------------------------------------------
    def memory_directory(self, path: str) -> str:
        return str(self._memory.at(path))

    def set_memory_limit(self, path: str, limit_bytes: int | None) -> None:
        limit = self._memory.at(path) / "memory.limit_in_bytes"
        files.write(limit, str(-1 if limit_bytes is None else limit_bytes))

    def memory(self, path: str) -> MemoryReading:
        directory = self._memory.at(path)
        stat = files.keyed(files.read(directory / "memory.stat"))
        return MemoryReading(
            path=walk.normal(path),
            usage_bytes=int(files.read(directory / "memory.usage_in_bytes")),
            limit_bytes=self._limit_bytes(path),
            hits=int(files.read(directory / "memory.failcnt")),
            shmem_bytes=stat.get("total_shmem", 0),
            cache_bytes=stat.get("total_cache", 0),
            anon_bytes=stat.get("total_rss", 0),
            kernel_bytes=int(files.read_if_there(directory / "memory.kmem.usage_in_bytes", "0")),
        )

    def _limit_bytes(self, path: str) -> int | None:
        limit = int(files.read(self._memory.at(path) / "memory.limit_in_bytes"))
        return None if limit >= _NO_LIMIT_FROM_BYTES else limit

    def memory_path(self, pid: int) -> str:
        return self._memory.relative(self._own(pid)["memory"])

    def memory_limited(self, pid: int) -> tuple[str, ...]:
        parents = walk.ancestors(self.memory_path(pid))
        return tuple(path for path in parents if self._limit_bytes(path) is not None)

    def count_memory_cgroups(self) -> MemoryCgroups:
        """`num_cgroups` of /proc/cgroups counts all that are charged; a dying one has no directory any more.

        Only the node itself sees all directories: inside a container everybody else's would count as dying.
        """
        if self._memory.top != "/":
            raise ChaoslatError(
                "The node's memory cgroups cannot be counted from inside a container",
                where=str(self._memory.directory),
            )
        live = walk.count_directories(self._memory.directory)
        return MemoryCgroups(live=live, dying=max(0, self._charged_cgroups() - live))

    def _charged_cgroups(self) -> int:
        rows = (line.split() for line in files.read(self._proc / "cgroups").splitlines())
        return next(int(row[2]) for row in rows if row[0] == "memory")

    def reclaim(self, path: str, bound_s: float) -> ReclaimResult:
        before, began_s = self.count_memory_cgroups(), time.monotonic()
        finished = write_bounded(self._memory.at(path) / "memory.force_empty", "0", bound_s)
        took_s = time.monotonic() - began_s
        dying_after = self.count_memory_cgroups().dying
        return ReclaimResult(walk.normal(path), took_s, finished, before.dying, dying_after)

    def _own(self, pid: int) -> dict[str, str]:
        return parse_proc_cgroup(files.read(self._proc / str(pid) / "cgroup"))
