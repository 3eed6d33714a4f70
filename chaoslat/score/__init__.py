"""Scores a runbook over many trials: pure functions of verdicts, and the readers that fetch verdicts from folders.

`read` -> trials, `score` -> figures of one runbook, `gates` -> whether the figures are good enough, `pairing` ->
two runbooks on the same trials. Nothing here touches a system.
"""

from __future__ import annotations

from chaoslat.proportion import CONFIDENCE, Proportion, proportion
from chaoslat.score.figures import CauseScore, ExperimentScore, Score, Spread, score, scores
from chaoslat.score.gates import Demand, Gate, Ruled, check, gate_of_project, parse_gate
from chaoslat.score.matrix import Cell, Matrix, matrix
from chaoslat.score.pairing import Paired, paired
from chaoslat.score.trials import Found, Trial, find_recordings, of_verdicts, read

__all__ = [
    "CONFIDENCE",
    "CauseScore",
    "Cell",
    "Demand",
    "ExperimentScore",
    "Found",
    "Gate",
    "Matrix",
    "Paired",
    "Proportion",
    "Ruled",
    "Score",
    "Spread",
    "Trial",
    "check",
    "find_recordings",
    "gate_of_project",
    "matrix",
    "of_verdicts",
    "paired",
    "parse_gate",
    "proportion",
    "read",
    "score",
    "scores",
]
