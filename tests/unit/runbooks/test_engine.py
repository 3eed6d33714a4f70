"""The engine: order, when it stops, and the three end states."""

import pytest

from chaoslat.errors import ExperimentError, UsageError
from chaoslat.model import Outcome
from chaoslat.runbooks import STEPS, load, names
from chaoslat.runbooks.base import Answer, Case, StepDef, StepParams
from chaoslat.runbooks.engine import Planned, Runbook, diagnose
from tests.doubles import VirtualTime, requests


class Quiet(VirtualTime):
    """Unit-test double: an operator whose latency is a constant."""

    def __init__(self, latency_ms=5.0):
        super().__init__()
        self.latency_ms = latency_ms

    async def requests(self, since_s, until_s):
        return requests([self.latency_ms] * 200, start_s=since_s)


def step(name, outcome, cause=None, **finding):
    async def run(_case, _params):
        return made.finding(outcome, f"{name} says {outcome}", **finding)

    made = StepDef(name, name if cause is None else cause, f"is it {name}?", StepParams, run)
    return Planned(made, StepParams())


async def run(*steps, operator=None, closing_look=True):
    runbook = Runbook("test", "", steps, closing_look)
    return await diagnose(runbook, operator or Quiet(), slo_ms=30.0, seed=1, progress=lambda _line: None)


async def test_a_step_that_settles_ends_the_ladder():
    found = await run(step("a", Outcome.IMPLICATED, settles=True), step("b", Outcome.IMPLICATED))
    assert found.causes == ("a",)
    assert [f.step for f in found.findings] == ["a"]


async def test_a_step_that_implicates_without_settling_lets_the_ladder_go_on():
    found = await run(step("a", Outcome.IMPLICATED), step("b", Outcome.IMPLICATED, settles=True))
    assert found.causes == ("a", "b")


async def test_all_cleared_and_the_tail_gone_is_none():
    found = await run(step("a", Outcome.CLEARED), step("b", Outcome.CLEARED))
    assert found.label == "none"
    assert found.findings[-1].step == "closing-look"


async def test_all_cleared_and_the_tail_still_there_is_inconclusive_with_the_reason():
    found = await run(step("a", Outcome.CLEARED), operator=Quiet(80.0))
    assert found.inconclusive
    assert "no step of this runbook explains it" in found.missing[0]


async def test_an_inconclusive_step_without_any_cause_is_inconclusive():
    found = await run(step("a", Outcome.INCONCLUSIVE), step("b", Outcome.CLEARED))
    assert found.inconclusive
    assert found.missing == ("a: a says inconclusive",)


async def test_no_symptom_ends_the_ladder_with_none():
    found = await run(step("symptom", Outcome.CLEARED, cause="", settles=True), step("a", Outcome.IMPLICATED))
    assert found.label == "none"
    assert found.findings[-1].step == "symptom"


async def test_every_finding_has_its_time():
    found = await run(step("a", Outcome.CLEARED), closing_look=False)
    assert found.findings[0].started_s > 0
    assert found.took_s >= 0


@pytest.mark.parametrize("name", names())
def test_the_runbooks_that_come_along_load(name):
    assert load(name).steps


def test_every_step_has_a_name_of_its_own():
    assert len({s.name for s in STEPS}) == len(STEPS)


def test_an_unknown_runbook_gets_the_known_names():
    with pytest.raises(UsageError, match="no runbook"):
        load("laddder")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("apiVersion: chaoslat/v1\nkind: Runbook\nname: x\nsteps:\n  - symptom\n  - cpu-limt\n", ":6"),
        ("apiVersion: chaoslat/v1\nkind: Runbook\nname: x\nsteps:\n  - symptom:\n      windw_s: 3\n", ":5"),
        ("apiVersion: chaoslat/v1\nkind: Runbook\nnme: x\nsteps: [symptom]\n", ":3"),
        ("apiVersion: chaoslat/v1\nkind: Runbook\nname: x\nsteps: []\n", ":4"),
        ("- a\n- b\n", ""),
        ("a: [\n", ""),
        ("", ""),
    ],
)
def test_a_bad_runbook_file_gets_file_and_line(tmp_path, text, where):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ExperimentError) as caught:
        load(str(path))
    assert f"{path}{where}" in caught.value.where


