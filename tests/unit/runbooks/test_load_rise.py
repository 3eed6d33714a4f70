"""The load is a cause where it rose since the SLO was last kept, and the tail came with it."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoslat.load.log import Requests
from chaoslat.model import (
    AppMetrics,
    CgroupCpu,
    DbProcess,
    Finding,
    MemoryCgroups,
    NodeCpu,
    NoopSample,
    Outcome,
)
from chaoslat.runbooks.base import Case
from chaoslat.runbooks.history import Stretch, last_calm, stretches
from chaoslat.runbooks.load_rise import STEP, LoadParams
from chaoslat.runbooks.window import Window
from tests.doubles import VirtualTime, requests

OK_MS, LATE_MS = 5.0, 60.0


def log(*spans):
    """A log of (duration_s, rate_rps, fraction over the SLO), one span after the other, Poisson arrivals, from 0."""
    rng, due, latency, at_s = np.random.default_rng(7), [], [], 0.0
    for duration_s, rate_rps, late in spans:
        count = rng.poisson(duration_s * rate_rps)
        due.append(np.sort(at_s + rng.random(count) * duration_s))
        latency.append(np.where(rng.random(count) < late, LATE_MS, OK_MS))
        at_s += duration_s
    seen = requests(np.concatenate(latency))
    return replace(seen, due_s=np.concatenate(due))


class Logged(VirtualTime):
    """A double of an operator who has an access log."""

    def __init__(self, seen, now_s):
        super().__init__()
        self.seen, self.at_s = seen, now_s

    async def requests(self, since_s, until_s):
        return self.seen.select((self.seen.due_s >= since_s) & (self.seen.due_s < until_s))


async def found(*spans, window_s=10.0, before=(), not_here=()):
    """The finding of somebody who looks at the last `window_s` of the log."""
    now_s = sum(span[0] for span in spans)
    operator = Logged(log(*spans), now_s)
    seen = Window(
        since_s=now_s - window_s,
        until_s=now_s,
        requests=await operator.requests(now_s - window_s, now_s),
        app_cpu=(CgroupCpu("pods/app", None, 100_000, 0, 0, 0.0, 1.0),),
        app=AppMetrics(1, 0.0, 1, 0.0, 5.0, 5.0, 0.0, 1),
        statements=(),
        db=DbProcess(0.2, 0.1, (), "", None, 0, 0, 0, 0),
        memory=MemoryCgroups(10, 0),
        node=NodeCpu(5.0, 15.0, 0.0, 2),
        pool=(),
        noop=NoopSample((0.3,), 0.1),
        monitor=(),
        fresh=(),
        not_here={call: f"{call} is out of sight" for call in not_here},
    )
    case = Case(operator, 30.0, random.Random(1), lambda _line: None, lambda _kind, _data: None, [seen])
    case.findings += before
    return await STEP.run(case, LoadParams())


async def test_a_rise_with_which_the_tail_came_is_the_cause():
    finding = await found((30, 60, 0.0), (20, 180, 0.2))
    assert finding.outcome is Outcome.IMPLICATED
    assert finding.settles


async def test_where_something_cannot_be_seen_a_rise_concludes_nothing():
    finding = await found((30, 60, 0.0), (20, 180, 0.2), not_here=("statements",))
    assert finding.outcome is Outcome.INCONCLUSIVE
    assert "out of sight" in finding.sentence


@pytest.mark.parametrize("rate_rps", [20, 60, 200])
async def test_a_tail_without_a_rise_is_not_the_loads(rate_rps):
    assert (await found((30, rate_rps, 0.0), (20, rate_rps, 0.2))).outcome is Outcome.CLEARED


async def test_a_little_more_load_is_no_cause():
    assert (await found((60, 100, 0.0), (20, 110, 0.2))).outcome is Outcome.CLEARED


async def test_a_rate_that_was_set_long_before_the_tail_is_no_rise():
    assert (await found((10, 60, 0.0), (30, 180, 0.0), (20, 180, 0.2))).outcome is Outcome.CLEARED


async def test_a_tail_that_was_there_before_the_load_rose_is_not_its_work():
    finding = await found((20, 60, 0.0), (20, 60, 0.2), (15, 180, 0.2))
    assert finding.outcome is Outcome.CLEARED
    assert "before" in finding.sentence


async def test_nothing_is_said_without_a_stretch_from_before_the_tail():
    finding = await found((40, 180, 0.2))
    assert (finding.outcome, finding.cause) == (Outcome.NOTED, "")


async def test_what_the_load_has_outgrown_is_the_cause():
    named = Finding("cpu-limit", "", Outcome.IMPLICATED, "cpu-throttling", "", ())
    finding = await found((30, 60, 0.0), (20, 180, 0.2), before=(named,))
    assert (finding.outcome, finding.cause) == (Outcome.NOTED, "")
    assert "cpu-throttling" in finding.sentence


@given(st.integers(0, 10_000))
def test_a_steady_load_hardly_ever_looks_like_a_rise(seed):
    """A rise of 1.3 is five standard deviations of such counts."""
    rng = np.random.default_rng(seed)
    count_before, count_now = rng.poisson(60 * 7.5), rng.poisson(60 * 10)
    assert count_now / 10 < 1.3 * count_before / 7.5


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=200),
    st.floats(0.5, 20),
)
def test_every_request_is_in_one_stretch(due_s, bin_s):
    seen: Requests = replace(requests(np.full(len(due_s), OK_MS)), due_s=np.sort(np.array(due_s)))
    found = stretches(seen, 100.0001, bin_s, 30.0)
    assert sum(len(s.requests) for s in found) == len(due_s)
    assert [s.since_s for s in found] == sorted(s.since_s for s in found)


def test_a_calm_is_in_a_row_and_the_last_one():
    def row(*over_slo):
        return [Stretch(float(i), 1.0, log((1, 50, 0.0)), share) for i, share in enumerate(over_slo)]

    assert [s.since_s for s in last_calm(row(0, 0, 0, 0.5, 0, 0, 0, 0.5), 3)] == [4.0, 5.0, 6.0]
    assert last_calm(row(0, 0, 0.5, 0, 0), 3) == []
    nobody = Stretch(0.0, 1.0, requests([]), 0.0)
    assert last_calm([nobody] * 5, 3) == []
    once = row(0, 0, 0.01, 0)
    assert last_calm(once, 3) == once[1:]
