"""The node's CPU: busy, idle and stolen time over all cores."""

from __future__ import annotations

import os
from pathlib import Path

from chaoslat.errors import SystemLost
from chaoslat.model import NodeCpu


def node_cpu(path: Path = Path("/proc/stat")) -> NodeCpu:
    """Cumulative since boot: take the difference of two readings. By hand: `mpstat 1`.

    Raises `SystemLost` when the file is not in the kernel's format.
    """
    return parse(path.read_text())


def parse(text: str) -> NodeCpu:
    """The text of /proc/stat as a value (fields: proc_stat(5); guest time is part of user time)."""
    lines = [line.split() for line in text.splitlines() if line.startswith("cpu")]
    try:
        total = next(line for line in lines if line[0] == "cpu")
        user, nice, system, idle, iowait, irq, softirq, steal = (int(ticks) for ticks in total[1:9])
    except (StopIteration, ValueError) as error:
        raise SystemLost("/proc/stat has no line for all CPUs", why=repr(text[:80])) from error
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    return NodeCpu(
        busy_s=(user + nice + system + irq + softirq) / ticks_per_s,
        idle_s=(idle + iowait) / ticks_per_s,
        steal_s=steal / ticks_per_s,
        cores=len(lines) - 1,
    )
