"""`chaoslat run`: experiments one after another, then the table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from chaoslat.cli import app as frame
from chaoslat.cli import exits
from chaoslat.cli.output import Progress, print_result, progress, width
from chaoslat.errors import ExperimentError
from chaoslat.experiment import Experiment, load, resolve
from chaoslat.model import Verdict
from chaoslat.report import summary
from chaoslat.report.rows import Row
from chaoslat.report.terminal import closing, headline, table
from chaoslat.session import Keep, Session
from chaoslat.yaml_lines import BadFile

Wanted = Annotated[
    list[str], typer.Argument(metavar="EXPERIMENT...", help="Files, or names in experiments/.")
]

Repeat = Annotated[
    int,
    typer.Option(min=1, max=1000, help="Run each experiment so many times, in turns, with seeds of its own."),
]
Report = Annotated[
    Path | None, typer.Option("--report", dir_okay=False, help="Write the HTML report to this file.")
]


@frame.command(frame.app, "run")
def run(
    experiments: Wanted,
    repeat: Repeat = 1,
    report: Report = None,
    seed: frame.Seed = None,
    out: frame.Out = None,
    backend: frame.Backend = "local",
    runbook: frame.Runbook = None,
    keep: frame.KeepOption = Keep.NEVER,
    as_json: frame.Json = False,
) -> int:
    """Inject, diagnose blind, undo and score, one experiment after another.

    All files are checked before anything is injected. The recordings of the trials and a summary are left in --out.
    """
    wanted = load_all(experiments) * repeat
    _check_runbooks(wanted, runbook)
    number = frame.chosen_seed(seed)
    folder = out or summary.out_folder(number)
    with progress() as show:
        show(f"seed {number}, recordings in {folder}")
        with open_session(backend, folder, number, show, keep) as session:
            verdicts = _trials(session, wanted, runbook, show)
            kept = session.close()
    data = summary.write(verdicts, out=folder, seed=number, backend=backend)
    if report:
        _write_report(verdicts, report)
    text = _text(verdicts, folder, number) + (f"\n{kept}" if kept else "")
    print_result(data | {"kept": kept.info if kept else None}, text, as_json=as_json)
    return exits.of_verdicts(verdicts)


def load_all(names: Sequence[str]) -> list[Experiment]:
    """All experiments. Raises ExperimentError with what is wrong with every one of them."""
    good: list[Experiment] = []
    bad: list[ExperimentError] = []
    for name in names:
        try:
            good.append(load(resolve(name)))
        except ExperimentError as error:
            bad.append(error)
    if len(bad) > 1:
        raise _together(bad)
    if bad:
        raise bad[0]
    return good


def _together(bad: Sequence[ExperimentError]) -> ExperimentError:
    return ExperimentError(
        f"{len(bad)} experiments cannot be used; nothing was injected",
        where="\n         ".join(f"{error.what}: {error.where}" for error in bad),
        fix=next((error.fix for error in bad if isinstance(error, BadFile)), bad[0].fix),
    )


def _check_runbooks(wanted: Sequence[Experiment], runbook: str | None) -> None:
    from chaoslat import runbooks

    for name in {runbook} if runbook else {experiment.runbook for experiment in wanted}:
        runbooks.load(name)


def open_session(backend: str, folder: Path, seed: int, show: Progress, keep: Keep) -> Session:
    """A session on the real machine. Tests put another one in its place."""
    from chaoslat import backends

    return Session(backends.get(backend), out=folder, seed=seed, progress=show, keep=keep)


def _trials(
    session: Session, wanted: Sequence[Experiment], runbook: str | None, show: Progress
) -> list[Verdict]:
    verdicts: list[Verdict] = []
    for number, experiment in enumerate(wanted, start=1):
        show(f"experiment {number} of {len(wanted)}: {experiment.name}")
        verdicts.append(session.trial(experiment, runbook=runbook))
        show(f"{experiment.name}: {headline(verdicts[-1])}")
    return verdicts


def _write_report(verdicts: Sequence[Verdict], path: Path) -> None:
    from chaoslat.report.html import write
    from chaoslat.score import of_verdicts

    write(of_verdicts(verdicts), path)


def _text(verdicts: Sequence[Verdict], folder: Path, seed: int) -> str:
    rows: list[Any] = [Row.of(verdict) for verdict in verdicts]
    return f"{table(rows, width=width())}\n\n{closing(rows, out=str(folder), seed=seed)}"
