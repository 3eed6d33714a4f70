"""The folder in which a private engine keeps its images from one run to the next, and nothing else.

A container that an engine finds there when it starts, it may start again: on the network of a run that is no more,
with no fence. So everything but images goes before an engine starts.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from chaoslat.errors import Busy, EnvironmentMissing
from chaoslat.ledger.undo_engine import LOCK, unmount_below
from chaoslat.parts.disk import filesystem_of

_KEPT = ("image", "overlay2", LOCK)
_UNFIT = ("overlay", "tmpfs", "ramfs", "nfs", "nfs4", "fuse", "9p", "virtiofs")


@contextlib.contextmanager
def locked(data: Path) -> Iterator[int]:
    """Make the folder if need be, and hold its lock. The descriptor is inheritable: an engine that inherits it
    holds the lock for as long as it lives. Raises Busy when another engine does, EnvironmentMissing on an unfit disk.
    """
    data.mkdir(mode=0o711, parents=True, exist_ok=True)
    _refuse_unfit(data)
    fd = os.open(data / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise _busy(data) from error
        yield fd
    finally:
        os.close(fd)


def keep_only_images(data: Path) -> None:
    """Remove containers, volumes and networks of an engine that was killed. Call it with the lock held."""
    unmount_below(data)
    for path in data.iterdir():
        if path.name not in _KEPT:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    mounts = data / "image/overlay2/layerdb/mounts"
    for container in mounts.iterdir() if mounts.is_dir() else ():
        for name in ("mount-id", "init-id"):
            _remove_layer(data / "overlay2", container / name)
        shutil.rmtree(container)


def _remove_layer(layers: Path, named_in: Path) -> None:
    """Remove the writable layer whose id a file holds, and the short link to it."""
    if not named_in.exists():
        return
    layer = layers / named_in.read_text().strip()
    if layer.parent != layers or not layer.is_dir():
        return
    short = layer / "link"
    if short.exists():
        (layers / "l" / short.read_text().strip()).unlink(missing_ok=True)
    shutil.rmtree(layer)


def _refuse_unfit(data: Path) -> None:
    kind = filesystem_of(data)
    if kind in _UNFIT:
        raise EnvironmentMissing(
            "A container engine cannot keep its images there",
            where=f"{data} ({kind})",
            why="they are stored by overlayfs, which does not work on top of this",
            fix="name a folder on a disk: CHAOSLAT_CACHE=/path",
        )


def _busy(data: Path) -> Busy:
    return Busy(
        "A private container engine runs already",
        where=str(data),
        why="one at a time can use its images",
        fix="chaoslat status; chaoslat down RUN, or chaoslat heal",
    )
