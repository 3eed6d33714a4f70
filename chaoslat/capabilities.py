"""What an experiment may say that it needs from the machine, and how each is looked for.

Every look is cheap and changes nothing. `chaoslat doctor` looks harder, and says how to mend what is missing.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Capability:
    """One thing that a machine offers or not."""

    doc: str
    offered: Callable[[], bool]


def missing(needs: Iterable[str]) -> tuple[str, ...]:
    """Those of `needs` that this machine does not offer."""
    return tuple(name for name in needs if not CAPABILITIES[name].offered())


def cgroup_version(mounts: str | None = None) -> int:
    """1, 2 or 0 (none): by where the memory controller is mounted; a hybrid layout counts as 1."""
    text = Path("/proc/mounts").read_text() if mounts is None else mounts
    rows = [line.split() for line in text.splitlines()]
    if any(row[2] == "cgroup" and "memory" in row[3].split(",") for row in rows):
        return 1
    return 2 if any(row[2] == "cgroup2" for row in rows) else 0


def _is_root() -> bool:
    return os.geteuid() == 0


def _has_tun() -> bool:
    return os.access("/dev/net/tun", os.R_OK | os.W_OK)


def _cores() -> int:
    return len(os.sched_getaffinity(0))


CAPABILITIES: Mapping[str, Capability] = {
    "root": Capability("root privileges", _is_root),
    "cgroup-v1": Capability("control groups version 1", lambda: cgroup_version() == 1),
    "cgroup-v2": Capability("control groups version 2", lambda: cgroup_version() == 2),
    "network-namespaces": Capability("network namespaces", lambda: Path("/proc/self/ns/net").exists()),
    "tun": Capability("TUN devices (/dev/net/tun)", _has_tun),
    "iproute2": Capability("the commands ip and ss", lambda: bool(shutil.which("ip") and shutil.which("ss"))),
    "two-cores": Capability("two CPU cores or more", lambda: _cores() >= 2),
}
