"""The comparison: bets that cannot cheat, fair draws, three answers, and its error rates in simulation."""

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaoslat.bench import comparison as bench
from chaoslat.compare import Answer, Comparison, Passive, block_statistic, effect, tail_floor_ms
from chaoslat.compare.evidence import Clearing, Implicating

statistics = st.lists(st.floats(0, 10), min_size=1, max_size=60)
latencies = st.lists(st.floats(0.1, 2000), min_size=1, max_size=80)


def passive(tail_ms=60.0, share=0.1):
    block = tuple([4.0] * round(30 * (1 - share)) + [tail_ms] * round(30 * share))
    return Passive(tuple(block for _ in range(20)))


def drive(effect_of, *, factors=("a",), seed=1, blocks=200, **options):
    """Blocks whose latency is a function of the settings, until the comparison has finished."""
    compared = Comparison(factors, passive(), 30.0, random.Random(seed), **options)
    for number in range(blocks):
        if compared.finished(number * 0.65):
            break
        drawn = compared.draw()
        compared.add(drawn, effect_of(drawn), number * 0.65)
    return compared


def tail(present):
    return [4.0] * 27 + [60.0 if present else 4.0] * 3


@given(latencies, st.floats(10, 100))
def test_the_statistic_is_between_nothing_and_its_cap(latency_ms, floor_ms):
    assert 0.0 <= block_statistic(latency_ms, floor_ms) <= 10.0


@given(latencies)
def test_the_floor_follows_the_median_within_its_bounds(latency_ms):
    floor_ms = tail_floor_ms(latency_ms, 30.0)
    assert 10.0 <= floor_ms <= 30.0
    assert floor_ms == pytest.approx(min(max(float(np.median(latency_ms)) + 5.0, 10.0), 30.0))


@given(statistics, st.randoms(use_true_random=False))
def test_wealth_is_never_negative(values, coins):
    bets = (Implicating(high=0.5), Implicating())
    for value in values:
        lifted = coins.random() < 0.5
        for bet in bets:
            bet.add(lifted, value)
            assert min(bet.wealth) >= 0.0


@given(statistics)
@settings(max_examples=30)
def test_under_no_effect_the_next_bet_is_fair_whatever_came_before(values):
    """The e-process's one step: with a fresh coin, the mean of both outcomes is the wealth before."""
    *before, last = values
    both = []
    for lifted in (True, False):
        coins = random.Random(5)
        bet = Implicating(high=0.7)
        for value in before:
            bet.add(coins.random() < 0.5, value)
        wealth = list(bet.wealth)
        bet.add(lifted, last)
        both.append(bet.wealth)
    assert np.mean(both, axis=0) == pytest.approx(wealth)


def test_a_cause_is_implicated_and_stays_lifted():
    compared = drive(lambda drawn: tail(not drawn["a"]))
    decision = compared.decisions["a"]
    assert decision.outcome is Answer.IMPLICATED
    assert decision.e_value >= 20
    assert compared.draw() == {"a": True}


def test_what_does_not_matter_is_cleared_and_hardly_ever_implicated():
    found = Counter(drive(lambda _: tail(True), seed=seed).decisions["a"].outcome for seed in range(200))
    assert (
        found[Answer.IMPLICATED] <= 20
    )  # at most 5 % are promised (Ville): 10 of 200; beyond 20 has p < 0.001
    assert found[Answer.CLEARED] >= 150


def test_two_causes_that_only_help_together_are_both_found():
    compared = drive(
        lambda drawn: tail(not (drawn["a"] and drawn["b"])), factors=("a", "b"), blocks=400, max_s=300
    )
    assert {d.outcome for d in compared.decisions.values()} == {Answer.IMPLICATED}


def test_an_intervention_that_harms_is_never_called_the_cure():
    compared = drive(lambda drawn: [4.0] * 20 + [99.0 if drawn["a"] else 12.0] * 10, clear_at=1e9)
    assert compared.decisions["a"].outcome is not Answer.IMPLICATED
    assert compared.decisions["a"].harms


def test_time_runs_out_as_undecided_not_as_cleared():
    compared = Comparison(("a",), passive(), 30.0, random.Random(1), max_s=5.0)
    assert compared.finished(5.0)
    assert compared.decisions["a"].outcome is Answer.UNDECIDED


def test_void_and_nearly_empty_blocks_are_counted_and_change_nothing():
    compared = Comparison(("a",), passive(), 30.0, random.Random(1))
    before = compared.decisions["a"].e_value
    compared.add({"a": True}, tail(True), 1.0, void=True)
    compared.add({"a": False}, [4.0], 2.0)
    assert compared.decisions["a"].e_value == before
    assert len(compared.result.skipped) == 2


def test_without_a_tail_nothing_is_compared():
    quiet = Passive(tuple((4.0,) * 30 for _ in range(20)))
    assert Comparison(("a",), quiet, 30.0, random.Random(1)).finished(0.0)


def test_the_draws_are_fair_independent_and_follow_the_seed():
    def draws(seed):
        compared = Comparison(("a", "b"), passive(), 30.0, random.Random(seed))
        return [tuple(compared.draw().values()) for _ in range(4000)]

    count = Counter(draws(3))
    assert draws(3) == draws(3) != draws(4)
    assert all(
        900 < count[cell] < 1100 for cell in ((False, False), (False, True), (True, False), (True, True))
    )


def test_settings_have_to_name_the_factors():
    with pytest.raises(ValueError, match="factors"):
        Comparison(("a",), passive(), 30.0, random.Random(1)).add({"b": True}, tail(True), 1.0)


def test_a_clearing_bet_gains_when_lifting_changes_nothing():
    coins = random.Random(2)
    bet = Clearing([1.0] * 20)
    for _ in range(80):
        bet.add(coins.random() < 0.5, 1.0)
    assert bet.e_value > 20


def test_the_error_rates_in_simulation_are_as_they_should_be():
    result = bench.run(runs=20, seed=7)
    assert not result.failures, bench.table(result)
    assert result.false_rate_low <= bench.MOST_FALSE


def test_the_bench_follows_its_seed():
    one = {"cases": bench.CASES[1:2], "recorded": bench.traces.CASES[:1]}
    assert bench.run(runs=3, seed=5, **one) == bench.run(runs=3, seed=5, **one)


def test_a_trace_is_read_in_a_circle():
    trace = bench.traces.Trace(np.array([0.0, 100.0, 200.0, 300.0]), np.array([1.0, 2.0, 3.0, 4.0]))
    assert trace.latencies_ms(250.0, 200.0).tolist() == [4.0, 1.0, 2.0]
    assert trace.latencies_ms(300.0 + 90.0, 20.0).tolist() == [2.0]


def test_the_effect_has_an_interval_that_holds_the_difference():
    """Blocks are the unit: P99 with and without, their difference, and the error budget both ways."""
    original, lifted = [tail(True)] * 12, [tail(False)] * 12
    found = effect(original, lifted, 30.0, np.random.default_rng(1))
    assert found is not None
    assert found.p99_ms.difference == pytest.approx(4.0 - 60.0, abs=1.0)
    interval = found.p99_ms.difference_interval
    assert interval.low <= found.p99_ms.difference <= interval.high < 0
    assert effect(original[:1], lifted, 30.0, np.random.default_rng(1)) is None
