"""How large the effect is: tail latency with the original and with the lifted setting, with intervals.

A description, not a test: the comparison decides, and it stops when the evidence is in, which favours blocks that
exaggerate. Blocks are the unit of resampling, because requests of one block share its fate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

RESAMPLES = 500
CONFIDENCE = 0.95

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Change:
    """One figure in original and in lifted blocks; `difference` is lifted - original, `ratio` lifted / original.

    `ratio` and its interval are None where the original figure can be 0.
    """

    original: float
    lifted: float
    difference: float
    difference_interval: Interval
    ratio: float | None
    ratio_interval: Interval | None


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of lifting one factor. Latencies in ms; `over_slo` is the fraction of requests over the SLO."""

    p95_ms: Change
    p99_ms: Change
    over_slo: Change
    budget: float  # fraction of requests that may be over the SLO
    original_blocks: int
    lifted_blocks: int
    confidence: float

    @property
    def original_burn(self) -> float:
        """How many times over the error budget is spent with the original setting; 1 spends it exactly."""
        return self.over_slo.original / self.budget

    @property
    def lifted_burn(self) -> float:
        return self.over_slo.lifted / self.budget

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def effect(
    original_ms: Sequence[Sequence[float]],
    lifted_ms: Sequence[Sequence[float]],
    slo_ms: float,
    rng: np.random.Generator,
    *,
    budget: float = 0.01,
    resamples: int = RESAMPLES,
) -> Effect | None:
    """Compare the blocks of two settings, each block the latencies (ms) of its requests.

    Quantiles after Harrell and Davis (1982); percentile intervals of a bootstrap over blocks. None when a side has
    fewer than two blocks with requests: no interval can be had from one.
    """
    sides = [_Side.of(blocks) for blocks in (original_ms, lifted_ms)]
    if any(side.blocks < 2 for side in sides):
        return None
    weights = [side.resample(rng, resamples) for side in sides]

    def quantile(q: float) -> Change:
        one, other = (side.quantiles(q, w) for side, w in zip(sides, weights, strict=True))
        return _change(one, other)

    over = [side.fraction_over(slo_ms, w) for side, w in zip(sides, weights, strict=True)]
    return Effect(
        p95_ms=quantile(0.95),
        p99_ms=quantile(0.99),
        over_slo=_change(over[0], over[1]),
        budget=budget,
        original_blocks=sides[0].blocks,
        lifted_blocks=sides[1].blocks,
        confidence=CONFIDENCE,
    )


def harrell_davis(latencies_ms: Sequence[float] | Floats, q: float) -> float:
    """The Harrell-Davis quantile: a weighted mean of all order statistics, smoother in the tail than any single one.

    Raises ValueError when there are no values.
    """
    if len(latencies_ms) == 0:
        raise ValueError("no values: no quantile")
    ordered = np.sort(np.asarray(latencies_ms, dtype=np.float64))
    return float(_weighted_quantiles(ordered, np.ones((1, ordered.size)), q)[0])


@dataclass(frozen=True, slots=True)
class _Side:
    """All requests of one setting in order of latency, and the block of each."""

    ordered_ms: Floats
    block: NDArray[np.int64]
    blocks: int

    @classmethod
    def of(cls, blocks_ms: Sequence[Sequence[float]]) -> _Side:
        used = [np.asarray(block, dtype=np.float64) for block in blocks_ms if len(block)]
        latency_ms = np.concatenate([np.empty(0), *used])
        block = np.repeat(np.arange(len(used)), [len(b) for b in used])
        order = np.argsort(latency_ms, kind="stable")
        return cls(latency_ms[order], block[order], len(used))

    def resample(self, rng: np.random.Generator, times: int) -> Floats:
        """Weights of the requests: the sample itself in row 0, then `times` bootstrap samples of its blocks."""
        drawn = rng.multinomial(self.blocks, np.full(self.blocks, 1.0 / self.blocks), size=times)
        counts = np.vstack([np.ones((1, self.blocks)), drawn])
        return counts[:, self.block].astype(np.float64)

    def quantiles(self, q: float, weights: Floats) -> Floats:
        return _weighted_quantiles(self.ordered_ms, weights, q)

    def fraction_over(self, slo_ms: float, weights: Floats) -> Floats:
        fraction: Floats = weights[:, self.ordered_ms > slo_ms].sum(axis=1) / weights.sum(axis=1)
        return fraction


def _weighted_quantiles(ordered: Floats, weights: Floats, q: float) -> Floats:
    """Harrell-Davis quantile of each row of weights (times that a value occurs)."""
    alpha, beta = (ordered.size + 1) * q, (ordered.size + 1) * (1.0 - q)
    upper = np.cumsum(weights, axis=1)
    share = np.clip(upper / upper[:, -1:], 0.0, 1.0)
    cumulated = betainc(alpha, beta, share)
    mass = np.diff(cumulated, axis=1, prepend=0.0)
    quantiles: Floats = mass @ ordered
    return quantiles


def _change(original: Floats, lifted: Floats) -> Change:
    """Row 0 is the estimate, the other rows are its bootstrap distribution."""
    difference = lifted - original
    ratio = lifted / original if np.all(original > 0.0) else None
    return Change(
        original=float(original[0]),
        lifted=float(lifted[0]),
        difference=float(difference[0]),
        difference_interval=_interval(difference[1:]),
        ratio=None if ratio is None else float(ratio[0]),
        ratio_interval=None if ratio is None else _interval(ratio[1:]),
    )


def _interval(values: Floats) -> Interval:
    tail = (1.0 - CONFIDENCE) / 2
    low, high = np.quantile(values, [tail, 1.0 - tail])
    return Interval(float(low), float(high))
