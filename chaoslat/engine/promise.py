"""What a caller has to give: a way to write an undo down before the change, as `Ledger.promise` does."""

from __future__ import annotations

from typing import Protocol

from chaoslat.ledger import JsonValue


class Promise(Protocol):
    """Writes down how a change is undone, so that it is on the disk when it returns. Raises ChaoslatError."""

    def __call__(self, kind: str, **args: JsonValue) -> int: ...
