"""The CPU limit as the app's own container shows it, read by exec: what a limit in a manifest came to."""

from __future__ import annotations

from dataclasses import dataclass

from chaoslat.errors import SystemLost
from chaoslat.kube.exec import PodShell

_READ = (
    "cat /sys/fs/cgroup/cpu.max 2>/dev/null ||"
    " cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu/cpu.cfs_period_us"
)


@dataclass(frozen=True, slots=True)
class CpuLimit:
    """CFS quota in each period; None: no limit."""

    quota_us: int | None
    period_us: int

    @property
    def cores(self) -> float | None:
        return None if self.quota_us is None else self.quota_us / self.period_us


def cpu_limit(shell: PodShell) -> CpuLimit:
    """Quota and period inside the container, cgroup v2 or v1. It needs a shell and cat. Raises SystemLost."""
    text = shell.run("sh", "-c", _READ)
    try:
        return parse(text)
    except ValueError as error:
        raise SystemLost(
            "No CPU quota is shown in the container", where=shell.where, why=repr(text)
        ) from error


def parse(text: str) -> CpuLimit:
    """v2 has `max 100000` or `20000 100000` on a line, v1 quota (-1: none) and period in two files."""
    quota, period = text.split()
    none = quota in ("max", "-1")
    return CpuLimit(None if none else int(quota), int(period))