def test_a_runbook_that_is_not_there(tmp_path):
    with pytest.raises(ExperimentError, match="cannot be read"):
        load(str(tmp_path / "none.yaml"))


def compared(outcomes):
    """A step that compares, and says at each call the next of these outcomes."""
    said = iter(outcomes)

    async def run(case, _params):
        outcome = next(said)
        if case.answers is None:
            case.intervene("randomised blocks")
            case.answers = {"compared": Answer(str(outcome), 1.0, 0.0, ())}
            case.compared, case.compared_after = ("compared",), len(case.interventions)
        return made.finding(outcome, str(outcome), settles=outcome is Outcome.IMPLICATED)

    made = StepDef("compared", "compared", "is it compared?", StepParams, run)
    return Planned(made, StepParams())


def cures(settles):
    async def run(case, _params):
        case.intervene("cured")
        return made.finding(Outcome.IMPLICATED, "cured", settles=settles, interventions=("cured",))

    made = StepDef("cures", "cures", "is it cured?", StepParams, run)
    return Planned(made, StepParams())


@pytest.fixture
def looks(monkeypatch):
    seen = []

    async def observe(_case, duration_s):
        seen.append(duration_s)

    monkeypatch.setattr(Case, "observe", observe)
    return seen


@pytest.mark.parametrize("first", [Outcome.CLEARED, Outcome.INCONCLUSIVE])
async def test_what_was_compared_beside_a_cause_is_compared_again_without_it(looks, first):
    found = await run(compared([first, Outcome.IMPLICATED]), cures(settles=False))
    assert set(found.causes) == {"cures", "compared"}
    assert [f.step for f in found.findings] == ["cures", "compared"]
    assert found.missing == ()
    assert looks == [10.0]


async def test_nothing_is_asked_again_where_the_cure_was_enough_or_nothing_was_compared(looks):
    assert (await run(compared([Outcome.CLEARED]), cures(settles=True))).causes == ("cures",)
    assert (await run(cures(settles=False), step("a", Outcome.CLEARED))).causes == ("cures",)
    assert (await run(compared([Outcome.CLEARED]), step("a", Outcome.IMPLICATED))).causes == ("a",)
    assert looks == []


def asked(outcomes):
    """A step that looks, and says at each call the next of these outcomes."""
    said = iter(outcomes)

    async def run(_case, _params):
        outcome = next(said)
        return made.finding(outcome, str(outcome), settles=outcome is Outcome.IMPLICATED)

    made = StepDef("asked", "asked", "is it asked?", StepParams, run)
    return Planned(made, StepParams())


@pytest.mark.parametrize("first", [Outcome.CLEARED, Outcome.INCONCLUSIVE])
async def test_a_smaller_part_of_the_tail_is_looked_at_again_once_the_larger_is_cured(looks, first):
    found = await run(asked([first, Outcome.IMPLICATED]), cures(settles=False), step("b", Outcome.CLEARED))
    assert found.causes == ("cures", "asked")
    assert looks == [10.0]


async def test_what_was_compared_together_with_the_cure_is_not_compared_again(looks):
    async def run_both(case, _params):
        case.intervene("randomised blocks")
        case.answers = {"one": Answer("cleared", 1.0, 1.0, ()), "other": Answer("implicated", 1.0, 0.0, ())}
        case.compared, case.compared_after = ("one", "other"), len(case.interventions)
        return [
            StepDef("one", "one", "", StepParams, run_both).finding(Outcome.CLEARED, ""),
            StepDef("other", "other", "", StepParams, run_both).finding(
                Outcome.IMPLICATED, "", interventions=("lifted",)
            ),
        ]

    both = Planned(StepDef("both", "both", "", StepParams, run_both), StepParams())
    assert (await run(both, step("b", Outcome.CLEARED))).causes == ("other",)
    assert looks == []
