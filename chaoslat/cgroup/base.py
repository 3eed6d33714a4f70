"""What the project needs of cgroups, whatever their version.

A path names a cgroup below the top of the hierarchy, as `chaoslat-RUN/kubepods/db`; "/" is the top itself. With
version 1 the same path exists in each controller's hierarchy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from chaoslat.model import CgroupCpu, MemoryCgroups, ReclaimResult


@dataclass(frozen=True, slots=True)
class MemoryReading:
    """The memory of one cgroup and all below it."""

    path: str
    usage_bytes: int
    limit_bytes: int | None  # None: no limit of its own
    hits: int  # how often a charge met the limit: v1 memory.failcnt, v2 memory.events `max`
    shmem_bytes: int
    cache_bytes: int  # page cache, shmem included
    anon_bytes: int
    kernel_bytes: int


class CgroupTree(Protocol):
    """The cgroups of this machine. All methods raise ChaoslatError when the kernel refuses."""

    version: int

    def create(self, path: str) -> tuple[str, ...]:
        """Make a cgroup and its parents, in every controller needed. Returns its absolute directories."""
        ...

    def directories(self, path: str) -> tuple[str, ...]:
        """The absolute directories that `create` makes or made: what a ledger entry `cgroup` has to name."""
        ...

    def remove(self, path: str) -> None:
        """Remove a cgroup and all below it. Already gone is fine; a process inside is an error."""
        ...

    def exists(self, path: str) -> bool: ...

    def procs_files(self, path: str) -> tuple[str, ...]:
        """The files into which a process writes its pid to enter the cgroup."""
        ...

    def launcher(self, path: str) -> list[str]:
        """An argv prefix: what follows it runs inside the cgroup from its first instruction, under the same pid."""
        ...

    def pids(self, path: str) -> tuple[int, ...]:
        """Processes in this very cgroup, not those below it."""
        ...

    def cpu_path(self, pid: int) -> tuple[CgroupCpu, ...]:
        """The process's own cgroup first, then every ancestor up to the top."""
        ...

    def cpu(self, path: str) -> CgroupCpu: ...

    def set_cpu_quota(self, path: str, quota_us: int | None) -> None:
        """CFS quota per period of 100 ms; None lifts it."""
        ...

    def cpu_quota_file(self, path: str) -> tuple[str, str]:
        """The file that `set_cpu_quota` writes and its content now: a ledger entry `file`."""
        ...

    def set_memory_limit(self, path: str, limit_bytes: int | None) -> None: ...

    def memory(self, path: str) -> MemoryReading: ...

    def memory_path(self, pid: int) -> str:
        """The path of the memory cgroup that a process is in."""
        ...

    def memory_limited(self, pid: int) -> tuple[str, ...]:
        """The memory cgroups of a process that have a limit: its own first, then its ancestors."""
        ...

    def memory_directory(self, path: str) -> str:
        """The absolute directory of a path in the hierarchy that accounts memory."""
        ...

    def count_memory_cgroups(self) -> MemoryCgroups:
        """Live and dying memory cgroups of the whole node."""
        ...

    def reclaim(self, path: str, bound_s: float) -> ReclaimResult:
        """Ask the kernel to empty a memory cgroup of what can be reclaimed, for at most `bound_s`."""
        ...
