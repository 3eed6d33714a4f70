"""A marker in each folder that a run makes outside its own, so that a lost one can be told from a stranger's."""

from __future__ import annotations

import json
import os
from pathlib import Path

from chaoslat.ledger.names import check_run_id
from chaoslat.ledger.state import runs_root

MARKER = ".chaoslat-run"


def mark_tree(path: str | os.PathLike[str], run_id: str) -> None:
    """Mark a folder as made by a run: call it right after the folder was made. Raises OSError."""
    content = {"run": check_run_id(run_id), "state": str(runs_root())}
    Path(path, MARKER).write_text(json.dumps(content) + "\n")


def is_lost(path: Path, run_id: str) -> bool:
    """The folder carries this run's marker, and the run is no more where it kept its state."""
    try:
        content = json.loads((path / MARKER).read_text())
        return content["run"] == run_id and not Path(content["state"], run_id).exists()
    except (OSError, ValueError, KeyError, TypeError):
        return False
