"""`chaoslat compare`: two runbooks on the same trials."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chaoslat.cli import app as frame
from chaoslat.cli import exits
from chaoslat.cli.output import Progress, print_result, progress, width
from chaoslat.cli.replay import Folders
from chaoslat.errors import ExperimentError

if TYPE_CHECKING:
    from chaoslat.score.pairing import Paired
    from chaoslat.score.rejudged import PairedUp, Unpaired

A = Annotated[str, typer.Argument(metavar="RUNBOOK_A", help="A runbook: a name or a file.")]
B = Annotated[str, typer.Argument(metavar="RUNBOOK_B", help="The other one.")]
Live = Annotated[
    bool,
    typer.Option(
        "--live", help="Run what the recordings do not answer: the same experiments, with the same seeds."
    ),
]


@frame.command(frame.app, "compare")
def compare(
    a: A,
    b: B,
    folders: Folders,
    live: Live = False,
    out: frame.Out = None,
    backend: frame.Backend = "local",
    as_json: frame.Json = False,
) -> int:
    """Score two runbooks on the same trials, and the paired difference with its interval.

    Each recording is judged by both, as far as it holds what they ask. Where it does not, a recording of the same
    experiment and seed by the other runbook is taken for the pair; --live makes those that are missing.
    """
    from chaoslat.score import find_recordings
    from chaoslat.score.rejudged import pair_up

    recordings = find_recordings(folders)
    with progress() as show:
        found = asyncio.run(pair_up(recordings, a, b, show))
        if live and found.unpaired:
            target = out or recordings[0].parent
            _run_missing(found.unpaired, {found.a: a, found.b: b}, target, backend, show)
            again = find_recordings([*folders, target])
            found = asyncio.run(pair_up(again, a, b, show))
    again_with = f"chaoslat compare {a} {b} {' '.join(map(str, folders))} --live"
    print_result(_data(found), _text(found, again_with), as_json=as_json)
    return exits.AS_EXPECTED if found.pairs else exits.INVALID


def _run_missing(
    missing: Sequence[Unpaired], files: dict[str, str], out: Path, backend: str, show: Progress
) -> None:
    """The trials that lack a partner, with the runbook that they lack. All experiments are read before any runs."""
    from chaoslat.cli.run import open_session
    from chaoslat.session import Keep

    wanted = [(_experiment(each), each.seed, files[name]) for each in missing for name in each.lacks]
    with open_session(backend, out, wanted[0][1], show, Keep.NEVER) as session:
        for number, (experiment, seed, runbook) in enumerate(wanted, start=1):
            show(f"trial {number} of {len(wanted)}: {experiment.name}, seed {seed}, runbook {runbook}")
            session.trial(experiment, runbook=runbook, seed=seed)


def _experiment(missing: Unpaired) -> Any:
    """The experiment of a recording, found by its name in any folder of experiments. Raises ExperimentError."""
    from chaoslat.experiment import load, named

    for name, path in named().items():
        if name.rpartition("/")[2] == missing.experiment:
            return load(path)
    raise ExperimentError(
        f"The experiment {missing.experiment!r} of a recording is not here",
        where=missing.recording,
        fix="run it where experiments/ holds it, or leave --live away",
    )


def _paired(found: PairedUp) -> Paired:
    from chaoslat.score import paired

    return paired([(pair.a, pair.b) for pair in found.pairs])


def _text(found: PairedUp, again_with: str) -> str:
    from chaoslat.report.score_rows import headline, matrix_table, paired_table
    from chaoslat.report.terminal import grid
    from chaoslat.score import score
    from chaoslat.score.pairing import FORMULA

    parts = []
    for name, side in ((found.a, "a"), (found.b, "b")):
        figures = score([getattr(pair, side) for pair in found.pairs], name)
        parts += [headline(figures), grid(matrix_table(figures.matrix), width=width())] if found.pairs else []
    result = _paired(found)
    left_out = f"\n{result.left_out} pairs with an invalid trial are left out" if result.left_out else ""
    table = paired_table(result, found.a, found.b)
    parts += [f"{table.title}: {_how(found)}\n{grid(table, width=width())}{left_out}", FORMULA]
    return "\n\n".join([*parts, *_missing_text(found, again_with)])


def _how(found: PairedUp) -> str:
    from chaoslat.score.rejudged import ONE_RECORDING

    one = sum(pair.how == ONE_RECORDING for pair in found.pairs)
    return f"{one} pairs of one recording, {len(found.pairs) - one} of two recordings with one seed"


def _missing_text(found: PairedUp, again_with: str) -> Iterable[str]:
    if not found.unpaired:
        return
    total = len(found.unpaired) + len(found.pairs)
    lines = [f"{len(found.unpaired)} of {total} trials are not in the comparison:"]
    for each in found.unpaired:
        why = f": {each.why}" if each.why else ""
        lines.append(f"  {each.recording}: no answer for {' and '.join(each.lacks)}{why}")
    lines.append(f"run them with the same seeds: {again_with}")
    yield "\n".join(lines)


def _data(found: PairedUp) -> dict[str, Any]:
    from chaoslat.report.score_json import score_json, trial_json
    from chaoslat.score import score
    from chaoslat.score.pairing import FORMULA

    return {
        "a": found.a,
        "b": found.b,
        "scores": [
            score_json(score([pair.a for pair in found.pairs], found.a)),
            score_json(score([pair.b for pair in found.pairs], found.b)),
        ],
        "paired": _paired(found),
        "formula": FORMULA,
        "pairs": [
            {"how": pair.how, "a": trial_json(pair.a), "b": trial_json(pair.b)} for pair in found.pairs
        ],
        "unpaired": found.unpaired,
    }
