"""Two runbooks on the same trials."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from chaoslat.score import paired
from chaoslat.score.pairing import difference_interval, mcnemar
from tests.unit.score.test_score import trial

RIGHT, WRONG = trial(["database"], ["database"]), trial(["database"], ["network-path"])
INVALID = trial(["database"], invalid=True)


def pairs(both, only_a, only_b, neither):
    return (
        [(RIGHT, RIGHT)] * both
        + [(RIGHT, WRONG)] * only_a
        + [(WRONG, RIGHT)] * only_b
        + [(WRONG, WRONG)] * neither
    )


counts = st.integers(0, 20)


@given(counts, counts, counts, counts)
def test_the_difference_is_within_its_interval_and_swaps_with_the_runbooks(both, only_a, only_b, neither):
    found = paired(pairs(both, only_a, only_b, neither))
    swapped = paired(pairs(both, only_b, only_a, neither))
    assert found.pairs == both + only_a + only_b + neither
    assert -1 <= found.low <= found.high <= 1
    assert (found.low, found.high) == pytest.approx((-swapped.high, -swapped.low))
    assert found.p_value == pytest.approx(swapped.p_value)
    assert math.isnan(found.difference) if not found.pairs else found.low <= found.difference <= found.high


def test_known_answers():
    found = paired(pairs(10, 8, 1, 1))
    assert found.difference == pytest.approx(7 / 20)
    assert found.p_value == pytest.approx(2 * stats.binom.cdf(1, 9, 0.5))
    assert mcnemar(0, 0) == 1.0


def test_without_a_discordant_pair_the_interval_is_not_a_point():
    low, high = difference_interval(0, 0, 20, 0.95)
    assert low == -high
    assert high == pytest.approx(1 - 0.0125 ** (1 / 20))


def test_a_pair_with_an_invalid_trial_is_left_out():
    found = paired([*pairs(1, 0, 0, 0), (INVALID, RIGHT), (RIGHT, INVALID)])
    assert (found.pairs, found.left_out) == (1, 2)


@pytest.mark.parametrize(("p_a", "p_b"), [(0.05, 0.05), (0.3, 0.1), (0.5, 0.2), (0.02, 0.0)])
def test_the_interval_covers_the_true_difference(p_a, p_b):
    """Exactly, by enumeration of the multinomial distribution of 12 pairs."""
    n, covered = 12, 0.0
    for a, b in itertools.product(range(n + 1), repeat=2):
        if a + b <= n:
            low, high = difference_interval(a, b, n, 0.95)
            weight = stats.multinomial.pmf([a, b, n - a - b], n, [p_a, p_b, 1 - p_a - p_b])
            covered += weight if low - 1e-12 <= p_a - p_b <= high + 1e-12 else 0.0
    assert covered >= 0.95
