"""A score in JSON types."""

from __future__ import annotations

from typing import Any

from chaoslat.report.plain import plain
from chaoslat.score.figures import Score
from chaoslat.score.matrix import Matrix
from chaoslat.score.trials import Trial


def score_json(score: Score) -> dict[str, Any]:
    """All figures. The matrix is `rows`, `columns` and `counts[row][column]`, with the trials off its diagonal."""
    data: dict[str, Any] = plain(
        {name: getattr(score, name) for name in score.__dataclass_fields__ if name != "matrix"}
    )
    return data | {"matrix": matrix_json(score.matrix)}


def matrix_json(matrix: Matrix) -> dict[str, Any]:
    """Counts, and the trials behind each cell off the diagonal."""
    return {
        "rows": list(matrix.rows),
        "columns": list(matrix.columns),
        "counts": matrix.counts,
        "off_diagonal": [
            {
                "truth": cell.truth,
                "diagnosis": cell.diagnosis,
                "count": len(cell),
                "trials": [trial_json(trial) for trial in cell.trials],
            }
            for cell in matrix.off_diagonal
        ],
    }


def trial_json(trial: Trial) -> dict[str, Any]:
    """Where a trial is, and what was wrong with it."""
    return {
        "experiment": trial.experiment,
        "seed": trial.seed,
        "recording": trial.recording,
        "ruling": str(trial.ruling),
        "reason": trial.reason,
    }
