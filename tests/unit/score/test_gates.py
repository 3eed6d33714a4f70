"""Gates: what they may say, where they are read, and what their sentences tell."""

import pytest

from chaoslat.errors import UsageError
from chaoslat.score import Demand, check, gate_of_project, parse_gate, score
from tests.unit.score.test_score import trial

GOOD = trial(["pool-wait"], ["pool-wait"])
MISS = trial(["pool-wait"], [])
QUIET, ALARM = trial([], []), trial([], ["database"])


def sentences(text, *trials):
    return [(each.held, each.sentence) for each in check(parse_gate(text), [score(list(trials))])]


def test_a_text_in_all_its_forms():
    assert parse_gate(" recall = 0.9 , recall.pool-wait=1,false_alarms=5%, ") == (
        Demand("recall", "each", 0.9),
        Demand("recall", "pool-wait", 1.0),
        Demand("false-alarms", "", 0.05),
    )
    assert parse_gate("") == parse_gate("none") == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("recall", "'recall' is not NAME=FRACTION"),
        ("speed=1", "knows no 'speed'; known: recall"),
        ("recall=1.5", "'1.5' is not a fraction"),
        ("recall=nan", "'nan' is not a fraction"),
        ("recall=-0.1", "is not a fraction"),
        ("pairs.x=0.5", "pairs has no parts"),
    ],
)
def test_a_text_that_makes_no_sense(text, why):
    with pytest.raises(UsageError, match=why) as error:
        parse_gate(text)
    assert "for example" in error.value.fix


@pytest.mark.parametrize(
    "toml",
    [
        'tool.chaoslat.gate = "recall=0.9, recall.pool-wait=1"',
        "[tool.chaoslat.gate]\nrecall = {each = 0.9, pool-wait = 1}",
        "[tool.chaoslat]\ngate = {recall = {each = '90%', 'pool-wait' = 1.0}}",
    ],
)
def test_the_projects_gate_as_text_and_as_table_from_a_folder_below(tmp_path, toml):
    (tmp_path / "pyproject.toml").write_text(toml)
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    wanted = (Demand("recall", "each", 0.9), Demand("recall", "pool-wait", 1.0))
    assert gate_of_project(below) == wanted


@pytest.mark.parametrize("toml", ["", "[tool.other]\nx = 1", "[tool]\nchaoslat = 3"])
def test_a_project_without_a_gate(tmp_path, toml):
    (tmp_path / "pyproject.toml").write_text(toml)
    assert gate_of_project(tmp_path) == ()


@pytest.mark.parametrize(
    "toml", ["[tool", "[tool.chaoslat]\ngate = 3", "[tool.chaoslat.gate]\nrecall = true"]
)
def test_a_project_that_makes_no_sense_is_named(tmp_path, toml):
    (tmp_path / "pyproject.toml").write_text(toml)
    with pytest.raises(UsageError) as error:
        gate_of_project(tmp_path)
    assert "pyproject.toml" in error.value.where


def test_each_cause_is_held_to_its_own_bound():
    cpu = trial(["cpu-throttling"], ["cpu-throttling"])
    found = sentences("recall=0.9, recall.pool-wait=0.5", cpu, GOOD, MISS)
    assert [(held, text.partition(":")[0]) for held, text in found] == [
        (True, "gate recall of cpu-throttling"),
        (True, "gate recall of pool-wait"),
    ]


def test_a_missed_gate_says_by_how_much():
    ((held, text),) = sentences("recall=0.9", GOOD, MISS)
    assert not held
    assert text == (
        "gate recall of pool-wait: not met, 50 % (1 of 2, 95 % interval 1 to 99 %); at least 90 % is required, "
        "short by 40 percentage points"
    )
    ((held, text),) = sentences("false-alarms=5%", QUIET, QUIET, QUIET, ALARM)
    assert not held
    assert text.endswith("at most 5 % is required, over by 20 percentage points")


@pytest.mark.parametrize(("hits", "of", "bound"), [(9, 10, "0.9"), (19, 20, "95%"), (2, 3, "0.6")])
def test_a_bound_that_is_just_reached_holds(hits, of, bound):
    ((held, _),) = sentences(f"recall={bound}", *[GOOD] * hits, *[MISS] * (of - hits))
    assert held


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("recall.database=0.5", "no valid trial had this cause"),
        ("false-alarms=0.5", "no valid trial was without a fault"),
        ("pairs=0.5", "no valid trial had several causes"),
        ("correct.decoys=0.5", "no valid trial"),
    ],
)
def test_what_no_trial_could_test_is_not_met(text, why):
    ((held, sentence),) = sentences(text, GOOD)
    assert not held
    assert why in sentence


def test_a_cause_whose_trials_were_all_invalid_is_not_met():
    ((held, sentence),) = sentences("recall=0.5", trial(["database"], invalid=True))
    assert not held
    assert sentence.startswith("gate recall of database: not met, no valid trial had this cause")


def test_a_cause_that_was_only_a_false_alarm_is_not_asked_for_its_recall():
    found = sentences("recall=0.5", GOOD, ALARM)
    assert [text.partition(":")[0] for _, text in found] == ["gate recall of pool-wait"]


def test_no_trial_meets_no_gate():
    assert [each.held for each in check(parse_gate("recall=0,invalid=1"), [])] == [False, False]


def test_several_runbooks_are_each_held_to_it_by_name():
    found = check(parse_gate("correct=1"), [score([GOOD], "ladder"), score([MISS], "classic")])
    assert [(each.held, each.sentence.partition(":")[0]) for each in found] == [
        (True, "ladder"),
        (False, "classic"),
    ]
