"""The figures of one runbook over its trials. A set of causes is a multi-label classification: each cause counts alone.

Inconclusive trials stay in every denominator (a cause that was not named was not found); invalid ones in none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import numpy as np

from chaoslat.model import Cause
from chaoslat.proportion import Proportion, proportion
from chaoslat.score.matrix import Matrix, matrix
from chaoslat.score.trials import INCONCLUSIVE, Trial, in_order


@dataclass(frozen=True, slots=True)
class CauseScore:
    """One cause against all others.

    `precision`: of the trials in which it was diagnosed, those in which it was true. `recall`: of the trials in
    which it was true, those in which it was diagnosed.
    """

    cause: Cause
    precision: Proportion
    recall: Proportion


@dataclass(frozen=True, slots=True)
class ExperimentScore:
    """One experiment: how often its exact set of causes was found."""

    experiment: str
    truth: str
    correct: Proportion
    inconclusive: int
    invalid: int


@dataclass(frozen=True, slots=True)
class GroupScore:
    """The experiments of one folder, such as `decoys`: how often the exact set of causes was found."""

    group: str
    correct: Proportion
    inconclusive: int
    invalid: int


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, 90th percentile (linear interpolation between order statistics) and maximum; nan of nothing."""

    count: int
    median: float
    p90: float
    max: float
    total: float


@dataclass(frozen=True, slots=True)
class Score:
    """What a runbook is worth on some trials. Times in seconds.

    `correct`: the exact set was found, of the valid trials. `false_alarms`: of the valid trials in which nothing
    was wrong, those in which a cause was named. `pairs`: exact sets among the valid trials of several causes.
    `invalid`: of all trials.
    """

    runbook: str
    trials: int
    matrix: Matrix
    correct: Proportion
    inconclusive: Proportion
    invalid: Proportion
    causes: tuple[CauseScore, ...]
    false_alarms: Proportion
    pairs: Proportion
    experiments: tuple[ExperimentScore, ...]
    groups: tuple[GroupScore, ...]
    to_diagnosis_s: Spread
    interventions: Spread

    def group(self, name: str) -> GroupScore | None:
        """The figures of one group of experiments; None where no trial was of it."""
        return next((each for each in self.groups if each.group == name), None)

    def cause(self, name: Cause) -> CauseScore | None:
        """The figures of one cause; None where it was neither true nor diagnosed."""
        return next((each for each in self.causes if each.cause == name), None)


def scores(trials: Sequence[Trial]) -> tuple[Score, ...]:
    """One score a runbook, by the runbook's name.

    A trial that says no runbook (it came to no diagnosis, and its recording is gone) is of the only one there is.
    """
    names = {trial.runbook for trial in trials} - {""}
    only = names.pop() if len(names) == 1 else ""
    named = sorted(((trial.runbook or only, trial) for trial in trials), key=itemgetter(0))
    return tuple(score([t for _, t in own], name) for name, own in groupby(named, key=itemgetter(0)))


def score(trials: Sequence[Trial], runbook: str = "") -> Score:
    """The figures of these trials, which are taken to be of one runbook."""
    valid = [trial for trial in trials if trial.valid]
    return Score(
        runbook=runbook or (trials[0].runbook if trials else ""),
        trials=len(trials),
        matrix=matrix(trials),
        correct=_share(valid, lambda trial: trial.correct),
        inconclusive=_share(valid, lambda trial: trial.undecided),
        invalid=_share(trials, lambda trial: not trial.valid),
        causes=tuple(_of_cause(cause, valid) for cause in _causes(trials)),
        false_alarms=_share([t for t in valid if not t.truth], lambda trial: bool(trial.found)),
        pairs=_share([t for t in valid if len(t.truth) > 1], lambda trial: trial.correct),
        experiments=_experiments(trials),
        groups=_groups(trials),
        to_diagnosis_s=_spread([t.to_diagnosis_s for t in valid if t.to_diagnosis_s is not None]),
        interventions=_spread([float(t.interventions) for t in valid]),
    )


def _share(trials: Sequence[Trial], hit: Callable[[Trial], bool]) -> Proportion:
    return proportion(sum(map(hit, trials)), len(trials))


def _causes(trials: Sequence[Trial]) -> tuple[Cause, ...]:
    """Every cause that was true or diagnosed, in trials that turned out invalid too: they show as `0 of 0`."""
    seen = {cause for trial in trials for cause in (*trial.truth, *(trial.found if trial.valid else ()))}
    return in_order(seen - {INCONCLUSIVE})


def _of_cause(cause: Cause, valid: Sequence[Trial]) -> CauseScore:
    diagnosed = [trial for trial in valid if cause in trial.found]
    true = [trial for trial in valid if cause in trial.truth]
    return CauseScore(
        cause,
        precision=_share(diagnosed, lambda trial: cause in trial.truth),
        recall=_share(true, lambda trial: cause in trial.found),
    )


def _experiments(trials: Sequence[Trial]) -> tuple[ExperimentScore, ...]:
    ordered = sorted(trials, key=lambda trial: trial.experiment)
    return tuple(_experiment(list(own)) for _, own in groupby(ordered, key=lambda trial: trial.experiment))


def _experiment(trials: Sequence[Trial]) -> ExperimentScore:
    valid = [trial for trial in trials if trial.valid]
    return ExperimentScore(
        experiment=trials[0].experiment,
        truth=trials[0].row,
        correct=_share(valid, lambda trial: trial.correct),
        inconclusive=sum(trial.undecided for trial in valid),
        invalid=len(trials) - len(valid),
    )


def _groups(trials: Sequence[Trial]) -> tuple[GroupScore, ...]:
    names = sorted({trial.group for trial in trials if trial.group})
    return tuple(_group(name, [trial for trial in trials if trial.group == name]) for name in names)


def _group(name: str, trials: Sequence[Trial]) -> GroupScore:
    valid = [trial for trial in trials if trial.valid]
    correct = _share(valid, lambda trial: trial.correct)
    return GroupScore(name, correct, sum(t.undecided for t in valid), len(trials) - len(valid))


def _spread(values: Sequence[float]) -> Spread:
    if not values:
        return Spread(0, float("nan"), float("nan"), float("nan"), 0.0)
    median, p90 = (float(q) for q in np.quantile(values, (0.5, 0.9)))
    return Spread(len(values), median, p90, max(values), sum(values))
