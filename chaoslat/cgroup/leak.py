"""Leaking memory cgroups: pods that came and went, each leaving a page in a memory-backed volume.

A removed memory cgroup lives on ("dying") while a page is charged to it. Pages of ordinary files do not last: the
parent's next reclaim writes them back and frees them. Pages of a tmpfs last on a node without swap, until the file
is deleted. That is how it happens for real: a container that restarts gets a new cgroup each time, while its pod's
memory-backed volume stays and keeps what every one of them wrote.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from chaoslat.cgroup.base import CgroupTree
from chaoslat.errors import ChaoslatError

PODS_PER_VOLUME = 500
"""One file per cgroup in folders of so many: 10,000 are deleted in 0.2 s, and can be looked at with `ls`."""
_NURSERY = "leaving"


def leak(tree: CgroupTree, parent: str, count: int, volume: Path) -> int:
    """Leak `count` more memory cgroups under `parent`, their pages in folders below `volume` (on a tmpfs).

    Returns how many cgroups the volume pins now. A child process does it, for a cgroup is leaked by the process
    that was inside. Raises ChaoslatError when it did not come to its end; `unleak` clears what it left.
    """
    order = json.dumps(_order(tree, parent, leaked(volume), count, volume))
    tree.create(f"{parent}/{_NURSERY}")  # v2: the parent has to pass its controllers on
    try:
        _run_child(parent, order)
    finally:
        tree.remove(f"{parent}/{_NURSERY}")
    return leaked(volume)


def _run_child(parent: str, order: str) -> None:
    program = str(Path(__file__).with_name("leak_child.py"))
    child = subprocess.run(
        [sys.executable, "-I", "-S", program], input=order, capture_output=True, text=True, check=False
    )
    if child.returncode:
        last = child.stderr.strip().splitlines()[-1:] or ["it was killed"]
        raise ChaoslatError("Memory cgroups could not be leaked", where=parent, why=last[0])


def _order(tree: CgroupTree, parent: str, first: int, count: int, volume: Path) -> dict[str, object]:
    """What the child has to know. It goes home to the memory cgroup that it was born in, which is ours."""
    return {
        "nursery": f"{tree.memory_directory(parent)}/{_NURSERY}",
        "home": f"{tree.memory_directory(tree.memory_path(os.getpid()))}/cgroup.procs",
        "first": first,
        "count": count,
        "volume": str(volume),
        "pods_per_volume": PODS_PER_VOLUME,
    }


def unleak(volume: Path) -> None:
    """Delete what pins the leaked cgroups; the kernel then frees them within a second. Already gone is fine."""
    for folder in _volumes(volume):
        shutil.rmtree(folder, ignore_errors=True)


def leaked(volume: Path) -> int:
    """How many cgroups the volume's files pin: one file each."""
    return sum(len(os.listdir(folder)) for folder in _volumes(volume))


def _volumes(volume: Path) -> Iterator[Path]:
    return (Path(entry) for entry in os.scandir(volume) if entry.is_dir(follow_symlinks=False))
