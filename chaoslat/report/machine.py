"""One line about the machine: a latency means little without it."""

from __future__ import annotations

import os
import platform

from chaoslat.capabilities import cgroup_version


def machine_line() -> str:
    """Kernel, cores, control groups, load and Python."""
    system = platform.uname()
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    return (
        f"{system.system} {system.release} {system.machine}, {cores} cores, load {load:.1f}, "
        f"cgroup v{cgroup_version()}, Python {platform.python_version()}"
    )
