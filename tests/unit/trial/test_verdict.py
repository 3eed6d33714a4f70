"""Judging: only the exact set is correct, and inconclusive is a word of its own."""

from hypothesis import given
from hypothesis import strategies as st

from chaoslat.model import Diagnosis, Ruling
from chaoslat.verdict import judge

CAUSES = ("cpu-throttling", "pool-wait", "network-path", "database")
sets = st.sets(st.sampled_from(CAUSES)).map(lambda s: tuple(sorted(s)))


@given(truth=sets, found=sets)
def test_the_ruling_is_correct_exactly_when_the_sets_are_equal(truth, found):
    ruling, reason = judge(truth, Diagnosis("r", found, ()))
    assert (ruling is Ruling.CORRECT) == (set(truth) == set(found))
    assert reason


@given(truth=sets)
def test_without_a_cause_and_with_something_missing_it_is_inconclusive_whatever_the_truth(truth):
    ruling, reason = judge(truth, Diagnosis("r", (), (), missing=("step: why",)))
    assert ruling is Ruling.INCONCLUSIVE
    assert "step: why" in reason


@given(found=sets.filter(bool))
def test_any_cause_where_nothing_was_injected_is_a_false_alarm(found):
    assert judge((), Diagnosis("r", found, ()))[0] is Ruling.FALSE_ALARM


def test_a_part_of_the_truth_is_a_miss_and_a_foreign_cause_a_misattribution():
    pair = ("cpu-throttling", "pool-wait")
    assert judge(pair, Diagnosis("r", ("pool-wait",), ()))[0] is Ruling.MISSED
    assert judge(pair, Diagnosis("r", ("pool-wait", "database"), ()))[0] is Ruling.MISATTRIBUTED
    assert judge(("database",), Diagnosis("r", (), ()))[0] is Ruling.MISSED


def test_none_in_the_expected_causes_means_no_cause():
    assert judge(("none",), Diagnosis("r", (), ()))[0] is Ruling.CORRECT
