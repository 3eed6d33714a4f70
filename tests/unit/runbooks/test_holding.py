"""Who holds the connections: requests for longer than before, somebody else, or just too few of them."""

import random

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
    PoolState,
)
from chaoslat.runbooks.base import Answer, Case
from chaoslat.runbooks.holding import held_by_others, held_longer
from chaoslat.runbooks.pool_wait import STEP, PoolWaitParams
from chaoslat.runbooks.window import Window
from tests.doubles import VirtualTime, requests

RATE_RPS = 60.0


def log(duration_s, hold_ms, acquire_ms, start_s):
    n = int(duration_s * RATE_RPS)
    acquire = np.where(np.arange(n) % 2 == 0, acquire_ms, 0.0)
    return requests(acquire + hold_ms, acquire_ms=acquire, rate_rps=RATE_RPS, start_s=start_s)


class Logged(VirtualTime):
    """A double of an operator who has an access log of a calm and then a tail."""

    def __init__(self, calm):
        super().__init__()
        self.calm = calm

    async def requests(self, since_s, until_s):
        return self.calm.select((self.calm.due_s >= since_s) & (self.calm.due_s < until_s))


def case_of(*, before_ms=5.0, now_ms, pool=10, in_use=0, acquire_ms=100.0):
    calm = log(20.0, before_ms, 0.0, start_s=80.0)
    seen = Window(
        since_s=100.0,
        until_s=110.0,
        requests=log(10.0, now_ms, acquire_ms, start_s=100.0),
        app_cpu=(CgroupCpu("pods/app", None, 100_000, 0, 0, 0.0, 1.0),),
        app=AppMetrics(600, 50.0 * 600, 1, 0.0, 5.0, 5.0, 0.0, 1),
        statements=(),
        db=DbProcess(0.2, 0.1, (), "", None, 0, 0, 0, 0),
        memory=MemoryCgroups(10, 0),
        node=NodeCpu(5.0, 15.0, 0.0, 2),
        pool=tuple(PoolState(pool, pool, in_use, 3) for _ in range(5)),
        noop=NoopSample((0.3,), 0.1),
        monitor=(),
        fresh=(),
    )
    return Case(Logged(calm), 30.0, random.Random(1), lambda _line: None, lambda _kind, _data: None, [seen])


async def test_requests_that_hold_longer_fill_a_pool_that_was_ample():
    longer = await held_longer(case_of(now_ms=150.0))
    assert longer is not None
    assert longer.busy_before == pytest.approx(0.3)
    assert longer.busy_now == pytest.approx(9.0)


@pytest.mark.parametrize(
    "case",
    [
        case_of(now_ms=5.0),
        case_of(before_ms=6.0, now_ms=150.0, pool=1),
        case_of(now_ms=8.0, pool=2),
        case_of(before_ms=60.0, now_ms=150.0),
    ],
    ids=["as long as before", "a pool of one was never ample", "a little longer", "no calm in the log"],
)
async def test_otherwise_nothing_is_said(case):
    assert await held_longer(case) is None


async def test_the_step_does_not_sell_a_larger_pool_as_the_cure():
    case = case_of(now_ms=25.0)
    finding = await STEP.run(case, PoolWaitParams())
    assert finding.outcome is Outcome.CLEARED
    assert "would hide it" in finding.sentence
    assert case.interventions == []


@pytest.mark.parametrize(("in_use", "others"), [(9, 8.7), (1, 0.0), (3, 0.0)])
def test_what_no_request_accounts_for_is_held_by_somebody_else(in_use, others):
    seen = case_of(now_ms=5.0, in_use=in_use).window
    assert held_by_others(seen) == pytest.approx(others)


def test_a_busy_pool_of_busy_requests_is_theirs():
    assert held_by_others(case_of(now_ms=150.0, in_use=10).window) == 0.0


@pytest.mark.parametrize("outcome", ["implicated", "cleared", "undecided"])
async def test_what_was_compared_beside_the_cpu_limit_is_read_when_the_waits_are_gone_already(outcome):
    """The winners of a comparison stay lifted, so the latest window has no waits to show."""
    case = case_of(now_ms=5.0, acquire_ms=0.0)
    case.answers = {"pool-size": Answer(outcome, 40.0, 0.1, ())}
    said = {"implicated": Outcome.IMPLICATED, "cleared": Outcome.CLEARED, "undecided": Outcome.INCONCLUSIVE}
    assert (await STEP.run(case, PoolWaitParams())).outcome is said[outcome]
