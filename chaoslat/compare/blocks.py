"""How blocks are cut: which requests belong to one, and what counts for those that are still running."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chaoslat.compare.statistic import Latencies

PASSIVE_S = 10.0
"""Least length of the passive window."""
BLOCK_S = 0.5
"""Length of a block behind its head. Each block can at most double the evidence, so a longer one costs time."""
LEAST_HEAD_S = 0.03
MOST_HEAD_S = 1.0
"""After both settings are issued again the head of the block is dropped: at least 30 ms, and until the requests in
flight at the switch are gone, at most 1 s. The same at every block, changed or not."""
GRACE_S = 0.14
"""A request that is not finished this long after the block counts with its age: beyond the statistic's cap."""
MOST_LAG_P99_MS = 2.0
"""A block is void when the load generator itself lagged more than this."""


def block_latencies_ms(
    due_s: Latencies, latency_ms: Latencies, from_s: float, until_s: float
) -> NDArray[np.float64]:
    """Latencies of the requests due in [from_s, until_s), unfinished ones with their age at until_s + GRACE_S.

    `latency_ms` may be infinite or NaN for a request that has not finished at all.
    """
    due, latency = np.asarray(due_s, dtype=np.float64), np.asarray(latency_ms, dtype=np.float64)
    inside = (due >= from_s) & (due < until_s)
    age_ms = (until_s + GRACE_S - due[inside]) * 1000.0
    return np.fmin(latency[inside], age_ms)
