"""Directories in the cache that are either whole or not there."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from chaoslat.errors import Busy
from chaoslat.parts.base import Progress

WAIT_S = 900.0
_POLL_S = 0.1


def key(*inputs: str | bytes) -> str:
    """Twelve hex digits that change with any of the inputs (and with where one ends and the next begins)."""
    digest = hashlib.sha256()
    for item in inputs:
        raw = item.encode() if isinstance(item, str) else item
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.hexdigest()[:12]


def build_once(
    final: Path, build: Callable[[Path], None], progress: Progress, *, wait_s: float = WAIT_S
) -> Path:
    """Make the directory `final` by `build(scratch)` and a rename, unless it is there.

    Two callers at once build it once: the second waits for up to `wait_s`. A build that is killed leaves only
    a scratch directory, which the next build removes. Raises Busy when the other one takes too long, and
    whatever `build` raises.
    """
    final.parent.mkdir(parents=True, exist_ok=True)
    with locked(final.parent / f".{final.name}.lock", progress, wait_s=wait_s):
        if not final.exists():
            _build(final, build)
    return final


@contextmanager
def locked(path: Path, progress: Progress, *, wait_s: float = WAIT_S) -> Iterator[None]:
    """Hold an exclusive lock; the kernel lets go of it when the holder dies. Raises Busy after `wait_s`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        _acquire(handle, path, progress, wait_s)
        yield


def keep_newest(folder: Path, pattern: str, count: int) -> None:
    """Delete all but the `count` newest whole directories that match; builds under way are left alone."""
    whole = [path for path in folder.glob(pattern) if path.is_dir() and ".part-" not in path.name]
    for old in sorted(whole, key=lambda path: path.stat().st_mtime, reverse=True)[count:]:
        shutil.rmtree(old)


def _build(final: Path, build: Callable[[Path], None]) -> None:
    for leftover in final.parent.glob(f"{final.name}.part-*"):
        shutil.rmtree(leftover)
    scratch = Path(tempfile.mkdtemp(prefix=f"{final.name}.part-", dir=final.parent))
    try:
        build(scratch)
        scratch.chmod(0o755)
        scratch.rename(final)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def _acquire(handle: TextIO, path: Path, progress: Progress, wait_s: float) -> None:
    if _try_lock(handle):
        return
    progress(f"waiting for another install ({path.name})")
    deadline_s = time.monotonic() + wait_s
    while not _try_lock(handle):
        if time.monotonic() > deadline_s:
            raise Busy(
                "Another install is still running",
                where=str(path),
                why=f"its lock was not released within {wait_s:.0f} s",
                fix="wait for it, or stop it, and run the command again",
            )
        time.sleep(_POLL_S)


def _try_lock(handle: TextIO) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
