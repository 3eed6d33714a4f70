"""Who may use the machine, and who cleans up: the lock, the ledger and the reaper of a session's runs."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Protocol

from chaoslat.errors import ChaoslatError


class Custody(Protocol):
    """What a session needs from the machine besides a system. `MachineCustody` is the real one."""

    def enter(self, purpose: str) -> None:
        """Take the machine for timing. Raises Busy when another run has it. May be called again."""

    def open_run(self) -> str:
        """A new run's id, with a ledger on disk and a reaper that outlives this process."""

    def watched(self, run_id: str) -> bool:
        """Whether the run's reaper is alive; where it is not, another is started. Raises ChaoslatError."""

    def heal(self, run_id: str) -> None:
        """Undo whatever the run has still to undo, and remove its traces. Raises ChaoslatError when it cannot."""

    def keep(self, run_id: str, lease_s: float, backend: str) -> None:
        """Let the run stay for that long after this process has gone."""

    def leave(self) -> None:
        """Give the machine back. May be called twice."""


class MachineCustody:
    """The real lock, ledger and reaper."""

    def __init__(self) -> None:
        self._held = ExitStack()
        self._entered = False
        self._first = ""  # the run that the lock names, before it is opened
        self._reapers: dict[str, tuple[int, int | None]] = {}  # run -> pid and start of its reaper

    def enter(self, purpose: str) -> None:
        from chaoslat.ledger import new_run_id
        from chaoslat.ledger.lock import machine_lock

        if not self._entered:
            self._first = new_run_id()
            self._held.enter_context(machine_lock(self._first, purpose))
            self._entered = True

    def open_run(self) -> str:
        from chaoslat.ledger import Ledger, new_run_id

        ledger = Ledger.create(self._first or new_run_id())
        self._first = ""
        self._spawn(ledger.run_id)
        return ledger.run_id

    def watched(self, run_id: str) -> bool:
        from chaoslat.ledger.owner import start_ticks

        pid, started = self._reapers[run_id]
        if start_ticks(pid) == started:
            return True
        self._spawn(run_id)
        return False

    def _spawn(self, run_id: str) -> None:
        from chaoslat.ledger.owner import start_ticks
        from chaoslat.ledger.reaper import spawn

        pid = spawn(run_id, None)
        self._reapers[run_id] = (pid, start_ticks(pid))

    def heal(self, run_id: str) -> None:
        from chaoslat.ledger.heal import heal

        report = heal(run_id)
        if report.failed:
            raise ChaoslatError(
                f"Run {run_id} was not undone completely",
                where="; ".join(str(failure) for failure in report.failed),
                fix=f"chaoslat heal {run_id}",
            )

    def keep(self, run_id: str, lease_s: float, backend: str) -> None:
        from chaoslat.ledger import keep
        from chaoslat.runs import note_kept

        note_kept(run_id, backend, None)
        keep(run_id, lease_s)

    def leave(self) -> None:
        self._entered = False
        self._held.close()
