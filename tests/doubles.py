"""Test doubles: values for unit tests only. Nothing here stands where a user would have the real thing."""

import asyncio
import random

import numpy as np

from chaoslat.faults.base import Bench
from chaoslat.load.log import Requests


def requests(
    latency_ms, *, acquire_ms=0.0, query_ms=1.0, cpu_ms=1.0, statements=3, rate_rps=60.0, start_s=0.0
):
    """Finished requests at even distances; scalars are broadcast."""
    latency = np.asarray(latency_ms, dtype=np.float64)
    n = len(latency)

    def full(value, kind=np.float64):
        return np.broadcast_to(np.asarray(value, dtype=kind), n).copy()

    return Requests(
        due_s=start_s + np.arange(n) / rate_rps,
        latency_ms=latency,
        lag_ms=full(0.1),
        done=np.ones(n, dtype=bool),
        status=full(200, np.int64),
        shape=full(0, np.int64),
        acquire_ms=full(acquire_ms),
        query_ms=full(query_ms),
        cpu_ms=full(cpu_ms),
        statements=full(statements, np.int64),
    )


class VirtualTime:
    """The time half of an operator: sleeping moves the clock and takes no time."""

    def __init__(self):
        self.at_s = 100.0

    def now_s(self):
        return self.at_s

    async def sleep(self, duration_s):
        self.at_s += max(duration_s, 0.0)
        await asyncio.sleep(0)


class LevelledOperator(VirtualTime):
    """An operator whose latency follows a level: a fraction `curve(level)` of requests is over the SLO."""

    def __init__(self, curve, n=240, seed=1):
        super().__init__()
        self.curve, self.n, self.level = curve, n, None
        self.rng = np.random.default_rng(seed)

    async def requests(self, since_s, until_s):
        over = self.rng.random(self.n) < self.curve(self.level)
        return requests(np.where(over, 60.0, 5.0), start_s=since_s)


def bench(operator, saboteur=None, slo_ms=30.0):
    return Bench(saboteur, operator, slo_ms, random.Random(1), lambda _line: None)
