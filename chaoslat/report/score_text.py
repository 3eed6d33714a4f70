"""Scores as text for a terminal, and as Markdown for a file or the job page of a CI system."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from chaoslat.errors import ChaoslatError
from chaoslat.report.score_rows import Table, headline, tables
from chaoslat.report.terminal import grid
from chaoslat.score.figures import Score
from chaoslat.score.gates import Ruled

JOB_PAGE = "GITHUB_STEP_SUMMARY"
HOW_COUNTED = (
    "Intervals: exact (Clopper-Pearson), 95 %. Inconclusive trials count as not found; invalid ones (no steady "
    "state, a fault that did not show, a lagging load generator) count neither for nor against the runbook."
)


def score_text(scores: Sequence[Score], ruled: Sequence[Ruled] = (), *, width: int) -> str:
    """For a terminal of that many columns."""
    parts = [part for score in scores for part in _parts(score, width)]
    return "\n\n".join([*parts, HOW_COUNTED, *(["\n".join(map(gate_line, ruled))] if ruled else [])])


def _parts(score: Score, width: int) -> list[str]:
    return [headline(score), *(f"{table.title}\n{grid(table, width=width)}" for table in tables(score))]


def gate_line(ruled: Ruled) -> str:
    """One line a demand; the missed ones can be searched for."""
    return f"{'ok  ' if ruled.held else 'FAIL'} {ruled.sentence}"


def score_markdown(scores: Sequence[Score], ruled: Sequence[Ruled] = (), *, level: int = 2) -> str:
    """Sections of Markdown that begin at that level."""
    hashes = "#" * level
    lines: list[str] = []
    for score in scores:
        lines += [f"{hashes} {_capital(headline(score))}", ""]
        for table in tables(score):
            lines += [f"{hashes}# {_capital(table.title)}", "", *markdown_table(table), ""]
    lines += [HOW_COUNTED, ""]
    if ruled:
        lines += [f"{hashes} Gate", "", *(f"- {_mark(each)} {escape(each.sentence)}" for each in ruled), ""]
    return "\n".join(lines)


def _mark(ruled: Ruled) -> str:
    return "✅" if ruled.held else "❌"


def markdown_table(table: Table) -> list[str]:
    """The lines of a table."""
    return [_line(table.head), _line(["---"] * len(table.head)), *map(_line, table.rows)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(escape, cells)) + " |"


def escape(text: str) -> str:
    """Text that neither ends a cell nor becomes markup."""
    for char in "\\`*_[]<|":
        text = text.replace(char, f"\\{char}")
    return " ".join(text.split())


def _capital(text: str) -> str:
    return escape(text[:1].upper() + text[1:])


def write_text(path: Path, text: str, *, what: str) -> None:
    """Write a file; the one that collects a CI job's page is added to. Raises ChaoslatError."""
    mode = "a" if _is_job_page(path) else "w"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode, encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ChaoslatError(
            f"{what} cannot be written",
            where=str(path),
            why=error.strerror or str(error),
            fix="name another file",
        ) from error


def _is_job_page(path: Path) -> bool:
    named = os.environ.get(JOB_PAGE)
    return bool(named) and path.absolute() == Path(str(named)).absolute()
