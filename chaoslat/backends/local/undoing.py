"""The end of a run: everything that its ledger promised to undo is undone."""

from __future__ import annotations

from chaoslat.backends.local.parts import Children
from chaoslat.errors import ChaoslatError
from chaoslat.ledger import Ledger
from chaoslat.ledger.undo import undo


def undo_run(ledger: Ledger, children: Children) -> None:
    """Undo all, newest first, and forget the run; a second time does nothing.

    Goes on after a failure, and raises ChaoslatError with all of them in the end: the ledger still has those.
    """
    if not ledger.folder.exists():
        return
    failures: list[str] = []
    for entry in ledger.pending():
        try:
            undo(entry)
            ledger.settle(entry.number)
        except ChaoslatError as error:
            failures.append(str(error))
    children.collect()
    if failures:
        raise ChaoslatError(
            f"{len(failures)} parts of run {ledger.run_id} could not be removed",
            why="\n".join(failures),
            fix=f"chaoslat heal {ledger.run_id}",
        )
    ledger.close_run()
