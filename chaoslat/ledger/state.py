"""Where runs keep their state."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def runs_root() -> Path:
    """The folder with one folder per run.

    $CHAOSLAT_STATE, else /run/chaoslat for root: a tmpfs on nearly every machine, which a reboot empties together
    with the cgroups, namespaces and processes that it describes. Unprivileged: $XDG_RUNTIME_DIR/chaoslat, else a
    folder of the user's own among the temporary files.
    """
    named = os.environ.get("CHAOSLAT_STATE")
    if named:
        return Path(named).absolute()
    return Path("/run/chaoslat") if os.geteuid() == 0 else _unprivileged_root()


def _unprivileged_root() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return (
        Path(runtime) / "chaoslat" if runtime else Path(tempfile.gettempdir()) / f"chaoslat-of-{os.geteuid()}"
    )


def run_folder(run_id: str) -> Path:
    """The folder of one run; it exists from `Ledger.create` to `Ledger.close_run`."""
    return runs_root() / run_id


def made_mark(run_id: str) -> Path:
    """An empty file that says that this run was made here: it survives the loss of the run's folder."""
    return runs_root() / "made" / run_id


def healed_log(run_id: str) -> Path:
    """Where the reaper leaves its log after it has undone a run."""
    return runs_root() / "healed" / f"{run_id}.log"
