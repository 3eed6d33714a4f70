"""A loop that stands is a cause where its blocks are long enough for the late requests, and are work of its own."""

import random
from dataclasses import replace

import numpy as np
import pytest

from chaoslat.model import (
    AppMetrics,
    CgroupCpu,
    DbProcess,
    Finding,
    MemoryCgroups,
    NodeCpu,
    NoopSample,
    Outcome,
    StatementStats,
)
from chaoslat.runbooks.app_event_loop import STEP, AppEventLoopParams
from chaoslat.runbooks.base import Case
from chaoslat.runbooks.window import Window
from tests.doubles import VirtualTime, requests

N = 600
LATE_MS = np.where(
    np.arange(N) % 20 == 0, 60.0, 0.0
)  # 5 % of the requests came 60 ms before the end of a block
USUAL_MS = 5.0
BLOCK_MS = 80.0


def metrics(longest_ms=BLOCK_MS, seconds=10, gc_ms=20.0):
    return AppMetrics(N, 0.0, 3 * N, 0.0, 5.0, 5.0, gc_ms, 1, seconds, seconds * longest_ms)


def statements(total_ms):
    return (StatementStats("SELECT ?", 3 * N, total_ms, 0.0, 0.0, 0),)


def window(*, app=None, usage_s=3.0, query_ms=1.0, server_ms=0.5 * N, latency_ms=USUAL_MS + LATE_MS):
    return Window(
        since_s=0.0,
        until_s=10.0,
        requests=requests(latency_ms, cpu_ms=3.0, query_ms=query_ms),
        app_cpu=(CgroupCpu("pods/app", None, 100_000, 100, 0, 0.0, usage_s),),
        app=app or metrics(),
        statements=statements(server_ms),
        db=DbProcess(0.2, 0.1, (), "", None, 0, 0, 0, 0),
        memory=MemoryCgroups(10, 0),
        node=NodeCpu(5.0, 15.0, 0.0, 2),
        pool=(),
        noop=NoopSample((0.3,), 0.1),
        monitor=(),
        fresh=(),
    )


async def found(seen, before=Outcome.CLEARED):
    case = Case(VirtualTime(), 30.0, random.Random(1), lambda _line: None, lambda _kind, _data: None, [seen])
    case.findings.append(Finding("cpu-limit", "", before, "cpu-throttling", "", ()))
    return await STEP.run(case, AppEventLoopParams())


async def test_blocks_that_make_the_late_requests_are_the_cause():
    finding = await found(window())
    assert finding.outcome is Outcome.IMPLICATED
    assert finding.settles
    assert "synchronous work" in finding.sentence


async def test_answers_of_the_database_that_are_taken_late_are_the_loops_too():
    finding = await found(window(query_ms=1.0 + LATE_MS))
    assert finding.outcome is Outcome.IMPLICATED


async def test_garbage_collection_is_named():
    finding = await found(window(app=metrics(gc_ms=600.0)))
    assert finding.outcome is Outcome.IMPLICATED
    assert "garbage" in finding.sentence


CLEARED = {
    "the server spends the time": window(query_ms=1.0 + LATE_MS, server_ms=N + LATE_MS.sum()),
    "no delay of the loop makes anybody late": window(app=metrics(longest_ms=9.0)),
    "nearly everybody is late, and the loop hardly ever stands": window(
        app=metrics(longest_ms=9.0), latency_ms=40.0 + LATE_MS, usage_s=3.0
    ),
    "nobody is late": window(latency_ms=np.full(N, USUAL_MS)),
}


@pytest.mark.parametrize("seen", CLEARED.values(), ids=CLEARED)
async def test_cleared_where(seen):
    assert (await found(seen)).outcome is Outcome.CLEARED


OPEN = {
    "the app does not say": window(app=metrics(seconds=0)),
    "the blocks are too short for so many": window(app=metrics(longest_ms=27.0)),
    "it stands without using the CPU: somebody stopped it": window(usage_s=0.1),
    "half of the late requests are late in the server": window(
        latency_ms=USUAL_MS + LATE_MS + np.roll(LATE_MS, 1) + np.roll(LATE_MS, 2),
        query_ms=1.0 + np.roll(LATE_MS, 1) + np.roll(LATE_MS, 2),
        server_ms=N + 2 * LATE_MS.sum(),
    ),
}


@pytest.mark.parametrize("seen", OPEN.values(), ids=OPEN)
async def test_left_open_where(seen):
    assert (await found(seen)).outcome is Outcome.INCONCLUSIVE


async def test_left_open_while_a_quota_may_stop_it():
    assert (await found(window(), before=Outcome.INCONCLUSIVE)).outcome is Outcome.INCONCLUSIVE


async def test_rare_long_blocks_are_not_cleared():
    """One block of 200 ms in ten seconds breaks a P99; the mean of the longest delays hides it, so it is left open."""
    rare = replace(window(), app=metrics(longest_ms=(200 + 9 * 4) / 10))
    assert (await found(rare)).outcome is Outcome.INCONCLUSIVE
