"""The CPU cgroup as the app's own container shows it, read by exec: what a limit in a manifest came to, and how often
it throttled."""

from __future__ import annotations

from dataclasses import dataclass

from chaoslat.errors import SystemLost
from chaoslat.kube.exec import PodShell
from chaoslat.model import CgroupCpu

_READ = (
    "cat /sys/fs/cgroup/cpu.max 2>/dev/null ||"
    " cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu/cpu.cfs_period_us"
)
_COUNT = (
    "cd /sys/fs/cgroup; if [ -e cgroup.controllers ]; then cat cpu.max cpu.stat;"
    " else cat cpu/cpu.cfs_quota_us cpu/cpu.cfs_period_us cpu/cpu.stat cpuacct/cpuacct.usage; fi"
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


def cpu(shell: PodShell, path: str) -> CgroupCpu:
    """Quota and counters of the container's own cgroup, which goes by the name `path`: not of those above it, which
    cannot be seen from inside. It needs a shell and cat. Raises SystemLost."""
    text = shell.run("sh", "-c", _COUNT)
    try:
        return parse_cpu(text, path)
    except (ValueError, KeyError) as error:
        raise SystemLost(
            "No CPU cgroup is shown in the container", where=shell.where, why=repr(text)
        ) from error


def parse_cpu(text: str, path: str) -> CgroupCpu:
    """Quota and period, then `name value` lines, and on v1 the usage in ns. Raises ValueError or KeyError."""
    words = text.split()
    named = [line.split() for line in text.splitlines() if line[:1].isalpha() and not line.startswith("max")]
    stat = {name: int(value) for name, value in named}
    limit = parse(" ".join(words[:2]))
    v2 = "usage_usec" in stat
    return CgroupCpu(
        path=path,
        quota_us=limit.quota_us,
        period_us=limit.period_us,
        periods=stat.get("nr_periods", 0),  # v2 has them only where there is a quota
        throttled_periods=stat.get("nr_throttled", 0),
        throttled_s=stat.get("throttled_usec", 0) / 1e6 if v2 else stat.get("throttled_time", 0) / 1e9,
        usage_s=stat["usage_usec"] / 1e6 if v2 else int(text.splitlines()[-1]) / 1e9,
    )
