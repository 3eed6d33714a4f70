"""The figures of a score as titled tables of text, for a terminal, Markdown and HTML alike."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from chaoslat.proportion import Proportion
from chaoslat.score.figures import Score, Spread
from chaoslat.score.matrix import Matrix
from chaoslat.score.pairing import Paired

CORNER = "truth \\ diagnosis"
DASH = "-"


@dataclass(frozen=True, slots=True)
class Table:
    """A title, the heads of the columns, and rows of as many cells."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def headline(score: Score) -> str:
    """`runbook ladder: 44 of 51 diagnosed right (86 %, ...), 6 inconclusive; 14 invalid trials are not counted`."""
    text = f"runbook {score.runbook}: {score.correct.hits} of {score.correct.of} diagnosed right"
    text += f" ({percent(score.correct)})" if score.correct.known else ""
    text += f", {score.inconclusive.hits} inconclusive" if score.inconclusive.hits else ""
    return text + (f"; {score.invalid.hits} invalid, not counted" if score.invalid.hits else "")


def tables(score: Score) -> tuple[Table, ...]:
    """All tables of a score that have something in them."""
    all_tables = (
        matrix_table(score.matrix),
        causes_table(score),
        rates_table(score),
        experiments_table(score),
        mistakes_table(score.matrix),
    )
    return tuple(table for table in all_tables if table.rows)


def matrix_table(matrix: Matrix) -> Table:
    """The confusion matrix; an empty cell is a dot, so that the figures stand out."""
    rows = ((cells[0].truth, *(str(len(cell) or "·") for cell in cells)) for cells in matrix.cells)
    return Table("confusion matrix", (CORNER, *matrix.columns), tuple(rows))


def causes_table(score: Score) -> Table:
    """Precision and recall of each cause."""
    rows = ((c.cause, share(c.precision), share(c.recall)) for c in score.causes)
    return Table("per cause", ("cause", "precision", "recall"), tuple(rows))


def rates_table(score: Score) -> Table:
    """The other rates, and what a diagnosis costs."""
    return Table("rates and costs", ("figure", "value"), tuple(_rates(score)))


def _rates(score: Score) -> Iterator[tuple[str, str]]:
    yield "exact set of causes found", share(score.correct)
    yield "false alarms where nothing was wrong", share(score.false_alarms)
    yield "exact set, several causes at once", share(score.pairs)
    for group in score.groups:
        yield f"exact set, {group.group}", share(group.correct)
    yield "inconclusive", share(score.inconclusive)
    yield "time to diagnosis, median / p90 / max", _spread(score.to_diagnosis_s, "s")
    total = f"{score.interventions.total:.0f} in {score.interventions.count} trials"
    yield "interventions on the system", f"{total}, at most {_number(score.interventions.max, 0)} in one"


def experiments_table(score: Score) -> Table:
    """Each experiment."""
    rows = (
        (e.experiment, e.truth, share(e.correct), str(e.inconclusive or DASH), str(e.invalid or DASH))
        for e in score.experiments
    )
    head = ("experiment", "truth", "exact set found", "inconclusive", "invalid")
    return Table("per experiment", head, tuple(rows))


def mistakes_table(matrix: Matrix) -> Table:
    """The trials behind each cell off the diagonal."""
    rows = (
        (cell.truth, cell.diagnosis, f"{trial.name} (seed {trial.seed})", _short(trial.reason))
        for cell in matrix.off_diagonal
        for trial in cell.trials
    )
    return Table("off the diagonal", ("truth", "diagnosis", "trial", "why"), tuple(rows))


def paired_table(paired: Paired, a: str, b: str) -> Table:
    """Two runbooks on the same trials."""
    rows = (
        ("both right", str(paired.both)),
        (f"only {a} right", str(paired.only_a)),
        (f"only {b} right", str(paired.only_b)),
        ("neither right", str(paired.neither)),
        (f"difference, {a} less {b}", _difference(paired)),
        ("exact McNemar test", f"p = {paired.p_value:.3g}"),
    )
    return Table(f"{a} against {b}", ("pairs", str(paired.pairs)), rows)


def _difference(paired: Paired) -> str:
    if not paired.pairs:
        return DASH
    interval = f"{paired.confidence * 100:.0f} % interval {paired.low * 100:+.0f} to {paired.high * 100:+.0f}"
    return f"{paired.difference * 100:+.1f} percentage points ({interval})"


def share(figure: Proportion) -> str:
    """`86 % (44 of 51; 74 to 94 %)`, or `- (0 of 0)`."""
    if not figure.known:
        return f"{DASH} (0 of 0)"
    inside = f"{figure.hits} of {figure.of}; {figure.low * 100:.0f} to {figure.high * 100:.0f} %"
    return f"{figure.value * 100:.0f} % ({inside})"


def percent(figure: Proportion) -> str:
    """`86 %, 95 % interval 74 to 94 %`."""
    inside = f"{figure.low * 100:.0f} to {figure.high * 100:.0f} %"
    return f"{figure.value * 100:.0f} %, {figure.confidence * 100:.0f} % interval {inside}"


def _spread(spread: Spread, unit: str) -> str:
    figures = " / ".join(_number(value, 1) for value in (spread.median, spread.p90, spread.max))
    return f"{figures} {unit}"


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if math.isfinite(value) else DASH


def _short(text: str, limit: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
