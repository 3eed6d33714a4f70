"""A proportion of counted trials with its exact interval (Clopper and Pearson, Biometrika 26, 1934)."""

from __future__ import annotations

from dataclasses import dataclass

from scipy import stats

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Proportion:
    """`hits` of `of`: the fraction (nan of nothing) and its two-sided Clopper-Pearson interval (0 to 1 of nothing).

    The interval covers the true proportion with at least the stated confidence, whatever the number of trials.
    """

    hits: int
    of: int
    value: float
    low: float
    high: float
    confidence: float = CONFIDENCE

    @property
    def known(self) -> bool:
        """Whether there was anything to count."""
        return self.of > 0


def exceeds(hits: int, of: int, allowed: float, p_value: float) -> bool:
    """Whether so many hits are significantly more than the allowed fraction (one-sided exact binomial test)."""
    return of > 0 and bool(stats.binomtest(hits, of, allowed, alternative="greater").pvalue < p_value)


def proportion(hits: int, of: int, confidence: float = CONFIDENCE) -> Proportion:
    """The proportion with its interval. Raises ValueError for counts that make no sense."""
    if not 0 <= hits <= of:
        raise ValueError(f"{hits} of {of}")
    if of == 0:
        return Proportion(0, 0, float("nan"), 0.0, 1.0, confidence)
    interval = stats.binomtest(hits, of).proportion_ci(confidence_level=confidence, method="exact")
    return Proportion(hits, of, hits / of, float(interval.low), float(interval.high), confidence)
