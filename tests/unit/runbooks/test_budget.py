"""The budget bounds what a cure can bring."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoslat.runbooks.budget import path_part_ms, relief, relief_with_queue, server_part_ms
from tests.doubles import requests

latencies = st.lists(st.floats(0.1, 500), min_size=1, max_size=200)


@given(latencies, st.floats(0, 500))
def test_taking_a_part_away_never_makes_the_tail_longer(latency_ms, part_ms):
    seen = requests(latency_ms)
    gain = relief(seen, np.full(len(seen), part_ms), 30.0)
    assert gain.over_after <= gain.over_before
    assert 0.0 <= gain.share <= 1.0


@given(latencies)
def test_an_unknown_part_counts_as_nothing(latency_ms):
    seen = requests(latency_ms)
    assert relief(seen, np.full(len(seen), np.nan), 30.0).share == 0.0


@given(latencies, st.floats(0, 50), st.floats(0, 100), st.integers(-1, 20))
def test_path_and_server_are_the_query_time(latency_ms, trip_ms, query_ms, statements):
    seen = requests(latency_ms, query_ms=query_ms, statements=statements)
    path, server = path_part_ms(seen, trip_ms), server_part_ms(seen, trip_ms)
    assert path + server == pytest.approx(seen.query_ms)
    assert (path >= 0).all()
    assert (server >= -1e-9).all()


def test_a_slow_path_accounts_for_the_tail_of_requests_with_many_statements():
    statements = np.array([3] * 96 + [13] * 4)
    seen = requests(4 + 5.0 * statements, query_ms=5.0 * statements, statements=statements)
    assert relief(seen, path_part_ms(seen, 4.5), 30.0).share == 1.0
    assert relief(seen, server_part_ms(seen, 4.5), 30.0).share == 0.0


def test_the_queue_goes_with_what_fills_the_pool():
    """Connections that are held for 260 ms of path: a pool of ten is full at 60 requests a second."""
    seen = requests([4000.0] * 600, acquire_ms=3735.0, query_ms=260.0, statements=3)
    path = path_part_ms(seen, 85.0)
    assert relief(seen, path, 30.0).share == 0.0
    assert relief_with_queue(seen, path, 30.0, connections=10, duration_s=10.0).share == 1.0


def test_the_queue_stays_where_the_pool_is_too_small_without_the_part_too():
    seen = requests([300.0] * 600, acquire_ms=250.0, query_ms=40.0, statements=3)
    path = path_part_ms(seen, 10.0)  # 20 ms are left, times 60 a second: one connection is too few
    assert relief_with_queue(seen, path, 30.0, connections=1, duration_s=10.0).share == 0.0


@given(latencies, st.floats(0, 100), st.integers(1, 50))
def test_without_a_queue_it_is_the_plain_relief(latency_ms, part_ms, connections):
    seen = requests(latency_ms)
    part = np.full(len(seen), part_ms)
    assert relief_with_queue(seen, part, 30.0, connections, 10.0) == relief(seen, part, 30.0)


def test_what_still_waits_says_nothing_yet():
    seen = requests([50.0] * 100, query_ms=40.0)
    seen.done[50:] = False
    seen.acquire_ms[50:] = np.nan
    assert relief_with_queue(seen, server_part_ms(seen, 0.1), 30.0, 10, 10.0).share == 1.0
    seen.done[:] = False
    assert relief_with_queue(seen, server_part_ms(seen, 0.1), 30.0, 10, 10.0).share == 0.0
