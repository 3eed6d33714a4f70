"""Paired randomised comparison: does lifting a suspect lower the tail that breaks the SLO?

Pure functions and one small state machine (`Comparison`). Settings are drawn by coin in every block; the evidence
may be looked at after each one. Three answers: implicated, cleared, undecided.
"""

from chaoslat.compare.blocks import (
    BLOCK_S,
    GRACE_S,
    LEAST_HEAD_S,
    MOST_HEAD_S,
    MOST_LAG_P99_MS,
    PASSIVE_S,
    block_latencies_ms,
)
from chaoslat.compare.effect import Change, Effect, Interval, effect, harrell_davis
from chaoslat.compare.factorial import LEAST_TAIL, Comparison
from chaoslat.compare.result import (
    Answer,
    BlockRecord,
    Cell,
    ComparisonResult,
    Decision,
    Skipped,
    SkippedBlock,
)
from chaoslat.compare.statistic import Passive, block_statistic, tail_floor_ms

__all__ = [
    "BLOCK_S",
    "GRACE_S",
    "LEAST_HEAD_S",
    "LEAST_TAIL",
    "MOST_HEAD_S",
    "MOST_LAG_P99_MS",
    "PASSIVE_S",
    "Answer",
    "BlockRecord",
    "Cell",
    "Change",
    "Comparison",
    "ComparisonResult",
    "Decision",
    "Effect",
    "Interval",
    "Passive",
    "Skipped",
    "SkippedBlock",
    "block_latencies_ms",
    "block_statistic",
    "effect",
    "harrell_davis",
    "tail_floor_ms",
]
