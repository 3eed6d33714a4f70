"""The page: what the templates are given, and the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2

from chaoslat.errors import ChaoslatError
from chaoslat.report.html.bars import interval_bar
from chaoslat.report.html.sections import TrialSection, section
from chaoslat.report.html.story import tell
from chaoslat.report.score_rows import (
    experiments_table,
    headline,
    rates_table,
    share,
)
from chaoslat.report.score_text import HOW_COUNTED
from chaoslat.score.figures import Score, scores
from chaoslat.score.gates import Ruled
from chaoslat.score.matrix import Cell
from chaoslat.score.trials import INCONCLUSIVE, INVALID, Found

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class CellView:
    """A cell of the matrix: its class, the share of its row, and the place of its trials in the list."""

    cell: Cell
    class_: str
    share: float
    anchor: str


@dataclass(frozen=True, slots=True)
class ScoreView:
    """One runbook's score, and its trials cell by cell."""

    score: Score
    headline: str
    anchor: str
    rows: tuple[tuple[str, tuple[CellView, ...]], ...]
    listed: tuple[tuple[CellView, tuple[TrialSection, ...]], ...]


def write(found: Found, path: Path, ruled: Sequence[Ruled] = ()) -> None:
    """Write the report of these trials. Raises ChaoslatError when the file cannot be written."""
    text = render(found, ruled)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ChaoslatError(
            "The report cannot be written",
            where=str(path),
            why=error.strerror or str(error),
            fix="name another file",
        ) from error


def render(found: Found, ruled: Sequence[Ruled] = (), now: datetime | None = None) -> str:
    """The whole page as text."""
    sections = tuple(
        section(number, trial, tell(verdict))
        for number, (trial, verdict) in enumerate(zip(found.trials, found.verdicts, strict=True), start=1)
    )
    context = {
        "scores": [_score_view(number, s, sections) for number, s in enumerate(scores(found.trials))],
        "sections": sections,
        "facts": _facts(sections),
        "ruled": ruled,
        "unfinished": found.unfinished,
        "how_counted": HOW_COUNTED,
        "made": (now or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M UTC"),
    }
    return _environment().get_template("page.html").render(context)


def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {
        "share": share,
        "interval_bar": interval_bar,
        "rates_table": rates_table,
        "experiments_table": experiments_table,
        "style": (TEMPLATES / "style.css").read_text(encoding="utf-8"),
    }
    return made


def _score_view(number: int, score: Score, sections: Sequence[TrialSection]) -> ScoreView:
    place = {id(each.trial): each for each in sections}
    rows = tuple(
        (name, tuple(_cell(number, r, c, cells) for c in range(len(cells))))
        for r, (name, cells) in enumerate(zip(score.matrix.rows, score.matrix.cells, strict=True))
    )
    listed = tuple(
        (view, tuple(place[id(trial)] for trial in view.cell.trials))
        for _, views in rows
        for view in views
        if len(view.cell)
    )
    return ScoreView(score, headline(score), f"trials-{number}", rows, listed)


def _cell(number: int, row: int, column: int, cells: Sequence[Cell]) -> CellView:
    cell = cells[column]
    total = sum(len(each) for each in cells if each.diagnosis != INVALID)
    share = len(cell) / total if total and cell.diagnosis != INVALID else 0.0
    return CellView(cell, _class(cell), share, f"cell-{number}-{row}-{column}")


def _class(cell: Cell) -> str:
    if cell.diagnosis == INVALID:
        return "invalid"
    if cell.on_diagonal:
        return "right"
    return "unsure" if cell.diagnosis == INCONCLUSIVE else "wrong"


def _facts(sections: Sequence[TrialSection]) -> list[tuple[str, str]]:
    """Where and when the trials were made: what they have in common, each different value once."""
    abouts: list[dict[str, Any]] = [each.story.about for each in sections]
    started = sorted(str(about["started"]) for about in abouts if "started" in about)
    versions = dict.fromkeys(
        f"{name} {value}" for about in abouts for name, value in about.get("versions", {}).items()
    )
    facts = [
        ("trials", str(len(sections))),
        ("backend", ", ".join(dict.fromkeys(each.story.verdict.backend for each in sections))),
        ("made", _from_to(started)),
        ("versions", ", ".join(versions)),
    ]
    return [(name, value) for name, value in facts if value]


def _from_to(times: Sequence[str]) -> str:
    if not times:
        return ""
    return times[0] if times[0] == times[-1] else f"{times[0]} to {times[-1]}"
