"""Two runbooks on the same trials: the paired difference of how often each was right.

The test is McNemar's, exact: given the number of discordant pairs, those that only A got right are binomial with
probability 1/2 if neither runbook is better (two-sided). The interval is of the difference of the two rates of being
right, p(only A) - p(only B): a Clopper-Pearson interval of each of the two discordant rates at half the error
(Bonferroni), and their difference at its ends. It covers with at least the stated confidence for any number of
pairs, with no discordant pair too, and is wider than an approximate one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats

from chaoslat.proportion import CONFIDENCE, proportion
from chaoslat.score.trials import Trial

FORMULA = (
    "p: exact McNemar test (two-sided binomial test of the discordant pairs); interval: Clopper-Pearson intervals "
    "of both discordant rates at half the error each, and the difference at their ends"
)


@dataclass(frozen=True, slots=True)
class Paired:
    """The pairs by who was right. `difference` is A's rate less B's (nan of no pairs)."""

    both: int
    only_a: int
    only_b: int
    neither: int
    left_out: int  # pairs of which a trial was invalid
    difference: float
    low: float
    high: float
    p_value: float
    confidence: float = CONFIDENCE

    @property
    def pairs(self) -> int:
        return self.both + self.only_a + self.only_b + self.neither


def paired(pairs: Sequence[tuple[Trial, Trial]], confidence: float = CONFIDENCE) -> Paired:
    """Compares runbook A with runbook B; each pair is one trial (or one seed) judged by both."""
    valid = [(a.correct, b.correct) for a, b in pairs if a.valid and b.valid]
    both, only_a = valid.count((True, True)), valid.count((True, False))
    only_b, neither = valid.count((False, True)), valid.count((False, False))
    low, high = difference_interval(only_a, only_b, len(valid), confidence)
    return Paired(
        both=both,
        only_a=only_a,
        only_b=only_b,
        neither=neither,
        left_out=len(pairs) - len(valid),
        difference=(only_a - only_b) / len(valid) if valid else float("nan"),
        low=low,
        high=high,
        p_value=mcnemar(only_a, only_b),
        confidence=confidence,
    )


def mcnemar(only_a: int, only_b: int) -> float:
    """The exact two-sided p-value; 1 without discordant pairs."""
    discordant = only_a + only_b
    return float(stats.binomtest(only_a, discordant, 0.5).pvalue) if discordant else 1.0


def difference_interval(only_a: int, only_b: int, pairs: int, confidence: float) -> tuple[float, float]:
    """The interval of p(only A) - p(only B); -1 to 1 of no pairs."""
    each = 1 - (1 - confidence) / 2
    a, b = proportion(only_a, pairs, each), proportion(only_b, pairs, each)
    return a.low - b.high, a.high - b.low
