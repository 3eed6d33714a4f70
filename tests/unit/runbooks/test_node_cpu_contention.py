"""A busy node is a cause only where somebody waits for a core, and nothing else stalls the app."""

import random
from dataclasses import replace

import numpy as np
import pytest

from chaoslat.model import (
    AppMetrics,
    CgroupCpu,
    DbProcess,
    MemoryCgroups,
    NodeCpu,
    NoopSample,
    Outcome,
    StatementStats,
)
from chaoslat.runbooks.base import Case
from chaoslat.runbooks.node_cpu_contention import STEP, NodeCpuContentionParams
from chaoslat.runbooks.window import Window
from tests.doubles import VirtualTime, requests

WAITED_MS = np.array([3.0] * 95 + [60.0] * 25)


def app(usage_s=0.4, throttled=0):
    return (CgroupCpu("pods/app", None, 100_000, 100, throttled, 0.0, usage_s),)


def window(*, busy_s=20.0, idle_s=0.0, app_cpu=None, cpu_ms=WAITED_MS, latency_ms=WAITED_MS + 3):
    return Window(
        since_s=0.0,
        until_s=10.0,
        requests=requests(latency_ms, cpu_ms=cpu_ms, query_ms=1.0),
        app_cpu=app_cpu or app(),
        app=AppMetrics(120, 0.0, 360, 0.0, 5.0, 5.0, 0.0, 1),
        statements=(),
        db=DbProcess(0.2, 0.1, (), "", None, 0, 0, 0, 0),
        memory=MemoryCgroups(10, 0),
        node=NodeCpu(busy_s, idle_s, 0.0, 2),
        pool=(),
        noop=NoopSample((0.3,), 0.1),
        monitor=(),
        fresh=(),
    )


async def found(seen):
    case = Case(VirtualTime(), 30.0, random.Random(1), lambda _line: None, lambda _kind, _data: None, [seen])
    return await STEP.run(case, NodeCpuContentionParams())


async def test_a_full_node_on_which_the_app_waits_is_the_cause():
    finding = await found(window())
    assert finding.outcome is Outcome.IMPLICATED
    assert finding.settles


CLEARED = {
    "an idle node": window(busy_s=4.0, idle_s=16.0),
    "the app itself uses it": window(app_cpu=app(usage_s=19.0)),
    "nobody waits for a core": window(cpu_ms=2.0, latency_ms=np.full(120, 5.0)),
    "the tail is in the queries, and the server spends it": replace(
        window(cpu_ms=6.0),
        requests=requests(WAITED_MS + 8, cpu_ms=6.0, query_ms=WAITED_MS),
        statements=(StatementStats("SELECT ?", 360, float(WAITED_MS.sum()), 0.0, 0.0, 0),),
    ),
}


@pytest.mark.parametrize("seen", CLEARED.values(), ids=CLEARED)
async def test_cleared_where(seen):
    assert (await found(seen)).outcome is Outcome.CLEARED


async def test_throttling_beside_it_leaves_the_question_open():
    assert (await found(window(app_cpu=app(throttled=9)))).outcome is Outcome.INCONCLUSIVE


async def test_a_window_without_requests_says_nothing():
    empty = window(cpu_ms=np.array([]), latency_ms=np.array([]))
    assert (await found(empty)).outcome is Outcome.CLEARED


async def test_answers_that_are_taken_late_are_waits_too():
    late = replace(window(cpu_ms=6.0), requests=requests(WAITED_MS + 8, cpu_ms=6.0, query_ms=WAITED_MS))
    assert (await found(late)).outcome is Outcome.IMPLICATED


@pytest.mark.parametrize(("acquire_ms", "outcome"), [(25.0, Outcome.IMPLICATED), (80.0, Outcome.CLEARED)])
async def test_a_wait_for_a_connection_counts_only_where_it_makes_no_tail_alone(acquire_ms, outcome):
    held = np.array([0.0] * 95 + [acquire_ms] * 25)
    waits = np.array([6.0] * 95 + [40.0 if acquire_ms < 30 else 6.0] * 25)
    seen = requests(waits + held + 3, cpu_ms=waits, query_ms=1.0, acquire_ms=held)
    assert (await found(replace(window(cpu_ms=6.0), requests=seen))).outcome is outcome
