"""Memory-backed pod volumes on the node, and whether the pod that owns each still lives."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from chaoslat.model import Volume

BYTES_PER_BLOCK = 512  # of st_blocks, whatever the file system's own block is


def volumes(root: Path, owner_alive: Callable[[str], bool]) -> tuple[Volume, ...]:
    """The volumes below the tmpfs mount `root`: a folder per pod, named after it; `owner_alive` takes that name.

    By hand: `findmnt -t tmpfs`, `du -s` and `find -type f | wc -l` in each pod's folder (kubelet's are
    pods/UID/volumes), and a look whether a cgroup of that pod exists.
    """
    return tuple(_volume(folder, owner_alive(folder.name)) for folder in _folders(root))


def _folders(root: Path) -> list[Path]:
    try:
        return sorted(entry for entry in root.iterdir() if entry.is_dir())
    except OSError:  # not mounted, or gone while it was read
        return []


def _volume(folder: Path, alive: bool) -> Volume:
    sizes = list(_used_bytes(folder))
    return Volume(str(folder), len(sizes), sum(sizes), alive)


def _used_bytes(folder: Path) -> Iterator[int]:
    """Of each file below `folder`: allocated bytes, so that a sparse file counts what it holds."""
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                yield os.lstat(os.path.join(where, name)).st_blocks * BYTES_PER_BLOCK
            except OSError:
                continue
