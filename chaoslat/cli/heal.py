"""`chaoslat heal`: undo by hand what a run left behind that died."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chaoslat.cli import app as frame
from chaoslat.cli import exits
from chaoslat.cli.output import print_result, progress
from chaoslat.errors import ChaoslatError, UsageError

if TYPE_CHECKING:
    from chaoslat.ledger.heal import HealReport
    from chaoslat.ledger.leftovers import Leftover

RunId = Annotated[str | None, typer.Argument(metavar="[RUN]", help="Only this run.")]


@frame.command(frame.app, "heal")
def heal(run: RunId = None, as_json: frame.Json = False) -> int:
    """Undo what dead runs left behind. Runs that are alive or kept are named and left alone.

    May be repeated. Things that carry our name without our mark are shown and not removed. Exit code 3 when something
    of ours could not be undone.
    """
    with progress() as show:
        show("replaying ledgers")
        reports = _reports(run)
        strays = [] if run else _strays()
    data = {"runs": [asdict(report) for report in reports], "leftovers": strays}
    print_result(data, "\n".join(_lines(reports, strays)) or "nothing was left behind", as_json=as_json)
    bad = any(report.failed for report in reports) or any(
        stray["ours"] and stray["problem"] for stray in strays
    )
    return exits.MISSING if bad else exits.AS_EXPECTED


def _reports(run: str | None) -> list[HealReport]:
    from chaoslat.ledger import heal, owner, run_folder

    if run is None:
        return heal.heal_all()
    if run not in heal.run_ids():
        raise UsageError(f"There is no run {run}", fix="`chaoslat status` shows those that there are")
    held = owner.read_owner(run_folder(run))
    if held is not None and held.holds:
        raise UsageError(f"Run {run} is still in use: {held.describe()}", fix=f"chaoslat down {run}")
    return [heal.heal(run)]


def _strays() -> list[dict[str, Any]]:
    from chaoslat.ledger.leftovers import leftovers

    return [_removed(stray) for stray in leftovers()]


def _removed(stray: Leftover) -> dict[str, Any]:
    from chaoslat.ledger.leftovers import remove_leftover

    problem = ""
    try:
        remove_leftover(stray)
    except ChaoslatError as error:
        problem = str(error)
    return {"what": stray.what, "name": stray.name, "ours": stray.ours, "problem": problem}


def _lines(reports: Iterable[HealReport], strays: Iterable[dict[str, Any]]) -> Iterable[str]:
    for report in reports:
        if report.skipped:
            yield f"run {report.run_id}: left alone ({report.skipped})"
        else:
            yield f"run {report.run_id}: undone: {', '.join(report.undone) or 'nothing was left'}"
        yield from (f"  not undone: {failure}" for failure in report.failed)
    for stray in strays:
        yield stray["problem"] or f"{stray['what']} {stray['name']}: removed"
