"""The tail of a window in one number: how far requests lie above what a healthy request takes.

The floor follows the healthy median, because a fixed floor either drowns in the normal latency of a slow
statement or cuts off the tail of a fast one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FLOOR_OVER_MEDIAN_MS = 5.0
LOWEST_FLOOR_MS = 10.0
CAP_OVER_FLOOR_MS = 100.0
LEAST_REQUESTS = 3
"""A block with fewer requests says nothing about its tail and is skipped."""

Latencies = Sequence[float] | NDArray[np.float64]


def tail_floor_ms(passive_ms: Latencies, slo_ms: float) -> float:
    """The latency from which on a request counts as tail: median + 5 ms, at least 10 ms, at most the SLO.

    Raises ValueError when `passive_ms` is empty or the SLO is below the lowest floor.
    """
    if len(passive_ms) == 0:
        raise ValueError("no passive latencies: the floor of the tail needs a healthy median")
    if slo_ms < LOWEST_FLOOR_MS:
        raise ValueError(f"SLO of {slo_ms} ms is below the lowest floor of {LOWEST_FLOOR_MS} ms")
    median_ms = float(np.median(np.asarray(passive_ms, dtype=np.float64)))
    return min(max(median_ms + FLOOR_OVER_MEDIAN_MS, LOWEST_FLOOR_MS), slo_ms)


def block_statistic(latencies_ms: Latencies, floor_ms: float) -> float:
    """Mean over requests of sqrt(excess over the floor), excess capped at 100 ms: 0 (no tail) to 10.

    The root and the cap keep one machine hiccup from outweighing many broken requests.
    Raises ValueError for an empty block.
    """
    if len(latencies_ms) == 0:
        raise ValueError("a block without requests has no statistic")
    excess_ms = np.clip(np.asarray(latencies_ms, dtype=np.float64) - floor_ms, 0.0, CAP_OVER_FLOOR_MS)
    return float(np.sqrt(excess_ms).mean())


@dataclass(frozen=True, slots=True)
class Passive:
    """Latencies observed before any intervention, cut into blocks of the length used later (>= 10 s in all)."""

    blocks_ms: tuple[tuple[float, ...], ...]

    @classmethod
    def cut(cls, due_s: Latencies, latency_ms: Latencies, block_s: float) -> Passive:
        """Cut a window into blocks by due time. Blocks without a request are left out.

        `due_s` and `latency_ms` have the same length. Raises ValueError when they differ or hold nothing.
        """
        due, latency = np.asarray(due_s, dtype=np.float64), np.asarray(latency_ms, dtype=np.float64)
        if due.shape != latency.shape or due.size == 0:
            raise ValueError(f"{due.size} due times and {latency.size} latencies: need as many, and some")
        number = np.floor(due / block_s).astype(np.int64)
        return cls(tuple(tuple(latency[number == block].tolist()) for block in np.unique(number)))

    @property
    def latencies_ms(self) -> tuple[float, ...]:
        return tuple(latency_ms for block in self.blocks_ms for latency_ms in block)

    def statistics(self, floor_ms: float) -> tuple[float, ...]:
        """The statistic of every block, in order."""
        return tuple(block_statistic(block, floor_ms) for block in self.blocks_ms)
