"""The bench's own arithmetic: the truth that the generator is measured against."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from chaoslat.bench.load import Lag, LoadBench, Quantile, analytic_ms, table, true_latency_ms

STALLS_NS = ((1_000_000_000, 1_100_000_000), (1_937_000_000, 2_040_000_000))


@pytest.mark.parametrize(
    ("due_s", "expected_ms"),
    [(0.5, 0.0), (1.0, 100.0), (1.099, 1.0), (1.1, 0.0), (1.5, 0.0), (1.937, 103.0), (2.0, 40.0), (3.0, 0.0)],
)
def test_a_request_takes_what_is_left_of_the_stall(due_s: float, expected_ms: float) -> None:
    assert _truth_ms(due_s, answered_ms=0.0) == pytest.approx(expected_ms, abs=1e-6)


@pytest.mark.parametrize(("due_s", "expected_ms"), [(1.0, 100.4), (1.5, 0.0)])
def test_the_server_s_own_work_belongs_to_the_truth(due_s: float, expected_ms: float) -> None:
    assert _truth_ms(due_s, answered_ms=0.4) == pytest.approx(expected_ms, abs=1e-6)


def _truth_ms(due_s: float, answered_ms: float) -> float:
    return float(true_latency_ms(np.array([due_s]), np.array([answered_ms]), STALLS_NS)[0])


def test_the_formula_agrees_with_the_arithmetic() -> None:
    stalls = tuple((k * 937_000_000, k * 937_000_000 + 100_000_000) for k in range(100))
    due_s = np.linspace(0, 93.7, 1_000_000, endpoint=False)
    truth_ms = true_latency_ms(due_s, np.zeros_like(due_s), stalls)
    for q in (95.0, 99.0):
        assert np.percentile(truth_ms, q) == pytest.approx(analytic_ms(q), abs=0.01)
    assert (analytic_ms(95), analytic_ms(99)) == pytest.approx((53.15, 90.63))


LAG = Lag("uvloop, timerfd", "SCHED_RR 1", 1000, 0.03, 0.1, 0.9, 0.001)
GOOD = LoadBench(
    seed=1,
    duration_s=45.0,
    rate_rps=500.0,
    quantiles=(Quantile(95.0, 53.15, 53.9, 54.3, 0.0074, 0.051, 0.005, agrees=True),),
    failed=0,
    started_share=1.0,
    rate_error=0.002,
    lag=LAG,
    baseline=replace(LAG, timer="asyncio, loop", p99_ms=1.2),
)


def test_a_good_result_misses_nothing() -> None:
    assert GOOD.failures == ()
    assert GOOD.lag_ratio == pytest.approx(12.0)
    assert "MISSED" not in table(GOOD)
    assert json.loads(json.dumps(asdict(GOOD)))["lag"]["p99_ms"] == 0.1


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (replace(GOOD, lag=replace(LAG, p99_ms=1.01)), "lag p99"),
        (replace(GOOD, lag=replace(LAG, late_share=0.011)), "1 ms late"),
        (replace(GOOD, started_share=0.99), "started"),
        (replace(GOOD, failed=1), "1 requests failed"),
        (replace(GOOD, quantiles=(replace(GOOD.quantiles[0], error=0.021),)), "P95"),
        (replace(GOOD, quantiles=(replace(GOOD.quantiles[0], error=-0.021),)), "P95"),
        (replace(GOOD, quantiles=(replace(GOOD.quantiles[0], agrees=False),)), "P95"),
    ],
)
def test_each_bound_is_kept_or_named(bad: LoadBench, said: str) -> None:
    (failure,) = bad.failures
    assert said in failure
    assert f"MISSED: {failure}" in table(bad)
