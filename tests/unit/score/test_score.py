"""The matrix, the intervals and the figures of a runbook: sums, bounds and known answers."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from chaoslat.errors import UsageError
from chaoslat.model import Diagnosis, Ruling
from chaoslat.report.plain import to_json
from chaoslat.report.score_json import score_json
from chaoslat.score import Trial, matrix, of_verdicts, proportion, read, score, scores
from chaoslat.score.trials import in_order, label_rank
from chaoslat.verdict import judge
from tests.session_doubles import verdict

RECORDED = Path(__file__).parents[3] / "fixtures" / "recordings" / "trials"
CAUSES = ("cpu-throttling", "pool-wait", "network-path", "database", "app-event-loop")


def trial(truth=(), found=(), *, undecided=False, invalid=False, runbook="ladder", **more):
    """A trial, judged as `chaoslat.verdict` judges it."""
    diagnosis = Diagnosis(runbook, tuple(found), (), missing=("step: undecided",) if undecided else ())
    ruling, reason = (Ruling.INVALID, "no steady state") if invalid else judge(tuple(truth), diagnosis)
    made = {"to_diagnosis_s": 10.0, "interventions": 1, "seed": 1, "experiment": "x", "recording": ""} | more
    return Trial(
        runbook=runbook,
        truth=in_order(truth),
        found=in_order(found),
        ruling=ruling,
        reason=reason,
        undecided=ruling is Ruling.INCONCLUSIVE,
        **made,
    )


sets = st.lists(st.sampled_from(CAUSES), max_size=3, unique=True)
trials = st.lists(
    st.builds(
        lambda truth, found, unsure, invalid, experiment: trial(
            truth, () if unsure else found, undecided=unsure, invalid=invalid, experiment=experiment
        ),
        sets,
        sets,
        st.booleans(),
        st.booleans(),
        st.sampled_from("abc"),
    ),
    max_size=40,
)


# --- proportions -------------------------------------------------------------------------------------------


@given(st.integers(0, 60), st.integers(0, 60))
def test_an_interval_contains_its_estimate_and_lies_within_0_and_1(a, b):
    found = proportion(min(a, b), max(a, b))
    assert 0 <= found.low <= found.high <= 1
    assert not found.known or found.low <= found.value <= found.high


@given(st.integers(1, 30), st.floats(0.01, 0.99))
def test_the_interval_covers_with_at_least_its_confidence(n, p):
    covered = [k for k in range(n + 1) if proportion(k, n).low <= p <= proportion(k, n).high]
    assert sum(stats.binom.pmf(covered, n, p)) >= 0.95 - 1e-9


def test_known_answers_of_clopper_and_pearson():
    nothing_of_twenty = proportion(0, 20)
    assert nothing_of_twenty.high == pytest.approx(1 - 0.025 ** (1 / 20))
    assert (nothing_of_twenty.low, nothing_of_twenty.value) == (0.0, 0.0)
    four_of_five = proportion(4, 5)
    assert (four_of_five.low, four_of_five.high) == pytest.approx((0.2836, 0.9949), abs=1e-4)


def test_nothing_counted_is_not_known_and_no_count_that_makes_no_sense_passes():
    nothing = proportion(0, 0)
    assert (nothing.known, nothing.low, nothing.high) == (False, 0.0, 1.0)
    assert math.isnan(nothing.value)
    for hits, of in ((2, 1), (-1, 3)):
        with pytest.raises(ValueError, match="of"):
            proportion(hits, of)


# --- matrix ------------------------------------------------------------------------------------------------


@given(trials)
def test_the_matrix_holds_every_trial_once(given_trials):
    found = matrix(given_trials)
    assert found.total == len(given_trials)
    for name, row in zip(found.rows, found.cells, strict=True):
        assert sum(map(len, row)) == sum(t.row == name for t in given_trials)
    for number, name in enumerate(found.columns):
        assert sum(row[number] for row in found.counts) == sum(t.column == name for t in given_trials)


@given(trials)
def test_the_diagonal_holds_the_correct_trials_and_no_other(given_trials):
    found = matrix(given_trials)
    diagonal = [t for row in found.cells for cell in row if cell.on_diagonal for t in cell.trials]
    assert sorted(map(id, diagonal)) == sorted(id(t) for t in given_trials if t.correct)
    behind = [t for cell in found.off_diagonal for t in cell.trials]
    assert len(behind) + len(diagonal) == len(given_trials)


def test_inconclusive_and_invalid_have_columns_of_their_own_and_a_pair_has_a_row():
    pair = ("pool-wait", "cpu-throttling")
    found = matrix([trial(pair, pair[::-1]), trial((), ()), trial(pair, undecided=True)])
    assert found.rows == ("cpu-throttling + pool-wait", "none")
    assert found.columns == ("cpu-throttling + pool-wait", "none", "inconclusive", "invalid")
    assert found.counts == [[1, 0, 1, 0], [0, 1, 0, 0]]


def test_an_invalid_trial_is_invalid_whatever_was_diagnosed():
    assert trial(("database",), ("database",), invalid=True).column == "invalid"


def test_labels_are_in_the_order_of_the_ladder_and_the_ends_are_last():
    labels = [
        "invalid",
        "none",
        "zebra",
        "pool-wait",
        "cpu-throttling + pool-wait",
        "inconclusive",
        "database",
    ]
    assert sorted(labels, key=label_rank) == [
        "pool-wait",
        "database",
        "zebra",
        "cpu-throttling + pool-wait",
        "none",
        "inconclusive",
        "invalid",
    ]


# --- figures -----------------------------------------------------------------------------------------------


@given(trials)
def test_figures_count_what_they_say(given_trials):
    found = score(given_trials)
    valid = [t for t in given_trials if t.valid]
    assert found.trials == len(given_trials)
    assert found.correct.of == found.inconclusive.of == len(valid)
    assert found.invalid.hits == len(given_trials) - len(valid)
    assert found.false_alarms.of + sum(bool(t.truth) for t in valid) == len(valid)
    assert sum(e.correct.hits for e in found.experiments) == found.correct.hits
    for cause in found.causes:
        assert cause.precision.hits == cause.recall.hits  # both count the trials where it was true and named


@given(trials)
def test_a_score_has_a_strict_json_form(given_trials):
    assert to_json(score_json(score(given_trials)))


def test_known_answers():
    given_trials = [
        *[trial(["cpu-throttling"], ["cpu-throttling"], to_diagnosis_s=s) for s in (1.0, 2.0, 3.0)],
        trial(["cpu-throttling"], ["pool-wait"], to_diagnosis_s=9.0, interventions=3),
        trial(["cpu-throttling"], undecided=True, to_diagnosis_s=5.0),
        trial(["cpu-throttling"], invalid=True, to_diagnosis_s=None),
        trial(["pool-wait", "database"], ["pool-wait", "database"]),
        trial(["pool-wait", "database"], ["pool-wait"]),
        trial([], []),
        trial([], ["pool-wait"]),
        trial([], undecided=True),
    ]
    found = score(given_trials)
    cpu, pool = found.cause("cpu-throttling"), found.cause("pool-wait")
    assert (cpu.recall.hits, cpu.recall.of) == (3, 5)
    assert (cpu.precision.hits, cpu.precision.of) == (3, 3)
    assert (pool.recall.hits, pool.recall.of) == (2, 2)
    assert (pool.precision.hits, pool.precision.of) == (2, 4)
    assert (found.false_alarms.hits, found.false_alarms.of) == (1, 3)
    assert (found.pairs.hits, found.pairs.of) == (1, 2)
    assert (found.correct.hits, found.correct.of) == (5, 10)
    assert found.interventions.total == 12
    assert found.to_diagnosis_s.median == 9.5
    assert found.to_diagnosis_s.max == 10.0


def test_expected_to_be_inconclusive_is_a_row_and_no_cause():
    unsure = replace(trial((), undecided=True), truth=("inconclusive",), ruling=Ruling.CORRECT)
    found = score([unsure])
    assert found.causes == ()
    assert found.matrix.rows == ("inconclusive",)
    assert found.matrix.off_diagonal == ()
    assert found.false_alarms.of == 0


def test_runbooks_are_scored_apart_and_groups_of_experiments_together():
    given_trials = [
        trial(["database"], ["database"], group="decoys"),
        trial(["database"], ["network-path"], group="decoys", experiment="y"),
        trial(["database"], ["network-path"], runbook="classic"),
    ]
    classic, ladder = scores(given_trials)
    assert (classic.runbook, classic.trials, ladder.runbook, ladder.trials) == ("classic", 1, "ladder", 2)
    assert (ladder.group("decoys").correct.hits, ladder.group("decoys").correct.of) == (1, 2)
    assert classic.groups == ()


def test_a_trial_without_a_runbook_is_of_the_only_one():
    (found,) = scores([trial((), ()), replace(trial((), (), invalid=True), runbook="")])
    assert (found.runbook, found.trials, found.invalid.hits) == ("ladder", 2, 1)


# --- trials ------------------------------------------------------------------------------------------------


def test_trials_of_verdicts():
    found = of_verdicts([verdict(), verdict(ruling=Ruling.INVALID), verdict(ruling=Ruling.INCONCLUSIVE)])
    assert [t.column for t in found.trials] == ["cpu-throttling", "invalid", "inconclusive"]


def test_recordings_are_found_at_any_depth_and_once():
    found = read([RECORDED.parent, RECORDED, RECORDED / "none"])
    assert len(found.trials) == len({t.recording for t in found.trials}) == len(list(RECORDED.iterdir()))
    assert {t.runbook for t in found.trials} == {"ladder"}
    assert found.unfinished == ()


def test_a_trial_that_was_broken_off_is_named_and_not_scored(tmp_path):
    (tmp_path / "01-x").mkdir()
    (tmp_path / "01-x" / "trial.json").write_text('{"experiment": "x"}')
    found = read([tmp_path])
    assert found.trials == ()
    assert found.unfinished == (str(tmp_path / "01-x"),)


def test_a_folder_without_a_recording_is_said_so(tmp_path):
    with pytest.raises(UsageError, match="There is no recording"):
        read([tmp_path])
