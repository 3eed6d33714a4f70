"""First guesses of the faults follow from what the running system shows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoslat import faults
from chaoslat.errors import UsageError
from chaoslat.faults.calibrate import BAND
from chaoslat.faults.network_latency import bounds_ms
from chaoslat.faults.pool_size import _choose, _step
from tests.doubles import LevelledOperator, bench, requests


def test_the_delay_lies_between_what_breaks_the_heavy_and_what_breaks_the_ordinary_request():
    statements = np.array([3] * 96 + [13] * 4)
    first_ms, hi_ms = bounds_ms(requests([6.0] * 100, statements=statements), slo_ms=30.0)
    assert 13 * first_ms + 6 > 30
    assert 3 * first_ms + 6 < 30
    assert hi_ms > first_ms


@given(st.floats(0.5, 29), st.integers(1, 60))
def test_bounds_are_positive_whatever_the_app_does(latency_ms, heavy):
    first_ms, hi_ms = bounds_ms(requests([latency_ms] * 50, statements=heavy), slo_ms=30.0)
    assert first_ms > 0
    assert hi_ms > 0


@given(st.dictionaries(st.integers(1, 9), st.floats(0, 1), min_size=1))
def test_the_pool_is_the_largest_that_breaks_the_slo(seen):
    chosen = _choose(seen)
    broken = [size for size, over in seen.items() if over >= BAND[0]]
    assert chosen == (max(broken) if broken else min(seen))


def test_the_pool_search_moves_by_one_and_stays_in_the_band():
    assert _step(3, 0.0) == 2
    assert _step(3, 0.5) == 4
    assert _step(3, sum(BAND) / 2) == 3


def test_every_fault_has_a_name_of_its_own_and_says_what_it_does():
    known = faults.catalogue()
    assert len(known) == len(faults.FAULTS)
    assert all(f.doc and f.cause and f.params.model_config["extra"] == "forbid" for f in known.values())


def test_an_unknown_fault_gets_the_nearest_name():
    with pytest.raises(UsageError) as caught:
        faults.get("cpu-limt")
    assert "cpu-limit" in caught.value.fix


class Burst(LevelledOperator):
    """Unit-test double: a pool of one breaks the SLO; a pool of two does in one look, by a burst of the machine."""

    def __init__(self):
        super().__init__(lambda size: 0.2 if size == 1 else 0.0)
        self.level, self.looks_at_two = 10, 0

    async def pool_size(self):
        return self.level

    async def set_pool_size(self, size):
        self.level = size

    async def requests(self, since_s, until_s):
        self.looks_at_two += self.level == 2
        if self.level == 2 and self.looks_at_two == 1:
            return requests([60.0] * 20 + [5.0] * 180, start_s=since_s)
        if self.level == 10:  # twenty milliseconds a request, sixty a second: 1.2 connections
            return requests([20.0] * 300, start_s=since_s)
        return await super().requests(since_s, until_s)


async def test_a_burst_does_not_choose_the_pool():
    operator = Burst()
    fault = faults.get("pool-size")
    assert await fault.inject(bench(operator, operator), fault.params()) == {"pool size": "1 connections"}
    assert operator.looks_at_two == 2
