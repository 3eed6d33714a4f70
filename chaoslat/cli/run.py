"""`chaoslat run`: experiments one after another, then the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from chaoslat import plan
from chaoslat.cli import app as frame
from chaoslat.cli import exits
from chaoslat.cli.output import Progress, print_result, progress, width
from chaoslat.errors import ExperimentError, UsageError
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

Resume = Annotated[
    bool,
    typer.Option("--resume", help="Go on with the run in --out where it was broken off, or begin it there."),
]


@frame.command(frame.app, "run")
def run(
    experiments: Wanted,
    repeat: Repeat = 1,
    report: Report = None,
    resume: Resume = False,
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
    number = _resumed_seed(seed, out) if resume else frame.chosen_seed(seed)
    folder = out or summary.out_folder(number)
    course = plan.Plan(number, backend, runbook, tuple(each.name for each in wanted), _digests(experiments))
    if resume:
        plan.settle(course, folder)
    with progress() as show:
        show(f"seed {number}, recordings go to {folder}")
        done = _done(course, folder, show) if resume else {}
        with open_session(backend, folder, number, show, keep) as session:
            verdicts = _trials(session, wanted, runbook, show, done)
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


def _resumed_seed(seed: int | None, out: Path | None) -> int:
    """The seed of the run that is resumed, or a chosen one where none has begun. Raises ChaoslatError."""
    if out is None:
        raise UsageError("--resume needs the folder of the run", fix="--resume --out FOLDER")
    found = plan.recorded(out)
    return frame.chosen_seed(seed) if found is None or seed is not None else found.seed


def _digests(names: Sequence[str]) -> dict[str, str]:
    paths = [resolve(name) for name in names]
    return {load(path).name: plan.digest(path) for path in paths}


def _done(course: plan.Plan, folder: Path, show: Progress) -> dict[int, Verdict]:
    done = plan.finished(course, folder)
    if removed := plan.clear_broken_off(folder):
        show(f"removed the recordings of {removed} trials that were broken off")
    if done:
        show(f"{len(done)} of {len(course.trials)} trials are done already")
    return done


def _trials(
    session: Session,
    wanted: Sequence[Experiment],
    runbook: str | None,
    show: Progress,
    done: Mapping[int, Verdict],
) -> list[Verdict]:
    verdicts: list[Verdict] = []
    seeds = plan.Plan(session.seed, "", runbook, tuple(each.name for each in wanted)).seeds()
    for number, (experiment, seed) in enumerate(zip(wanted, seeds, strict=True), start=1):
        if (verdict := done.get(seed)) is None:
            left = sum(other not in done for other in seeds[number - 1 :])
            minutes = plan.left_s([*done.values(), *verdicts], left) / 60
            show(f"experiment {number} of {len(wanted)}: {experiment.name} (about {minutes:.0f} min left)")
            verdict = session.trial(experiment, runbook=runbook, seed=seed)
            show(f"{experiment.name}: {headline(verdict)}")
        verdicts.append(verdict)
    return verdicts


def _write_report(verdicts: Sequence[Verdict], path: Path) -> None:
    from chaoslat.report.html import write
    from chaoslat.score import of_verdicts

    write(of_verdicts(verdicts), path)


def _text(verdicts: Sequence[Verdict], folder: Path, seed: int) -> str:
    rows: list[Any] = [Row.of(verdict) for verdict in verdicts]
    return f"{table(rows, width=width())}\n\n{closing(rows, out=str(folder), seed=seed)}"
