"""Copy a data directory quickly, and leave the page cache as if it had never been read."""

from __future__ import annotations

import os
from pathlib import Path

from chaoslat.errors import EnvironmentMissing
from chaoslat.parts.run import run

_IN_MEMORY = ("tmpfs", "ramfs")
_FULL = "free some space there, or choose another directory with TMPDIR"


def copy_tree(source: Path, into: Path, *, owner: tuple[int, int]) -> None:
    """Copy the contents of `source` into the new directory `into`, owned by (uid, gid).

    Shares blocks where the file system can, keeps holes. The copy is written out and dropped from the page
    cache: cached pages are charged to the cgroup that read them first, and that must be the server, not the
    copier. Raises EnvironmentMissing when `into` is in memory or the disk is full.
    """
    refuse_memory(into.parent)
    run(["cp", "-a", "--reflink=auto", "--sparse=auto", "-T", source, into], fix=_FULL)
    for folder, _, files in os.walk(into):
        _give(folder, owner)
        for name in files:
            path = os.path.join(folder, name)
            _give(path, owner)
            _drop_cache(path)


def disk_folder() -> Path:
    """Where big files of a run go: $TMPDIR, else /var/tmp, which is on a disk where /tmp may be in memory."""
    return Path(os.environ.get("TMPDIR") or "/var/tmp")


def refuse_memory(folder: Path) -> None:
    """Raise EnvironmentMissing when `folder` is on a file system in memory: its reads never miss."""
    kind = filesystem_of(folder)
    if kind in _IN_MEMORY:
        raise EnvironmentMissing(
            "The database's files cannot be in memory",
            where=f"{folder} ({kind})",
            why="the page cache has to be able to miss, as on a real node",
            fix="choose a directory on a disk with TMPDIR",
        )


def filesystem_of(path: Path, mountinfo: Path = Path("/proc/self/mountinfo")) -> str:
    """Type of the file system that `path` is on, "" when it is not listed; proc_pid_mountinfo(5)."""
    device = os.stat(path).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in mountinfo.read_text().splitlines():
        fields = line.split()
        if fields[2] == wanted:
            return fields[fields.index("-") + 1]
    return ""


def _give(path: str, owner: tuple[int, int]) -> None:
    if os.geteuid() == 0:
        os.chown(path, *owner)


def _drop_cache(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)  # dirty pages cannot be dropped
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(handle)
