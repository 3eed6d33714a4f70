"""The database is named where its server is slow, and where it stands still; not where something else may be it."""

import random
from dataclasses import replace

import numpy as np
import pytest

from chaoslat.model import CgroupCpu, DbProcess, Finding, Outcome, PoolState, StatementStats
from chaoslat.runbooks.base import Case
from chaoslat.runbooks.database import STEP, DatabaseParams
from tests.doubles import VirtualTime, requests
from tests.unit.runbooks.test_node_cpu_contention import window

QUERY_MS = np.array([3.0] * 95 + [60.0] * 25)


def seen(server_share, stalled_periods):
    """25 of 120 requests late by query time, of which the server's own clock saw that share; 20 ms still a period."""
    limit = CgroupCpu("pods/database", 5_000, 100_000, 100, stalled_periods, 0.02 * stalled_periods, 0.3)
    took_ms = float(QUERY_MS.sum()) * server_share
    return replace(
        window(),
        requests=requests(QUERY_MS + 4, cpu_ms=3.0, query_ms=QUERY_MS),
        db=DbProcess(0.2, 0.1, (limit,), "", None, 0, 0, 0, 0),
        statements=(StatementStats("SELECT ?", 360, took_ms, 0.0, 0.0, 0),),
        pool=(PoolState(10, 10, 2, 0),),
    )


async def found(window_seen, earlier=Outcome.CLEARED):
    case = Case(VirtualTime(), 30.0, random.Random(1), lambda _line: None, lambda _kind, _data: None)
    case.windows.append(window_seen)
    case.findings.append(Finding("network-path", "is it the path?", earlier, "network-path", "", ()))
    return await STEP.run(case, DatabaseParams())


async def test_a_server_that_spends_the_time_itself_is_the_cause():
    assert (await found(seen(0.9, 0))).outcome is Outcome.IMPLICATED


async def test_a_server_that_stands_still_is_the_cause_although_its_clock_saw_little():
    finding = await found(seen(0.4, 97))
    assert finding.outcome is Outcome.IMPLICATED
    assert "97 of 100 periods" in finding.sentence


@pytest.mark.parametrize(
    ("stalled_periods", "earlier"), [(20, Outcome.CLEARED), (97, Outcome.INCONCLUSIVE)], ids=str
)
async def test_the_question_stays_open_where_it_seldom_stands_still_or_the_path_may_be_it(
    stalled_periods, earlier
):
    assert (await found(seen(0.4, stalled_periods), earlier)).outcome is Outcome.INCONCLUSIVE
