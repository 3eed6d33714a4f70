"""--chaos-repeat, --chaos-gate, --chaos-report and --chaos-summary."""

import json
from xml.etree import ElementTree

import pytest

from chaoslat.seeds import trial_seed
from tests import session_doubles

SEED = ("-m", "chaos", "--chaos-seed", "4711", "--chaos-out", "out")


def gate(project, text):
    (project.path / "pyproject.toml").write_text(f"[tool.chaoslat]\ngate = {json.dumps(text)}\n")


def seeds(project):
    return [int(line.split()[1]) for line in session_doubles.ran(project.path)]


# --- repeat ------------------------------------------------------------------------------------------------


def test_repeats_go_in_turns_and_have_numbers_and_seeds(project):
    project.experiment("other")
    result = project.run(*SEED, "experiments", "--chaos-repeat", "2", "-v")
    result.assert_outcomes(passed=4)
    assert project.ran == ["cpu-limit", "other", "cpu-limit", "other"]
    assert seeds(project) == [trial_seed(4711, name, i) for i in (0, 1) for name in ("cpu-limit", "other")]
    result.stdout.fnmatch_lines(["*cpu-limit[[]1]*", "*other[[]1]*", "*cpu-limit[[]2]*", "*other[[]2]*"])


def test_one_repeat_alone_has_the_seed_that_it_had_among_the_others(project):
    project.run(*SEED, "experiments/cpu-limit.yaml::cpu-limit[3]", "--chaos-repeat", "3")
    assert seeds(project) == [trial_seed(4711, "cpu-limit", 2)]


def test_without_repeats_an_item_is_called_as_its_experiment(project):
    result = project.run(*SEED, "experiments", "-v")
    result.stdout.fnmatch_lines(["*cpu-limit.yaml::cpu-limit PASSED*"])
    assert seeds(project) == [trial_seed(4711, "cpu-limit", 0)]


def test_repeats_show_the_matrix(project):
    result = project.run(*SEED, "experiments", "--chaos-repeat", "3")
    result.stdout.fnmatch_lines(
        [
            "runbook ladder: 3 of 3 diagnosed right (100 %, 95 % interval 29 to 100 %)",
            "truth * diagnosis*cpu-throttling*inconclusive*invalid",
            "cpu-throttling *3*",
        ]
    )


def test_repeats_are_the_ini_files_too(project):
    project.pytester.makeini("[pytest]\nchaos_repeat = 2\n")
    project.run(*SEED, "experiments")
    assert project.ran == ["cpu-limit"] * 2


@pytest.mark.parametrize("text", ["0", "-1", "x", "1.5", "1001", ""])
def test_a_number_of_repeats_that_makes_no_sense(project, text):
    result = project.run(*SEED, "experiments", f"--chaos-repeat={text}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--chaos-repeat*is not a whole number from 1*"])


# --- gate --------------------------------------------------------------------------------------------------


def test_under_a_gate_that_is_met_a_wrong_trial_is_counted_and_not_failed(project):
    project.experiment("wrong-a")
    result = project.run(*SEED, "experiments", "-ra", "--chaos-gate", "recall=0.5")
    result.assert_outcomes(passed=1, xfailed=1)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        [
            "gate recall of cpu-throttling: met, 50 % (1 of 2, *); at least 50 % is required",
            "XFAIL experiments/wrong-a.yaml::wrong-a*left to the gate: misattributed*",
        ]
    )


def test_a_gate_that_is_missed_fails_the_session_and_says_by_how_much(project):
    project.experiment("wrong-a")
    gate(project, "recall=0.9")
    result = project.run(*SEED, "experiments")
    result.assert_outcomes(passed=1, xfailed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["FAIL gate recall of cpu-throttling: not met, 50 % *at least 90 % is required, short by 40 perc*"]
    )


def test_what_was_not_measured_is_not_met(project):
    result = project.run(*SEED, "experiments", "--chaos-gate", "false-alarms=0.05")
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["FAIL gate false-alarms: not met, no valid trial was without a fault; at most 5 %*"]
    )


@pytest.mark.parametrize(("text", "failed"), [("recall=0.5", 1), ("recall=0.5,invalid=0.5", 0)])
def test_an_invalid_trial_fails_unless_the_gate_says_how_many_may_be(project, text, failed):
    project.experiment("invalid-a")
    result = project.run(*SEED, "experiments", "--chaos-gate", text)
    result.assert_outcomes(passed=1, failed=failed, xfailed=1 - failed)
    assert result.ret == (pytest.ExitCode.TESTS_FAILED if failed else pytest.ExitCode.OK)


