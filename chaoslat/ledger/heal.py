"""Replaying a ledger: what a run promised to undo and did not get round to is undone."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from chaoslat.errors import ChaoslatError
from chaoslat.ledger.ledger import Entry, Ledger
from chaoslat.ledger.owner import read_owner
from chaoslat.ledger.state import run_folder, runs_root
from chaoslat.ledger.undo import UNDO, Undo, undo


@dataclass(frozen=True, slots=True)
class Failure:
    """An entry that could not be undone; it stays in the ledger."""

    kind: str
    why: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.why}"


@dataclass(frozen=True, slots=True)
class HealReport:
    """What was undone of one run and what was not; or, in `skipped`, who still holds a run that was left alone."""

    run_id: str
    undone: tuple[str, ...] = ()
    failed: tuple[Failure, ...] = ()
    skipped: str = ""


def heal(run_id: str, kinds: Mapping[str, Undo] = UNDO) -> HealReport:
    """Undo all that a run has pending, the newest first, and close it. Whoever owns it: the caller has decided.

    Goes on after a failure; what failed stays in the ledger, and so does the run. A run that is not there is
    healed. Two healers of one run take turns. Raises ChaoslatError when the ledger cannot be read.
    """
    folder = run_folder(run_id)
    with _turn(folder):
        if not (folder / "ledger.jsonl").exists():
            return HealReport(run_id)
        ledger = Ledger.open(run_id)
        results = [(entry, _undone(ledger, entry, kinds)) for entry in ledger.pending()]
        report = HealReport(
            run_id,
            tuple(entry.kind for entry, why in results if why is None),
            tuple(Failure(entry.kind, why) for entry, why in results if why is not None),
        )
        if not report.failed:
            ledger.close_run()
        return report


def heal_all(include_alive: bool = False, kinds: Mapping[str, Undo] = UNDO) -> list[HealReport]:
    """Heal every run that nobody holds any more; one that is held is named and skipped."""
    return [_heal_or_skip(run_id, include_alive, kinds) for run_id in run_ids()]


def run_ids() -> list[str]:
    """The runs that have a ledger on this machine."""
    root = runs_root()
    return sorted(path.parent.name for path in root.glob("*/ledger.jsonl")) if root.is_dir() else []


def _heal_or_skip(run_id: str, include_alive: bool, kinds: Mapping[str, Undo]) -> HealReport:
    owner = read_owner(run_folder(run_id))
    if owner is not None and owner.holds and not include_alive:
        return HealReport(run_id, skipped=owner.describe())
    try:
        return heal(run_id, kinds)
    except ChaoslatError as error:  # one bad ledger must not keep the others from being healed
        return HealReport(run_id, failed=(Failure("ledger", str(error)),))


def _undone(ledger: Ledger, entry: Entry, kinds: Mapping[str, Undo]) -> str | None:
    """None, or why not."""
    try:
        undo(entry, kinds)
    except ChaoslatError as error:
        return str(error)
    with contextlib.suppress(
        ChaoslatError
    ):  # a full disk: it is undone all the same, and undoing twice is harmless
        ledger.settle(entry.number)
    return None


@contextlib.contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Wait until no other process heals this run. The folder itself is the lock: it goes with the run."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        yield
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
