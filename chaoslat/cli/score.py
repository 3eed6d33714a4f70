"""`chaoslat score`: what a runbook is worth over many recorded trials, and whether that is good enough."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chaoslat.cli import app as frame
from chaoslat.cli import exits
from chaoslat.cli.output import print_result, width
from chaoslat.cli.replay import Folders

if TYPE_CHECKING:
    from chaoslat.score import Gate

GateText = Annotated[
    str | None,
    typer.Option(
        "--gate",
        metavar="TEXT",
        help="What the figures must reach: recall=0.9, recall.pool-wait=1, false-alarms=5%; none: no gate "
        "(default: gate in pyproject.toml, table tool.chaoslat).",
    ),
]
Markdown = Annotated[
    Path | None,
    typer.Option(
        "--markdown",
        dir_okay=False,
        help="Write Markdown to this file; to $GITHUB_STEP_SUMMARY it is added.",
    ),
]
Html = Annotated[
    Path | None, typer.Option("--html", dir_okay=False, help="Write the HTML report to this file.")
]


@frame.command(frame.app, "score")
def score(
    folders: Folders,
    gate: GateText = None,
    markdown: Markdown = None,
    html: Html = None,
    as_json: frame.Json = False,
) -> int:
    """Score recorded trials: confusion matrix, precision and recall of each cause, false alarms, times, mistakes.

    Reads the recorded verdicts and judges nothing anew (see replay and compare). The exit code is 1 when a gate is
    set and missed, else 0.
    """
    from chaoslat.report.score_text import score_markdown, score_text, write_text
    from chaoslat.score import check, read, scores

    wanted = project_gate(gate)
    found = read(folders)
    figures = scores(found.trials)
    ruled = check(wanted, figures)
    if markdown:
        write_text(markdown, score_markdown(figures, ruled), what="The Markdown summary")
    if html:
        from chaoslat.report.html import write as write_html

        write_html(found, html, ruled)
    text = "\n\n".join([score_text(figures, ruled, width=width()), *_unfinished(found.unfinished)])
    print_result(_data(figures, ruled, found.unfinished), text, as_json=as_json)
    return exits.AS_EXPECTED if all(each.held for each in ruled) else exits.WRONG


def project_gate(text: str | None) -> Gate:
    """The gate that was given, else the project's. Raises UsageError."""
    from chaoslat.score import gate_of_project, parse_gate

    return gate_of_project(Path.cwd()) if text is None else parse_gate(text)


def _unfinished(folders: tuple[str, ...]) -> list[str]:
    return [f"broken off, without a verdict: {', '.join(folders)}"] if folders else []


def _data(figures: Any, ruled: Any, unfinished: tuple[str, ...]) -> dict[str, Any]:
    from chaoslat.report.score_json import score_json

    held = all(each.held for each in ruled) if ruled else None
    return {
        "scores": [score_json(each) for each in figures],
        "gate": {"held": held, "demands": ruled},
        "unfinished": unfinished,
    }
