"""The budget bounds what a cure can bring."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoslat.runbooks.budget import path_part_ms, relief, server_part_ms
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
