"""Percentiles of latencies by HdrHistogram: one definition for every figure that is shown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from hdrh.histogram import HdrHistogram

HIGHEST_US = 3_600_000_000
DIGITS = 3


def percentiles(values_ms: npt.NDArray[np.float64], quantiles: Sequence[float]) -> tuple[float, ...]:
    """The percentiles (0..100) in ms, to three digits and whole microseconds; nan where there are no values.

    Nothing is corrected for coordinated omission: an open loop has none.
    """
    if not len(values_ms):
        return tuple(float("nan") for _ in quantiles)
    histogram = HdrHistogram(1, HIGHEST_US, DIGITS)
    microseconds = np.clip(np.rint(values_ms * 1000), 0, HIGHEST_US).astype(np.int64)
    for value, count in zip(*np.unique(microseconds, return_counts=True), strict=True):
        histogram.record_value(int(value), int(count))
    return tuple(histogram.get_value_at_percentile(q) / 1000 for q in quantiles)


def percentile(values_ms: npt.NDArray[np.float64], q: float) -> float:
    """One percentile (0..100) in ms."""
    return percentiles(values_ms, (q,))[0]
