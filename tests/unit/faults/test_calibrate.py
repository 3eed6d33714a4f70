"""The search for the classic symptom: it brackets, stays in bounds, and leaves the chosen level in force."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoslat.faults.calibrate import BAND, Tried, best, next_level, search
from tests.doubles import LevelledOperator, bench

tries = st.lists(st.builds(Tried, st.floats(0.3, 0.97), st.floats(0, 1)), min_size=1, max_size=6)


@given(tries)
def test_the_next_level_lies_within_the_bounds(tried):
    assert 0.3 - 1e-9 <= next_level(tried, 0.3, 0.97) <= 0.97 + 1e-9


@given(tries)
def test_the_best_is_one_of_the_tried_and_breaks_the_slo_when_any_did(tried):
    chosen = best(tried)
    assert chosen in tried
    assert (chosen.over_slo >= BAND[0]) == any(t.over_slo >= BAND[0] for t in tried)


@pytest.mark.parametrize("knee", [0.4, 0.6, 0.9])
async def test_the_level_that_is_chosen_is_in_force(knee):
    operator = LevelledOperator(lambda level: min(max((level - knee) * 0.5 + 0.045, 0.0), 1.0), n=4000)

    async def apply(level):
        operator.level = level

    chosen = await search(bench(operator), apply, first=0.65, lo=0.3, hi=0.97)
    assert operator.level == chosen
    assert operator.curve(chosen) == pytest.approx(0.03, abs=0.03)


async def test_a_fault_that_cannot_break_the_slo_ends_at_its_hardest_try():
    operator = LevelledOperator(lambda level: 0.0)
    applied = []

    async def apply(level):
        operator.level = level
        applied.append(level)

    chosen = await search(bench(operator), apply, first=0.5, lo=0.3, hi=0.9, tries=4)
    assert chosen in applied
    assert len(applied) <= 5
