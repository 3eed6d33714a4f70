"""`chaoslat replay`: diagnose and judge recordings again, without a system."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from chaoslat.cli import app as frame
from chaoslat.cli import exits
from chaoslat.cli.output import print_result, progress, width
from chaoslat.errors import UsageError
from chaoslat.report.rows import Row, score
from chaoslat.report.terminal import explain, table

Folders = Annotated[
    list[Path],
    typer.Argument(metavar="FOLDER...", help="Recordings of trials, or a run's folder with several."),
]


@frame.command(frame.app, "replay")
def replay(folders: Folders, runbook: frame.Runbook = None, as_json: frame.Json = False) -> int:
    """Diagnose and judge recorded trials again. Needs no system and no privileges, and changes nothing."""
    from chaoslat import replay as again

    recordings = expand(folders)
    verdicts = []
    with progress() as show:
        for folder in recordings:
            show(f"replaying {folder}")
            verdicts.append(asyncio.run(again.replay(folder, runbook)))
    rows = [Row.of(verdict) for verdict in verdicts]
    text = "\n\n".join([*(explain(verdict) for verdict in verdicts), table(rows, width=width()), score(rows)])
    data = {
        "score": score(rows),
        "trials": [row.to_json() | {"good": row.good} for row in rows],
        "verdicts": verdicts,
    }
    print_result(data, text, as_json=as_json)
    return exits.of_verdicts(verdicts)


def expand(folders: Sequence[Path]) -> list[Path]:
    """The recordings in these folders, in order. Raises UsageError for a folder that holds none."""
    found = [recording for folder in folders for recording in _recordings(folder)]
    return list(dict.fromkeys(found))


def _recordings(folder: Path) -> list[Path]:
    from chaoslat.recording import TRIAL

    inside = (
        [folder] if (folder / TRIAL).is_file() else sorted(path.parent for path in folder.glob(f"*/{TRIAL}"))
    )
    if not inside:
        raise UsageError(
            "There is no recording",
            where=str(folder),
            fix="name the folder of a trial, or the --out of a run",
        )
    return inside
