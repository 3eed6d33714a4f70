"""The ledger: what has to be undone, on disk before it is done. One append-only file of JSON lines per run."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from chaoslat.errors import ChaoslatError, UsageError
from chaoslat.ledger.journal import Journal, Line, sync_folder
from chaoslat.ledger.names import check_run_id
from chaoslat.ledger.owner import Owner, write_owner
from chaoslat.ledger.state import made_mark, run_folder, runs_root

JsonValue = str | int | float | bool | None | list["JsonValue"] | dict[str, "JsonValue"]
"""What an entry's arguments may be."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One promise: the kind of its undo, and what the undo has to know."""

    number: int
    kind: str
    args: Mapping[str, JsonValue] = field(default_factory=dict)
    run_id: str = ""  # whose: an undo refuses what does not carry this id


class Ledger:
    """The undo of one run. Threads and other processes (one that attaches to a kept system) may write to it as well."""

    def __init__(self, run_id: str, folder: Path) -> None:
        self.run_id, self.folder = run_id, folder
        self._journal = Journal(folder / "ledger.jsonl")

    @classmethod
    def create(cls, run_id: str) -> Ledger:
        """Make the run's folder and its ledger, owned by this process.

        Raises UsageError when the run exists, ChaoslatError when the folder cannot be made.
        """
        folder = run_folder(check_run_id(run_id))
        try:
            _make(run_id, folder)
        except FileExistsError as error:
            fix = f"chaoslat down {run_id}"
            raise UsageError(f"Run {run_id} exists already", where=str(folder), fix=fix) from error
        except OSError as error:
            raise _cannot_write(folder, error) from error
        return cls(run_id, folder)

    @classmethod
    def open(cls, run_id: str) -> Ledger:
        """The ledger of a run that exists. Raises UsageError when there is none."""
        folder = run_folder(check_run_id(run_id))
        if not (folder / "ledger.jsonl").exists():
            raise UsageError(f"There is no run {run_id}", where=str(folder), fix="chaoslat status")
        return cls(run_id, folder)

    def promise(self, kind: str, **args: JsonValue) -> int:
        """Write down an undo and return its number; it is on the disk by then.

        Raises ChaoslatError when it cannot be written (a full disk): nothing may be injected then.
        """
        line = self._append(
            lambda lines: {"entry": _next_number(lines), "kind": kind, "args": args}, sync=True
        )
        return int(line["entry"])

    def settle(self, entry: int) -> None:
        """The undo of this entry was done. Not synced: an undo that is done twice does no harm."""
        self._append(lambda _: {"settled": entry}, sync=False)

    def pending(self) -> list[Entry]:
        """What is still to be undone, newest first. Raises ChaoslatError when the file was tampered with."""
        lines = self._read()
        try:
            settled = {int(line["settled"]) for line in lines if "settled" in line}
            return [entry for entry in reversed(_promised(lines, self.run_id)) if entry.number not in settled]
        except (ValueError, TypeError, KeyError) as error:
            raise _unreadable(self._journal.path, error) from error

    def close_run(self) -> None:
        """Remove the run's folder. May be called twice. Raises ChaoslatError when something is still to be undone."""
        if not self.folder.exists():
            return
        left = len(self.pending())
        if left:
            raise ChaoslatError(
                f"Run {self.run_id} is not closed: {left} of its changes were not undone",
                where=str(self._journal.path),
                fix=f"chaoslat heal {self.run_id}",
            )
        _remove(self.run_id, self.folder)

    def _read(self) -> list[Line]:
        try:
            return self._journal.read()
        except (OSError, ValueError) as error:
            raise _unreadable(self._journal.path, error) from error

    def _append(self, build: Callable[[list[Line]], Line], *, sync: bool) -> Line:
        try:
            return self._journal.append(build, sync=sync)
        except OSError as error:
            raise _cannot_write(self._journal.path, error) from error
        except ValueError as error:
            raise _unreadable(self._journal.path, error) from error


def _make(run_id: str, folder: Path) -> None:
    """Beside its place, then put there in one step: nobody ever sees half a run. Raises FileExistsError."""
    if folder.exists():
        raise FileExistsError(folder)
    fresh = _aside(f"{run_id}.{os.getpid()}.new")
    fresh.mkdir(mode=0o755)
    try:
        write_owner(fresh, Owner.here())
        (fresh / "ledger.jsonl").touch(mode=0o600)
        sync_folder(fresh)
        made_mark(run_id).parent.mkdir(mode=0o755, exist_ok=True)
        made_mark(run_id).touch()
        fresh.rename(folder)
        sync_folder(folder.parent)
    except OSError:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def _remove(run_id: str, folder: Path) -> None:
    """Out of its place in one step, then away: whoever is killed here leaves a run that is closed."""
    parting = _aside(f"{run_id}.{os.getpid()}.gone")
    with contextlib.suppress(FileNotFoundError):  # another healer was quicker
        folder.rename(parting)
    made_mark(run_id).unlink(missing_ok=True)
    for gone in parting.parent.glob("*.gone"):
        shutil.rmtree(gone, ignore_errors=True)


def _aside(name: str) -> Path:
    """A place on the same file system that no one takes for a run."""
    path = runs_root() / "aside" / name
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    return path


def _next_number(lines: list[Line]) -> int:
    return 1 + max((entry.number for entry in _promised(lines)), default=0)


def _promised(lines: list[Line], run_id: str = "") -> list[Entry]:
    promised = (line for line in lines if "entry" in line)
    return [Entry(int(line["entry"]), str(line["kind"]), line.get("args", {}), run_id) for line in promised]


def _cannot_write(path: Path, error: OSError) -> ChaoslatError:
    return ChaoslatError(
        "The undo cannot be written down, so nothing was changed",
        where=str(path),
        why=error.strerror or str(error),
        fix="make room there, or set CHAOSLAT_STATE to a folder that can be written",
    )


def _unreadable(path: Path, error: Exception) -> ChaoslatError:
    return ChaoslatError("The ledger of a run cannot be read", where=str(path), why=str(error))
