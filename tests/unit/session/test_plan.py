"""The plan of a run that can be resumed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoslat.errors import ChaoslatError, UsageError
from chaoslat.plan import GUESS_S, PLAN, Plan, clear_broken_off, finished, left_s, recorded, settle
from chaoslat.recording import Recording
from tests.session_doubles import verdict

NAMES = ("a", "b", "a")
FIRST = Plan(5, "local", None, NAMES, {"a": "1", "b": "2"})


@given(st.lists(st.sampled_from("abc"), max_size=20), st.integers(1, 2**31 - 1))
def test_every_trial_has_a_seed_of_its_own_whatever_the_order(names, seed):
    seeds = Plan(seed, "local", None, tuple(names)).seeds()
    assert len(set(seeds)) == len(names)
    assert set(Plan(seed, "local", None, tuple(sorted(names))).seeds()) == set(seeds)


def test_it_is_read_as_it_was_written(tmp_path):
    assert recorded(tmp_path) is None
    assert settle(FIRST, tmp_path / "new") == recorded(tmp_path / "new") == FIRST
    assert settle(FIRST, tmp_path / "new") == FIRST


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (Plan(6, "local", None, NAMES, FIRST.digests), "seed"),
        (Plan(5, "kind", None, NAMES, FIRST.digests), "backend"),
        (Plan(5, "local", "classic", NAMES, FIRST.digests), "runbook"),
        (Plan(5, "local", None, ("a",), {"a": "1"}), "trials"),
        (Plan(5, "local", None, ("b", "a", "a"), FIRST.digests), "trials"),
        (Plan(5, "local", None, NAMES, {"a": "9", "b": "2"}), "a has changed"),
    ],
)
def test_another_run_does_not_go_on_with_it(tmp_path, other, said):
    settle(FIRST, tmp_path)
    with pytest.raises(UsageError, match="has other") as raised:
        settle(other, tmp_path)
    assert said in str(raised.value)
    assert "begin anew" in raised.value.fix
    assert recorded(tmp_path) == FIRST


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"trials": 3}', '{"trials": ["a"], "seed": 1, "x": 2}']
)
def test_a_damaged_plan_is_a_plain_error(tmp_path, text):
    (tmp_path / PLAN).write_text(text)
    with pytest.raises(ChaoslatError, match="damaged"):
        recorded(tmp_path)


def test_a_plan_that_cannot_be_written_is_a_plain_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ChaoslatError, match="cannot be written"):
        settle(FIRST, tmp_path / "file" / "out")


def record(folder, seed, *, ended=True):
    folder.mkdir(parents=True)
    recording = Recording(folder)
    recording.describe(seed=seed)
    if ended:
        recording.verdict(verdict("a", seed=seed))


def test_what_has_a_verdict_is_done_and_what_has_none_goes(tmp_path):
    first, second, _third = FIRST.seeds()
    record(tmp_path / "01-a", first)
    record(tmp_path / "02-b", second, ended=False)
    record(tmp_path / "03-other", 999)
    (tmp_path / "notes").mkdir()
    assert set(finished(FIRST, tmp_path)) == {first}
    assert clear_broken_off(tmp_path) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["01-a", "03-other", "notes"]


def test_the_estimate_is_the_median_of_what_was_seen():
    assert left_s([], 3) == 3 * GUESS_S
    assert left_s([verdict(), verdict()], 3) == 3 * verdict().trial_s
    assert json.dumps(left_s([], 0)) == "0.0"