def test_an_inconclusive_trial_is_not_found(project):
    project.experiment("unsure-a")
    result = project.run(*SEED, "experiments", "--chaos-gate", "recall=1")
    result.stdout.fnmatch_lines(["FAIL gate recall of cpu-throttling: not met, 50 %*"])


def test_the_command_line_can_put_the_projects_gate_out_of_force(project):
    gate(project, "false-alarms=0")
    result = project.run(*SEED, "experiments", "--chaos-gate", "none")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.no_fnmatch_line("*gate false*")


def test_a_gate_does_not_bear_on_a_run_without_trials(project):
    gate(project, "recall=1")
    for args in ((), ("-m", "not chaos"), ("-m", "chaos", "-k", "marked"), ("-m", "chaos", "--collect-only")):
        assert project.run(*args).ret == pytest.ExitCode.OK
    assert project.ran == ["marked"]


def test_skipped_experiments_do_not_meet_a_gate(project, monkeypatch):
    monkeypatch.setattr("chaoslat.capabilities.missing", lambda _needs: ("root",))
    result = project.run(*SEED, "experiments", "--chaos-gate", "recall=0.5")
    result.assert_outcomes(skipped=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["FAIL gate recall of each cause: not met, no trial was scored"])


@pytest.mark.parametrize("text", ["recall", "speed=1", "recall=2", "recall=x", "false-alarms.none=0.1"])
def test_a_gate_that_makes_no_sense_is_a_usage_error_before_anything_is_injected(project, text):
    result = project.run(*SEED, "experiments", f"--chaos-gate={text}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*the gate makes no sense*", "*where: --chaos-gate*"])
    assert project.ran == []


def test_a_bad_gate_in_the_project_names_the_file(project):
    gate(project, "recall=7")
    assert project.run().ret == pytest.ExitCode.OK  # nobody asked for chaos
    result = project.run(*SEED, "experiments")
    result.stderr.fnmatch_lines(["*pyproject.toml, [[]tool.chaoslat] gate*"])


def test_a_gate_holds_through_xdist(project):
    pytest.importorskip("xdist")
    project.experiment("wrong-a")
    result = project.run_apart("-m", "chaos", "experiments", "-n", "1", "--chaos-gate", "recall=0.9")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["FAIL gate recall of cpu-throttling: not met*"])


# --- files -------------------------------------------------------------------------------------------------


def test_the_report_and_the_summary_are_written_where_they_are_wanted(project):
    project.experiment("wrong-a")
    project.run(*SEED, "experiments", "--chaos-report", "r/report.html", "--chaos-summary", "s.md")
    page = (project.path / "r/report.html").read_text()
    assert "confusion matrix" in page.lower()
    assert page.count('class="trial"') == 2
    summary = (project.path / "s.md").read_text()
    assert "| cpu-throttling | 1 | 1 |" in summary
    assert json.loads((project.path / "out/summary.json").read_text())["scores"][0]["trials"] == 2


def test_the_job_page_is_added_to(project, monkeypatch):
    page = project.path / "job.md"
    page.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    project.run(*SEED, "experiments", "--chaos-summary", str(page), "--chaos-gate", "recall=1")
    text = page.read_text()
    assert text.startswith("before\n# chaoslat")
    assert "✅ gate recall of cpu-throttling: met" in text


def test_a_report_that_cannot_be_written_fails_the_session_with_the_reason(project):
    (project.path / "file").write_text("")
    result = project.run(*SEED, "experiments", "--chaos-report", "file/r.html")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["The report cannot be written", "*where: *file/r.html"])


def test_junit_has_a_case_for_each_repeat(project):
    project.run(*SEED, "experiments", "--chaos-repeat", "2", "--junitxml", "j.xml")
    cases = list(ElementTree.parse(project.path / "j.xml").iter("testcase"))
    assert [case.get("name") for case in cases] == ["cpu-limit[1]", "cpu-limit[2]"]
    found = [{p.get("name"): p.get("value") for p in case.iter("property")} for case in cases]
    assert [p["seed"] for p in found] == [str(trial_seed(4711, "cpu-limit", i)) for i in (0, 1)]
