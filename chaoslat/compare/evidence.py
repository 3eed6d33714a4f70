"""Evidence for and against an effect, as the wealth of somebody who bets on fair coins.

Both processes start with wealth 1 and stake a fraction of it on every block. If the hypothesis they bet against
is true, no strategy makes the expected wealth exceed 1, so by Ville's inequality it ever reaches 20 with
probability at most 1/20, whenever one looks and for whatever reason one stops. What makes the game fair is the
coin that chose the block's setting when all earlier blocks were known: drift, bursts and autocorrelation of the
latency do not touch it. An average of such wealths is again one, which is how several strategies are combined.

Sources: Ville (1939), Etude critique de la notion de collectif; Shafer (2021), Testing by betting; Waudby-Smith
and Ramdas (2024), Estimating means of bounded random variables by betting; Ramdas, Gruenwald, Vovk and Shafer
(2023), Game-theoretic statistics and safe anytime-valid inference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

IMPLICATE_STAKES = (0.5, 0.7, 0.85, 0.95, 0.98)
EXPECTED_FALL = 1.4
"""Prior guess of the fall in log statistic when a cause is lifted: to a quarter."""
LEAST_FALL = 0.3
LOG_OFFSET = 0.05
"""Added before the logarithm: about the statistic of one slightly late request in a block."""
PASSIVE_WEIGHT = 2
"""The passive mean counts as this many blocks when an implicating bet is placed."""

CLEAR_STAKES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
RELEVANT_SHARE_LEFT = 1.0 / 3.0
"""Lifting is relevant when it leaves at most this share of the mean statistic ..."""
RELEVANT_FALL = 0.1
"""... and takes at least this much of it away."""
CLEAR_PASSIVE_WEIGHT = 4


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def product_mean(one: Sequence[float], other: Sequence[float]) -> float:
    """Mean over stakes of the joint wealth of two bettors who never bet on the same block."""
    return sum(a * b for a, b in zip(one, other, strict=True)) / len(one)


class Implicating:
    """Bets against "lifting changes nothing": each block would have had the same statistic under either setting.

    The bet: a low block was lifted, a high block original, in proportion to a score h(y) in [-1, 1] whose shape
    is fixed before the block. With s = +1 for lifted and -1 for original the wealth is multiplied by
    1 + stake * s * h(y). Under the hypothesis y does not depend on the coin, and E[s] = 0, so the factor's
    expectation is 1 whatever y is; it is at most 1 when lifting raises y, as h falls with y. h compares log y with
    the midpoint of the running log means of both settings: a poor midpoint costs power, never validity. Fed with
    `not lifted` it bets that lifting does harm.
    """

    def __init__(self, *, high: float | None = None, low: float | None = None) -> None:
        """`high`, `low`: mean statistic already known of the setting expected to be high or low, if any."""
        self.wealth: list[float] = [1.0] * len(IMPLICATE_STAKES)
        self._high = _RunningMean()
        self._low = _RunningMean()
        if high is not None:
            self._high.add(_log(high), PASSIVE_WEIGHT)
        if low is not None:
            self._low.add(_log(low), PASSIVE_WEIGHT)

    @property
    def e_value(self) -> float:
        return mean(self.wealth)

    def add(self, lifted: bool, statistic: float) -> None:
        log_statistic = _log(statistic)
        bet = self._score(log_statistic) * (1.0 if lifted else -1.0)
        self.wealth = [
            w * (1.0 + stake * bet) for w, stake in zip(self.wealth, IMPLICATE_STAKES, strict=True)
        ]
        (self._low if lifted else self._high).add(log_statistic)

    def _score(self, log_statistic: float) -> float:
        if not self._high.count and not self._low.count:
            return 0.0
        high = self._high.mean if self._high.count else self._low.mean + EXPECTED_FALL
        expected_low = max(high - EXPECTED_FALL, math.log(LOG_OFFSET))
        low = min((self._low.total + expected_low) / (self._low.count + 1), high - LEAST_FALL)
        return -math.tanh(log_statistic - (high + low) / 2)


class Clearing:
    """Bets against "lifting is relevant": it leaves at most a third of the mean statistic and takes at least 0.1.

    The bet: lifted blocks are too high for that. A lifted statistic is raised to what an original block has at
    least under the hypothesis, z = y + 0.1 in one account and z = 3 y in the other; an original one is taken as it
    is. The wealth is multiplied by 1 + stake * s * (z - m) / D, with centre m, cap M and scale D = max(m, M - m)
    fixed before the block. Under the hypothesis E[z | lifted] <= E[z | original], so with a fair coin the factor's
    expectation is at most 1. The centre only takes variance out. (Bounded means: Waudby-Smith and Ramdas.)

    The cap is the one approximation: cutting an original block works against the hypothesis when its mean is made
    of rare bursts. So the cap is never below the largest block seen, in the passive window included.
    """

    def __init__(self, passive: Sequence[float] = ()) -> None:
        """`passive`: block statistics of the passive window, where it had the settings that this one sees."""
        self._added, self._scaled = [1.0] * len(CLEAR_STAKES), [1.0] * len(CLEAR_STAKES)
        self._original = _RunningMean()
        self._lifted = _RunningMean()
        self._largest = max(passive, default=0.0)
        if passive:
            self._original.add(mean(passive), CLEAR_PASSIVE_WEIGHT)

    @property
    def wealth(self) -> list[float]:
        return [(a + b) / 2 for a, b in zip(self._added, self._scaled, strict=True)]

    @property
    def e_value(self) -> float:
        return mean(self.wealth)

    def add(self, lifted: bool, statistic: float, seen_elsewhere: float = 0.0) -> None:
        """`seen_elsewhere`: the largest block known from other settings, to keep the cap honest."""
        if self._original.count or self._lifted.count:
            original = self._original.mean if self._original.count else self._lifted.mean
            kept = (self._lifted.total + original) / (self._lifted.count + 1)
            largest = max(self._largest, seen_elsewhere)
            for account, raised in ((self._added, _added), (self._scaled, _scaled)):
                _settle(account, _clear_bet(raised, lifted, statistic, original, kept, largest))
        (self._lifted if lifted else self._original).add(statistic)
        self._largest = max(self._largest, statistic)


class _RunningMean:
    __slots__ = ("count", "total")

    def __init__(self) -> None:
        self.total = 0.0
        self.count = 0

    @property
    def mean(self) -> float:
        return self.total / self.count

    def add(self, value: float, times: int = 1) -> None:
        self.total += value * times
        self.count += times


def _log(statistic: float) -> float:
    return math.log(statistic + LOG_OFFSET)


def _added(statistic: float) -> float:
    return statistic + RELEVANT_FALL


def _scaled(statistic: float) -> float:
    return statistic / RELEVANT_SHARE_LEFT


def _clear_bet(
    raised: Callable[[float], float],
    lifted: bool,
    statistic: float,
    original: float,
    kept: float,
    largest: float,
) -> float:
    """s (z - m) / D in [-1, 1], given the running means of both settings and the largest block so far."""
    expected = raised(kept)
    centre = (original + expected) / 2
    # the multiples keep the first few bets from being all or nothing
    cap = max(2.0 * original, RELEVANT_FALL, 1.2 * expected, 1.3 * centre, largest)
    z = min(raised(statistic) if lifted else statistic, cap)
    return (z - centre) / max(centre, cap - centre) * (1.0 if lifted else -1.0)


def _settle(account: list[float], bet: float) -> None:
    for index, stake in enumerate(CLEAR_STAKES):
        account[index] *= 1.0 + stake * bet
