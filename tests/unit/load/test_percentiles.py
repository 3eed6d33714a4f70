"""Percentiles, summary and health of a window."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoslat.load import Requests, judge_health, summarise
from chaoslat.load.percentiles import percentile, percentiles

LATENCIES = st.lists(st.floats(0, 3_600_000), min_size=1, max_size=200)


@given(LATENCIES, st.floats(0.1, 100))
def test_a_percentile_is_the_order_statistic_to_three_digits(values_ms: list[float], q: float) -> None:
    rank = max(math.ceil(q / 100 * len(values_ms) - 0.5), 1)  # HdrHistogram rounds the count to the nearest
    near = sorted(values_ms)[max(rank - 2, 0) : rank + 1]
    seen_ms = percentile(np.array(values_ms), q)
    assert any(seen_ms == pytest.approx(value, rel=2e-3, abs=0.0015) for value in near)


@given(LATENCIES)
def test_percentiles_are_ordered_and_end_at_the_maximum(values_ms: list[float]) -> None:
    p50, p95, p100 = percentiles(np.array(values_ms), (50, 95, 100))
    assert p50 <= p95 <= p100
    assert p100 == pytest.approx(max(values_ms), rel=2e-3, abs=0.0015)


def test_nothing_has_no_percentiles() -> None:
    assert all(math.isnan(value) for value in percentiles(np.array([]), (50, 99)))


def requests(latency_ms: list[float], lag_ms: list[float], status: int = 200, done: bool = True) -> Requests:
    count = len(latency_ms)
    unknown = np.full(count, np.nan)
    return Requests(
        due_s=np.arange(count, dtype=float),
        latency_ms=np.array(latency_ms),
        lag_ms=np.array(lag_ms),
        done=np.full(count, done),
        status=np.full(count, status),
        shape=np.zeros(count, dtype=np.int64),
        acquire_ms=unknown,
        query_ms=unknown,
        cpu_ms=unknown,
        statements=np.full(count, -1),
    )


def test_summary() -> None:
    seen = summarise(
        requests([float(value) for value in range(1, 101)], [0.1] * 98 + [1.5, 3.0]), window_s=2.0
    )
    assert (seen.count, seen.failed, seen.unfinished, seen.rate_rps) == (100, 0, 0, 50.0)
    assert (seen.p50_ms, seen.p95_ms, seen.p99_ms, seen.max_ms) == pytest.approx((50, 95, 99, 100), rel=1e-3)
    assert (seen.lag_p50_ms, seen.lag_max_ms, seen.late_share) == pytest.approx((0.1, 3.0, 0.02), rel=1e-3)


@pytest.mark.parametrize(("status", "failed"), [(0, 2), (200, 0), (404, 0), (499, 0), (500, 2), (503, 2)])
def test_failures_keep_their_latency_and_are_counted(status: int, failed: int) -> None:
    seen = requests([1.0, 50.0], [0.0, 0.0], status)
    assert (seen.failed, seen.over(30.0)) == (failed, 0.5)
    assert requests([1.0, 50.0], [0.0, 0.0], status, done=False).failed == 0


def test_an_empty_window() -> None:
    seen = summarise(requests([], []), window_s=1.0)
    assert seen.count == 0
    assert math.isnan(seen.p99_ms)
    assert math.isnan(requests([], []).over(30.0))


@pytest.mark.parametrize(("lag_ms", "sound"), [(0.2, True), (1.99, True), (2.1, False)])
def test_health_by_lag(lag_ms: float, sound: bool) -> None:
    health = judge_health(requests([1.0] * 100, [0.0] * 97 + [lag_ms] * 3))
    assert health.sound is sound
    assert health.lag_p99_ms == pytest.approx(lag_ms, rel=1e-2)
    assert health.sentence.startswith("void") is not sound


def test_a_window_without_requests_is_void() -> None:
    health = judge_health(requests([], []))
    assert not health.sound
    assert "no request was due" in health.sentence
