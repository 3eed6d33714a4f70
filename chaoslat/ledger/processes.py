"""Killing processes without ever meeting another that got the same number."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from chaoslat.ledger.owner import start_ticks

DEADLINE_S = 8.0
PAUSE_S = 0.02


def kill(pid: int, ticks: int) -> None:
    """SIGKILL a process and wait until it is gone; nothing happens when it is gone or its number was reused.

    Raises TimeoutError when it does not die within `DEADLINE_S`.
    """
    handle = _open(pid)
    if handle is None:
        return
    try:
        # Looked at after the handle was opened: from here on the handle means this process and no other.
        if start_ticks(pid) == ticks:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            _wait(handle, pid)
    except ProcessLookupError:
        return
    finally:
        os.close(handle)


def _open(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None


def _wait(handle: int, pid: int) -> None:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    if not poll.poll(DEADLINE_S * 1000):
        raise TimeoutError(f"process {pid} did not die")


def empty_and_remove(directory: Path) -> None:
    """Kill everything inside a cgroup and below it, then remove it, deepest first. Already gone is fine.

    Raises TimeoutError when something is left after `DEADLINE_S`.
    """
    end_s = time.monotonic() + DEADLINE_S
    while directory.exists():
        for pid in _inside(directory):
            _kill_inside(pid, directory)
        _remove_empty(directory)
        if time.monotonic() > end_s:
            raise TimeoutError(f"{directory} is not empty")
        time.sleep(PAUSE_S)


def _inside(directory: Path) -> Iterator[int]:
    for folder, _, _ in os.walk(directory):
        try:
            yield from map(int, Path(folder, "cgroup.procs").read_text().split())
        except OSError:  # removed meanwhile
            continue


def _kill_inside(pid: int, directory: Path) -> None:
    """Through a handle, and only while /proc says that it is in a cgroup of this name."""
    handle = _open(pid)
    if handle is None:
        return
    try:
        if f"/{directory.name}" in Path(f"/proc/{pid}/cgroup").read_text():
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):
        return
    finally:
        os.close(handle)


def _remove_empty(directory: Path) -> None:
    for folder, _, _ in os.walk(directory, topdown=False):
        try:
            os.rmdir(folder)
        except OSError:  # a killed process may take a moment to leave
            continue
