"""The cure of one cause is judged by the part of the tail that this cause can have made."""

import numpy as np

from chaoslat.runbooks.memory_cgroups import fell_p_value, over_by_database
from tests.doubles import requests


def tail(query_ms, cpu_ms):
    """200 requests; the last 20 are slow by these two parts."""
    query, cpu = np.array([1.0] * 180 + [query_ms] * 20), np.array([3.0] * 180 + [cpu_ms] * 20)
    return requests(query + cpu + 1.0, query_ms=query, cpu_ms=cpu)


def test_a_tail_counts_where_the_database_made_it():
    assert over_by_database(tail(query_ms=50.0, cpu_ms=3.0), 0.1, 30.0) == (20, 200)
    assert over_by_database(tail(query_ms=1.0, cpu_ms=50.0), 0.1, 30.0) == (0, 200)
    assert over_by_database(tail(query_ms=50.0, cpu_ms=50.0), 0.1, 30.0) == (0, 200)


def test_a_cure_shows_although_another_cause_makes_as_long_a_tail():
    before, after = tail(query_ms=50.0, cpu_ms=3.0), tail(query_ms=1.0, cpu_ms=50.0)
    assert fell_p_value(over_by_database(before, 0.1, 30.0), over_by_database(after, 0.1, 30.0)) < 1e-4


def test_no_fall_is_no_evidence():
    same = over_by_database(tail(query_ms=50.0, cpu_ms=3.0), 0.1, 30.0)
    assert fell_p_value(same, same) > 0.4
    assert fell_p_value((0, 0), (0, 0)) == 1.0
