"""Undo on disk before a change: one promise per thing that is changed, with the value before the first change."""

from __future__ import annotations

import threading
from typing import Protocol

from chaoslat.ledger import Entry, JsonValue, Ledger


class Undo(Protocol):
    """Does what an entry of the ledger says (chaoslat.ledger.undo)."""

    def __call__(self, entry: Entry) -> None: ...


class Promises:
    """The promises of one hand, an operator's or a saboteur's; `by` tells them apart in the ledger.

    A promise outlives this object: another process that attaches to the run finds it in the ledger.
    """

    def __init__(self, ledger: Ledger, by: str, undo: Undo) -> None:
        self._ledger, self._by, self._undo = ledger, by, undo
        self._lock = threading.Lock()

    def keep(self, target: str, kind: str, **args: JsonValue) -> None:
        """Promise the undo of a change to `target`, on disk when this returns; a promise that exists stays."""
        with self._lock:
            if self._of(target) is None:
                self._ledger.promise(kind, **args, note={"by": self._by, "target": target})

    def kept(self, target: str) -> bool:
        """Whether the undo of a change to `target` is promised."""
        with self._lock:
            return self._of(target) is not None

    def argument(self, target: str, name: str) -> JsonValue:
        """An argument of the promise of `target`; None when there is no such promise."""
        with self._lock:
            entry = self._of(target)
            return None if entry is None else entry.args.get(name)

    def fulfil(self, target: str) -> bool:
        """Undo the change to `target`, if one is promised. False: there was nothing to undo."""
        with self._lock:
            entry = self._of(target)
            if entry is not None:
                self._run(entry)
            return entry is not None

    def fulfil_all(self) -> None:
        """Undo all that is promised, the newest first."""
        with self._lock:
            for entry in self._mine():
                self._run(entry)

    def release(self, target: str) -> None:
        """The change to `target` was taken back by hand: nothing is left to undo."""
        with self._lock:
            entry = self._of(target)
            if entry is not None:
                self._ledger.settle(entry.number)

    def _run(self, entry: Entry) -> None:
        self._undo(entry)
        self._ledger.settle(entry.number)

    def _of(self, target: str) -> Entry | None:
        return next((entry for entry in self._mine() if _note(entry)["target"] == target), None)

    def _mine(self) -> list[Entry]:
        return [entry for entry in self._ledger.pending() if _note(entry).get("by") == self._by]


def _note(entry: Entry) -> dict[str, JsonValue]:
    note = entry.args.get("note")
    return note if isinstance(note, dict) else {}
