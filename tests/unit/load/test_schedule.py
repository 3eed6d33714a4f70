"""Arrivals: reproducible, Poisson, and true to the workload."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from chaoslat.errors import ChaoslatError
from chaoslat.load import Arrival, Schedule, Shape, Workload
from tests.load_doubles import START_NS, WORKLOAD

SEEDS = st.integers(0, 2**64)
RATES = st.floats(0.01, 100_000)


def take(count: int, *, seed: int = 1, workload: Workload = WORKLOAD) -> list[Arrival]:
    schedule = Schedule(workload, seed, START_NS)
    return [schedule.take() for _ in range(count)]


def at_rate(rate_rps: float) -> Workload:
    return Workload(rate_rps, WORKLOAD.shapes, WORKLOAD.rows, WORKLOAD.hot_rows)


@given(SEEDS)
def test_same_seed_same_schedule(seed: int) -> None:
    assert take(50, seed=seed) == take(50, seed=seed)


@given(SEEDS)
def test_another_seed_is_another_schedule(seed: int) -> None:
    assert take(20, seed=seed) != take(20, seed=seed + 1)


@given(SEEDS, RATES)
def test_choices_do_not_depend_on_the_rate(seed: int, rate_rps: float) -> None:
    assert [each[1:] for each in take(20, seed=seed)] == [
        each[1:] for each in take(20, seed=seed, workload=at_rate(rate_rps))
    ]


@given(SEEDS, RATES)
def test_due_times_never_run_backwards(seed: int, rate_rps: float) -> None:
    due = [each.due_ns for each in take(50, seed=seed, workload=at_rate(rate_rps))]
    assert due == sorted(due)
    assert due[0] >= START_NS


def test_gaps_are_exponential_at_the_rate() -> None:
    gaps_s = np.diff([each.due_ns for each in take(20_000, seed=11)]) / 1e9
    # The seed is fixed, so this cannot fail by chance; any other gap law of this size would give p < 1e-6.
    assert stats.kstest(gaps_s, "expon", args=(0, 1 / WORKLOAD.rate_rps)).pvalue > 0.01
    assert gaps_s.mean() == pytest.approx(1 / WORKLOAD.rate_rps, rel=3 / math.sqrt(len(gaps_s)))
    assert abs(np.corrcoef(gaps_s[:-1], gaps_s[1:])[0, 1]) < 3 / math.sqrt(len(gaps_s))


def test_shapes_come_by_weight_and_rows_uniformly() -> None:
    arrivals = take(20_000, seed=5)
    shares = np.bincount([each.shape for each in arrivals]) / len(arrivals)
    assert shares == pytest.approx([0.75, 0.25], abs=3 * math.sqrt(0.75 * 0.25 / len(arrivals)))
    hot = [int(each.path.removeprefix("/query?id=")) for each in arrivals if each.shape == 0]
    assert stats.chisquare(np.bincount(hot)[1:]).pvalue > 0.01
    assert {min(hot), max(hot)} == {1, WORKLOAD.hot_rows}
    rows = [int(re.fullmatch(r"/q/(\d+)/x", each.path)[1]) for each in arrivals if each.shape == 1]
    assert min(rows) >= 1
    assert WORKLOAD.hot_rows < max(rows) <= WORKLOAD.rows


@given(SEEDS, RATES, RATES, st.floats(0, 1))
def test_a_new_rate_stretches_what_is_left_of_the_gap(
    seed: int, before_rps: float, after_rps: float, moment: float
) -> None:
    schedule = Schedule(at_rate(before_rps), seed, START_NS)
    due_ns = schedule.due_ns
    now_ns = START_NS + int((due_ns - START_NS) * moment)
    schedule.set_rate(after_rps, now_ns)
    stretched_ns = (due_ns - now_ns) * before_rps / after_rps
    assert schedule.due_ns - now_ns == pytest.approx(stretched_ns, rel=1e-6, abs=2 + before_rps / after_rps)
    assert schedule.rate_rps == after_rps


def test_a_new_rate_holds_from_then_on() -> None:
    schedule = Schedule(WORKLOAD, 3, START_NS)
    schedule.set_rate(1000.0, START_NS)
    due = [schedule.take().due_ns for _ in range(10_000)]
    assert (due[-1] - START_NS) / 1e9 == pytest.approx(10.0, rel=0.03)


def test_a_new_rate_leaves_what_is_overdue_overdue() -> None:
    schedule = Schedule(WORKLOAD, 3, START_NS)
    due_ns = schedule.due_ns
    schedule.set_rate(0.1, due_ns + 10**9)
    assert schedule.due_ns == due_ns


@pytest.mark.parametrize("rate_rps", [0.0, -1.0, math.nan, math.inf, 100_001.0])
def test_refuses_a_rate(rate_rps: float) -> None:
    schedule = Schedule(WORKLOAD, 1, START_NS)
    with pytest.raises(ChaoslatError, match="rate_rps"):
        schedule.set_rate(rate_rps, START_NS)
    assert schedule.rate_rps == WORKLOAD.rate_rps


@pytest.mark.parametrize(
    ("workload", "said"),
    [
        (lambda: Workload(0, WORKLOAD.shapes), "rate_rps"),
        (lambda: Workload(1, ()), "at least one shape"),
        (lambda: Workload(1, WORKLOAD.shapes, rows=5, hot_rows=6), "hot_rows 6"),
        (lambda: Workload(1, (Shape("x", 0, "/"),)), "weight"),
        (lambda: Workload(1, (Shape("x", 1, "query"),)), "not a path"),
        (lambda: Workload(1, (Shape("x", 1, "/a b"),)), "not a path"),
        (lambda: Workload(1, (Shape("x", 1, "/a\r\nEvil: 1"),)), "not a path"),
        (lambda: Workload(1, (Shape("x", 1, "/{cold}"),)), "{cold}"),
    ],
)
def test_refuses_a_workload(workload, said: str) -> None:
    with pytest.raises(ChaoslatError, match=re.escape(said)):
        workload()


def test_workload_goes_through_json() -> None:
    assert Workload.from_json(WORKLOAD.to_json()) == WORKLOAD


@pytest.mark.parametrize(
    "data", [{}, {"rate_rps": 1}, {"rate_rps": 1, "shapes": [{"name": "x"}]}, {"rate_rps": 1, "shapes": [1]}]
)
def test_refuses_json_that_is_no_workload(data) -> None:
    with pytest.raises(ChaoslatError, match="not a workload"):
        Workload.from_json(data)
