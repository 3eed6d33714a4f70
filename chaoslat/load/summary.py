"""What a window of load was, and whether the generator itself was fit to measure it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chaoslat.load.log import Requests
from chaoslat.load.percentiles import percentiles

LATE_MS = 1.0
VOID_LAG_P99_MS = 2.0


@dataclass(frozen=True, slots=True)
class LoadSummary:
    """Latencies (from the due time, failed and unfinished requests included), failures, rate and lag."""

    count: int
    unfinished: int
    failed: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    rate_rps: float
    lag_p50_ms: float
    lag_p99_ms: float
    lag_max_ms: float
    late_share: float
    """The fraction that was started more than 1 ms after its due time."""


def summarise(requests: Requests, window_s: float) -> LoadSummary:
    """Summary of the requests due in a window of `window_s` seconds; nan where there are none."""
    p50_ms, p95_ms, p99_ms, max_ms = percentiles(requests.latency_ms, (50, 95, 99, 100))
    lag_p50_ms, lag_p99_ms, lag_max_ms = percentiles(requests.lag_ms, (50, 99, 100))
    return LoadSummary(
        count=len(requests),
        unfinished=int(np.count_nonzero(~requests.done)),
        failed=requests.failed,
        p50_ms=p50_ms,
        p95_ms=p95_ms,
        p99_ms=p99_ms,
        max_ms=max_ms,
        rate_rps=len(requests) / window_s,
        lag_p50_ms=lag_p50_ms,
        lag_p99_ms=lag_p99_ms,
        lag_max_ms=lag_max_ms,
        late_share=float(np.mean(requests.lag_ms > LATE_MS)) if len(requests) else float("nan"),
    )


@dataclass(frozen=True, slots=True)
class LoadHealth:
    """Whether a window counts. `sound` false: it is void, and `sentence` says why."""

    sound: bool
    lag_p99_ms: float
    sentence: str


def judge_health(requests: Requests, limit_ms: float = VOID_LAG_P99_MS) -> LoadHealth:
    """A window is void when the generator's own lag p99 is over `limit_ms`, or when nothing was due in it."""
    (lag_p99_ms,) = percentiles(requests.lag_ms, (99,))
    if not len(requests):
        return LoadHealth(False, lag_p99_ms, "void: no request was due")
    lag = f"the load generator started 99 % of its requests within {lag_p99_ms:.2f} ms of their due time"
    if lag_p99_ms <= limit_ms:
        return LoadHealth(True, lag_p99_ms, lag)
    return LoadHealth(False, lag_p99_ms, f"void: {lag}, more than {limit_ms:g} ms")
