"""`chaoslat report`: recorded trials as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chaoslat.cli import app as frame
from chaoslat.cli import exits
from chaoslat.cli.output import print_result
from chaoslat.cli.replay import Folders
from chaoslat.cli.score import GateText, project_gate

File = Annotated[
    Path, typer.Option("--output", "-o", dir_okay=False, help="The file to write (default: chaoslat.html).")
]


@frame.command(frame.app, "report")
def report(
    folders: Folders, output: File = Path("chaoslat.html"), gate: GateText = None, as_json: frame.Json = False
) -> int:
    """Write the HTML report of recorded trials: the matrix, and for each trial its latencies, steps and evidence.

    The file stands alone: it can be mailed, kept as a build artefact, opened from a disk, and printed.
    """
    from chaoslat.report.html import write
    from chaoslat.score import check, read, scores

    found = read(folders)
    write(found, output, check(project_gate(gate), scores(found.trials)))
    print_result(
        {"report": output, "trials": len(found.trials), "unfinished": found.unfinished},
        f"{output}: {len(found.trials)} trials",
        as_json=as_json,
    )
    return exits.AS_EXPECTED
