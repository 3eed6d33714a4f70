"""`summary.json` and `summary.md`: what a session of trials found, for machines and for people."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from chaoslat.errors import ChaoslatError
from chaoslat.model import Verdict
from chaoslat.report.machine import machine_line
from chaoslat.report.plain import plain, to_json
from chaoslat.report.rows import COLUMNS, Row, score
from chaoslat.report.score_json import score_json
from chaoslat.report.score_text import score_markdown
from chaoslat.report.terminal import explain
from chaoslat.score.figures import Score, scores
from chaoslat.score.gates import Ruled
from chaoslat.score.trials import of_verdicts


def out_folder(seed: int, now: datetime | None = None) -> Path:
    """The default folder of a session: `chaos-out/<UTC time>-<seed>`."""
    stamp = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    return Path("chaos-out") / f"{stamp}-{seed}"


def summary(verdicts: Sequence[Verdict], *, out: Path, seed: int, backend: str) -> dict[str, Any]:
    """Everything about a session, in JSON types."""
    rows = [Row.of(verdict) for verdict in verdicts]
    return {
        "seed": seed,
        "backend": backend,
        "machine": machine_line(),
        "out": str(out),
        "score": score(rows),
        "scores": [score_json(each) for each in _scores(verdicts)],
        "trials": plain([row.to_json() | {"good": row.good} for row in rows]),
        "verdicts": plain(verdicts),
    }


def markdown(
    verdicts: Sequence[Verdict], *, out: Path, seed: int, backend: str, ruled: Sequence[Ruled] = ()
) -> str:
    """The table, the scores, and each trial's findings."""
    rows = [Row.of(verdict) for verdict in verdicts]
    lines = ["# chaoslat", "", f"{score(rows)}. Seed {seed}, backend {backend}. {machine_line()}.", ""]
    lines += [_line(COLUMNS), _line(["---"] * len(COLUMNS)), *(_line(row.cells()) for row in rows)]
    lines += ["", score_markdown(_scores(verdicts), ruled)]
    for verdict in verdicts:
        lines += ["", f"## {verdict.experiment}", "", "```", explain(verdict), "```"]
    return "\n".join(lines) + "\n"


def write(verdicts: Sequence[Verdict], *, out: Path, seed: int, backend: str) -> dict[str, Any]:
    """Write both files into `out` and return the summary. Raises ChaoslatError when they cannot be written."""
    data = summary(verdicts, out=out, seed=seed, backend=backend)
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / "summary.json").write_text(to_json(data) + "\n", encoding="utf-8")
        (out / "summary.md").write_text(
            markdown(verdicts, out=out, seed=seed, backend=backend), encoding="utf-8"
        )
    except OSError as error:
        raise ChaoslatError(
            "The summary cannot be written", where=str(out), why=error.strerror or str(error), fix="use --out"
        ) from error
    return data


def _scores(verdicts: Sequence[Verdict]) -> tuple[Score, ...]:
    return scores(of_verdicts(verdicts).trials)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
