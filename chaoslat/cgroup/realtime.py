"""A share of real-time CPU for one cgroup: without it cgroup v1 refuses SCHED_RR to the processes inside.

Kernels with CONFIG_RT_GROUP_SCHED give a new v1 cgroup no real-time time at all. Elsewhere (v2, or a kernel
without it) there is nothing to do.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from chaoslat.cgroup.base import CgroupTree

SHARE_US = 200_000  # of each second; the load generator needs a tenth of it
FILE = "cpu.rt_runtime_us"


def allow_realtime(tree: CgroupTree, path: str) -> bool:
    """Give `path` (`TOP/.../LEAF`) and its ancestors in the run a share. False: not needed, or not to be had."""
    parts = path.split("/")
    files = [file for depth in range(1, len(parts) + 1) for file in _files(tree, "/".join(parts[:depth]))]
    with suppress(OSError):
        for file in files:  # from the top: a child's share has to fit into its parent's
            file.write_text(str(SHARE_US))
        return bool(files)
    return False


def _files(tree: CgroupTree, path: str) -> list[Path]:
    return [file for folder in tree.directories(path) if (file := Path(folder) / FILE).exists()]
