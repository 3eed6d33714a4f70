"""One timing run per machine: two would disturb each other's latencies, so the second is refused.

The lock is a `flock` on one file, which the kernel gives back when its holder dies, however it dies. It belongs to
who measures. A kept system holds no lock, so that its keeper may come and go, but its owner.json counts like one:
while a run is kept, only work on that very run gets the lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from chaoslat.errors import Busy, ChaoslatError
from chaoslat.ledger.heal import run_ids
from chaoslat.ledger.owner import read_owner
from chaoslat.ledger.state import run_folder, runs_root

WHY = "two timing runs on one machine disturb each other's latencies, so the second is refused"


@contextlib.contextmanager
def machine_lock(run_id: str, purpose: str) -> Iterator[None]:
    """Hold the machine for a timing run. Raises Busy, which says who has it and what to do."""
    fd = _open(runs_root() / "machine.lock")
    try:
        _take(fd)
        _refuse_kept(run_id)
        _say(fd, run_id, purpose)
        yield
        os.ftruncate(fd, 0)
    finally:
        os.close(fd)


def _open(path: Path) -> int:
    """The descriptor is closed on exec, so no program that we start holds the lock after us."""
    try:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        why = error.strerror or str(error)
        raise ChaoslatError("The machine's lock cannot be opened", where=str(path), why=why) from error


def _take(fd: int) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        who = _holder(os.pread(fd, 4096, 0))
        raise _busy(who, "wait until it has ended; `chaoslat status` shows what runs") from error


def _holder(said: bytes) -> str:
    try:
        who = json.loads(said)
        return f"run {who['run']}, process {who['pid']}, since {who['since']}: {who['purpose']}"
    except (ValueError, KeyError, TypeError):
        return "a run that has only just begun"


def _refuse_kept(run_id: str) -> None:
    for other in run_ids():
        owner = read_owner(run_folder(other))
        if other != run_id and owner is not None and owner.kept and owner.holds:
            raise _busy(f"run {other}, {owner.describe()}", f"chaoslat down {other}")


def _busy(who: str, fix: str) -> Busy:
    return Busy("This machine is in use by another run", where=who, why=WHY, fix=fix)


def _say(fd: int, run_id: str, purpose: str) -> None:
    since = datetime.now(UTC).isoformat(timespec="seconds")
    said = {"run": run_id, "pid": os.getpid(), "since": since, "purpose": purpose}
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps(said).encode(), 0)
    except OSError as error:
        why = error.strerror or str(error)
        raise ChaoslatError(
            "The machine's lock cannot be written", where=str(runs_root()), why=why
        ) from error
