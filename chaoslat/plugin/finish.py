"""What is left behind when a pytest session ends: the summary, the report, the score, and the gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chaoslat.errors import ChaoslatError

if TYPE_CHECKING:
    from chaoslat.model import Verdict
    from chaoslat.plugin.options import Settings
    from chaoslat.score import Gate, Ruled


@dataclass(frozen=True, slots=True)
class Files:
    """Where what is asked for is written. Relative paths count from where pytest was started."""

    out: Path
    report: Path | None
    summary: Path | None

    @classmethod
    def of(cls, settings: Settings, out: Path, start: Path) -> Files:
        report = start / settings.report if settings.report else None
        return cls(out, report, start / settings.summary if settings.summary else None)


def read_gate(text: str | None, root: Path) -> Gate:
    """The gate of the command line, else the project's. Raises pytest.UsageError."""
    from chaoslat.score.gates import parse_gate, read_project

    project = root / "pyproject.toml"
    try:
        if text is not None:
            return parse_gate(text, "--chaos-gate")
        return read_project(project) if project.is_file() else ()
    except ChaoslatError as error:
        raise pytest.UsageError(str(error)) from error


def check_gate(gate: Gate, verdicts: Sequence[Verdict]) -> tuple[Ruled, ...]:
    """Every demand of the gate on the session's trials."""
    if not gate:
        return ()
    from chaoslat.score import check, of_verdicts, scores

    return check(gate, scores(of_verdicts(verdicts).trials))


def score_lines(verdicts: Sequence[Verdict]) -> list[str]:
    """The headline and the matrix of each runbook, for the terminal."""
    from chaoslat.report.score_rows import headline, matrix_table
    from chaoslat.report.terminal import grid
    from chaoslat.score import of_verdicts, scores

    found = scores(of_verdicts(verdicts).trials)
    return [text for each in found for text in (headline(each), grid(matrix_table(each.matrix)))]


def write_files(
    files: Files, verdicts: Sequence[Verdict], ruled: Sequence[Ruled], *, seed: int, backend: str
) -> list[str]:
    """Write the files. Returns what could not be written, in sentences."""
    from chaoslat.report import summary
    from chaoslat.report.score_text import write_text

    def job_page(path: Path) -> None:
        text = summary.markdown(verdicts, out=files.out, seed=seed, backend=backend, ruled=ruled)
        write_text(path, text, what="The Markdown summary")

    def html(path: Path) -> None:
        from chaoslat.report.html import write
        from chaoslat.score import of_verdicts

        write(of_verdicts(verdicts), path, ruled)

    problems = []
    for path, write_it in ((files.summary, job_page), (files.report, html)):
        try:
            if path is not None:
                write_it(path)
        except ChaoslatError as error:
            problems.append(str(error))
    return problems
