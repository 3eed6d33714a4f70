"""The symptom gate: broken means significantly more requests over the SLO than it allows."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoslat.gate import mean_hold_ms, shows, stood_still, symptom_of
from chaoslat.model import Symptom
from tests.doubles import requests


def seen(over, count=480, p95_ms=20.0, p99_ms=50.0):
    return Symptom(count, 5.0, p95_ms, p99_ms, 90.0, over / count, 0, 60.0, 0.2)


@pytest.mark.parametrize(("over", "broken"), [(0, False), (5, False), (9, False), (14, True), (60, True)])
def test_a_few_requests_over_the_slo_are_no_symptom(over, broken):
    assert shows("broken", seen(over), 30.0) is broken


def test_classic_needs_p95_within_the_slo():
    assert shows("classic", seen(20), 30.0)
    assert not shows("classic", seen(60, p95_ms=40.0), 30.0)
    assert shows("broken", seen(60, p95_ms=40.0), 30.0)


def test_none_is_a_p99_within_the_slo():
    assert shows("none", seen(0, p99_ms=12.0), 30.0)
    assert not shows("none", seen(20), 30.0)


@given(st.lists(st.floats(0.1, 500), min_size=20, max_size=200))
def test_a_symptom_counts_what_is_over_the_slo(latency_ms):
    found = symptom_of(requests(latency_ms), 3.0, 30.0)
    assert round(found.over_slo * found.count) == sum(value > 30.0 for value in latency_ms)


@pytest.mark.parametrize(
    ("late", "of", "invalid"), [(0, 600, False), (20, 600, False), (60, 600, True), (0, 0, False)]
)
def test_a_load_that_stood_still_makes_the_diagnosis_invalid(late, of, invalid):
    seen = replace(requests([5.0] * of), lag_ms=np.where(np.arange(of) < late, 900.0, 0.1))
    assert bool(stood_still(seen)) is invalid


def test_the_hold_time_is_the_latency_less_the_wait():
    assert mean_hold_ms(requests([10.0, 14.0], acquire_ms=2.0)) == pytest.approx(10.0)
