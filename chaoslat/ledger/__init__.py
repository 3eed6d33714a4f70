"""Undo on disk before an injection; a reaper that outlives the run; heal by hand; one timing run per machine."""

from chaoslat.ledger.ledger import Entry, JsonValue, Ledger
from chaoslat.ledger.names import link_name, new_run_id, scoped
from chaoslat.ledger.owner import Owner, keep
from chaoslat.ledger.state import run_folder, runs_root

__all__ = [
    "Entry",
    "JsonValue",
    "Ledger",
    "Owner",
    "keep",
    "link_name",
    "new_run_id",
    "run_folder",
    "runs_root",
    "scoped",
]
