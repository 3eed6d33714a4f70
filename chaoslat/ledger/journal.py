"""An append-only file of JSON lines that several processes may write and a kill may cut off at any byte."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Line = dict[str, Any]


class Journal:
    """Lines are written whole or not at all; the torn last line of a writer that was killed counts for nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Line]:
        """All whole lines. Raises OSError, and ValueError when a whole line is not a JSON object."""
        return _parse(self.path.read_bytes())

    def append(self, build: Callable[[list[Line]], Line], *, sync: bool) -> Line:
        """Add the line that `build` makes of the lines so far. With `sync` it is on the disk when this returns.

        Raises OSError when it cannot be written; the file is then as it was.
        """
        with _locked(self.path) as fd:
            whole = _read_fd(fd)
            line = build(_parse(whole))
            end = whole.rfind(b"\n") + 1
            _write_at(fd, end, json.dumps(line, separators=(",", ":")).encode() + b"\n")
            if sync:
                os.fsync(fd)
                sync_folder(self.path.parent)
        return line


def sync_folder(folder: Path) -> None:
    """Bring a folder's list of names to the disk."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _parse(content: bytes) -> list[Line]:
    whole = content[: content.rfind(b"\n") + 1]
    lines = [json.loads(line) for line in whole.splitlines() if line.strip()]
    if not all(isinstance(line, dict) for line in lines):
        raise ValueError("a line of the ledger is not an object")
    return lines


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)  # closing the descriptor gives it back
        yield fd
    finally:
        os.close(fd)


def _read_fd(fd: int) -> bytes:
    with os.fdopen(os.dup(fd), "rb") as file:
        return file.read()


def _write_at(fd: int, offset: int, content: bytes) -> None:
    """Write `content` as the end of the file. What was torn behind `offset` goes; so does our own half, if it fails."""
    try:
        os.ftruncate(fd, offset)
        done = 0
        while done < len(content):
            done += os.pwrite(fd, content[done:], offset + done)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(fd, offset)
        raise
