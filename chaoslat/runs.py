"""The runs on this machine: who owns each, and whether it is still wanted."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from chaoslat.backends.base import System
from chaoslat.errors import UsageError
from chaoslat.ledger import run_folder, runs_root
from chaoslat.ledger.owner import Owner, boot_s, read_owner, start_ticks

_KEPT = "kept.json"


@dataclass(frozen=True, slots=True)
class Run:
    """One run. `wanted`: its process lives, or it is kept and its time is not over."""

    run_id: str
    owner: str
    wanted: bool
    kept: bool
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class KeptNote:
    """What is known of a kept system besides its owner: its backend, and the process that gives it load, if any.

    The process is told from a later one of the same number by its start time.
    """

    backend: str
    pid: int = 0
    start_ticks: int = -1

    @property
    def keeper_alive(self) -> bool:
        return self.pid > 0 and start_ticks(self.pid) == self.start_ticks


class AttachedSystem(System, Protocol):
    """A system that another process made."""

    async def close(self) -> None:
        """Drop what this process holds open; the system stays."""


@runtime_checkable
class Attaching(Protocol):
    """A backend whose systems can be used from a process that did not make them."""

    @property
    def name(self) -> str: ...
    def attach(self, run_id: str) -> AttachedSystem: ...


def known_runs() -> list[Run]:
    """All runs that have a folder, newest last."""
    root = runs_root()
    folders = [path.parent for path in root.glob("*/owner.json")] if root.is_dir() else []
    return [_run(folder) for folder in sorted(folders, key=lambda folder: folder.stat().st_ctime)]


def _run(folder: Path) -> Run:
    owner = read_owner(folder)
    if owner is None:
        return Run(folder.name, "owner unknown", wanted=False, kept=False, seconds_left=None)
    gone = "" if owner.holds else ", gone"
    return Run(folder.name, owner.describe() + gone, owner.holds, owner.kept, _seconds_left(owner))


def _seconds_left(owner: Owner) -> float | None:
    return None if owner.expires_boot_s is None else max(0.0, owner.expires_boot_s - boot_s())


def kept_run(run_id: str | None) -> str:
    """The id of the kept run that is meant: the given one, or the only one. Raises UsageError."""
    runs = known_runs()
    if run_id is not None:
        if run_id not in {run.run_id for run in runs}:
            raise UsageError(f"There is no run {run_id}", fix="`chaoslat status` shows those that there are")
        return run_id
    kept = [run.run_id for run in runs if run.kept]
    if not kept:
        raise UsageError("No system is up", fix="chaoslat up")
    if len(kept) > 1:
        raise UsageError("More than one system is up", fix=f"name one of {', '.join(kept)}")
    return kept[0]


def note_kept(run_id: str, backend: str, keeper_pid: int | None) -> None:
    """Note what keeps this run."""
    ticks = start_ticks(keeper_pid) if keeper_pid else None
    note = KeptNote(backend, keeper_pid or 0, -1 if ticks is None else ticks)
    (run_folder(run_id) / _KEPT).write_text(json.dumps(asdict(note)) + "\n")


def read_kept(run_id: str) -> KeptNote | None:
    """The note; None when there is none."""
    try:
        return KeptNote(**json.loads((run_folder(run_id) / _KEPT).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def attach(run_id: str) -> AttachedSystem:
    """The kept system, for use from this process. Raises UsageError when it cannot be attached to."""
    from chaoslat import backends

    note = read_kept(run_id)
    backend = backends.get(note.backend if note else "local")
    if not isinstance(backend, Attaching):
        raise UsageError(f"Backend {backend.name} cannot attach to a system that is up")
    return backend.attach(run_id)
