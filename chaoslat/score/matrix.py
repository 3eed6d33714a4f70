"""The confusion matrix: truth by diagnosis, with inconclusive and invalid as columns of their own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from chaoslat.score.trials import INCONCLUSIVE, INVALID, Trial, label_rank


@dataclass(frozen=True, slots=True)
class Cell:
    """The trials with one truth and one diagnosis."""

    truth: str
    diagnosis: str
    trials: tuple[Trial, ...]

    def __len__(self) -> int:
        return len(self.trials)

    @property
    def on_diagonal(self) -> bool:
        return self.truth == self.diagnosis


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows are truths (a truth of several causes is one row), columns are diagnoses; `cells[row][column]`."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]

    @property
    def total(self) -> int:
        return sum(len(cell) for row in self.cells for cell in row)

    @property
    def counts(self) -> list[list[int]]:
        return [[len(cell) for cell in row] for row in self.cells]

    @property
    def off_diagonal(self) -> tuple[Cell, ...]:
        """The cells off the diagonal that hold trials, row by row."""
        return tuple(cell for row in self.cells for cell in row if len(cell) and not cell.on_diagonal)


def matrix(trials: Sequence[Trial]) -> Matrix:
    """The matrix of these trials. Every truth has a column too, so that there is a diagonal."""
    held: dict[tuple[str, str], list[Trial]] = defaultdict(list)
    for trial in trials:
        held[trial.row, trial.column].append(trial)
    rows = tuple(sorted({trial.row for trial in trials}, key=label_rank))
    diagnoses = {trial.column for trial in trials} | set(rows) | {INCONCLUSIVE, INVALID}
    columns = tuple(sorted(diagnoses, key=label_rank))
    cells = tuple(tuple(Cell(r, c, tuple(held.get((r, c), ()))) for c in columns) for r in rows)
    return Matrix(rows, columns, cells)
