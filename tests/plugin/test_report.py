"""What a chaos run shows: header, table, failures, JUnit, summary files."""

import json
from xml.etree import ElementTree

import pytest

SEED = ("-m", "chaos", "--chaos-seed", "4711")


def test_header_and_table(project):
    result = project.run(*SEED, "experiments", "--chaos-out", "out")
    result.stdout.fnmatch_lines(
        [
            "chaoslat: backend local, seed 4711, runbook of each experiment, recordings out",
            "*= chaoslat =*",
            "*experiment*injected*diagnosed*ruling*p95/p99*",
            "*cpu-limit*cpu-throttling*cpu-throttling*correct*12.0 / 55.0*12.5*40.0*",
            "1 of 1 diagnosed right",
            "report:  out",
            "seed:    4711",
            "machine: *cores*",
        ]
    )


def test_a_drawn_seed_is_shown_and_is_the_folders(project):
    result = project.run("-m", "chaos", "experiments")
    (folder,) = (project.path / "chaos-out").iterdir()
    seed = folder.name.rpartition("-")[2]
    result.stdout.fnmatch_lines([f"chaoslat: backend local, seed {seed},*", f"seed:    {seed}"])


def test_summary_files(project):
    project.experiment("wrong-a")
    project.run(*SEED, "experiments", "--chaos-out", "out")
    data = json.loads((project.path / "out/summary.json").read_text())
    assert (data["seed"], data["score"]) == (4711, "1 of 2 diagnosed right")
    assert "| wrong-a |" in (project.path / "out/summary.md").read_text()


def test_a_wrong_diagnosis_fails_with_findings_and_evidence(project):
    project.experiment("wrong-a")
    result = project.run(*SEED, "experiments/wrong-a.yaml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*misattributed: injected cpu-throttling, diagnosed pool-wait*",
            "*step cpu-limit: implicated: half of the periods were throttled*",
            "*throttled periods: 0.5 fraction (50 of 100)*",
            "*trial of wrong-a*",  # progress, captured
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*items.py*")
    result.stdout.fnmatch_lines(["FAILED experiments/wrong-a.yaml::wrong-a - misattributed: injected*"])


@pytest.mark.parametrize(
    ("name", "message"),
    [("invalid-a", "invalid: no steady state"), ("unsure-a", "inconclusive: because pool-wait*")],
)
def test_invalid_and_inconclusive_fail_with_their_own_word(project, name, message):
    project.experiment(name)
    result = project.run(*SEED, f"experiments/{name}.yaml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([message, f"FAILED experiments/{name}.yaml::{name}*"])


def test_the_score_leaves_out_what_is_invalid(project):
    project.experiment("invalid-a")
    result = project.run(*SEED, "experiments")
    result.stdout.fnmatch_lines(["1 of 1 diagnosed right, 1 invalid", "report:*"])


def test_junit_properties(project):
    project.experiment("wrong-a")
    project.run(*SEED, "experiments", "--chaos-out", "out", "--junitxml", "junit.xml")
    cases = {
        case.get("name"): case for case in ElementTree.parse(project.path / "junit.xml").iter("testcase")
    }
    properties = {p.get("name"): p.get("value") for p in cases["wrong-a"].iter("property")}
    seed = properties.pop("seed")
    assert seed.isdigit()
    assert properties.pop("recording").endswith("/out/02-wrong-a")
    assert properties == {
        "truth": "cpu-throttling",
        "diagnosis": "pool-wait",
        "ruling": "misattributed",
        "seconds": "12.5",
    }
    assert "step cpu-limit" in cases["wrong-a"].find("failure").text
    assert cases["cpu-limit"].find("failure") is None


def test_a_python_test_is_in_the_table_and_shows_its_findings_when_it_fails(project):
    project.experiment("wrong-a")
    project.pytester.makepyfile(
        test_own="def test_own(chaos_trial):\n    assert chaos_trial('wrong-a').ruling == 'correct'\n"
    )
    result = project.run(*SEED, "test_own.py")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*Captured chaoslat call*", "*step cpu-limit: implicated*", "*wrong-a*misattributed*"]
    )


def test_a_broken_file_fails_with_file_line_and_key_without_the_mark(project):
    project.experiment("broken", "apiVersion: chaoslat/v1\nkind: Experiment\nname: x\nexpect: []\nslo: 3\n")
    for args in ((), ("-m", "not chaos"), ("-m", "chaos")):
        result = project.run(*args, "experiments/broken.yaml")
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(
            ["*experiments/broken.yaml:5: slo: unknown key 'slo'*did you mean slo_ms?*"]
        )
        result.stdout.no_fnmatch_line("*Traceback*")
    assert project.ran == []


def test_a_broken_file_does_not_keep_the_others_from_running(project):
    project.experiment("broken", "apiVersion: chaoslat/v1\n")
    project.run("-m", "chaos", "experiments").assert_outcomes(passed=1, failed=1)


def test_nothing_is_shown_where_nothing_was_asked_and_nothing_is_ours(pytester, project):
    (project.path / "experiments/cpu-limit.yaml").unlink()
    pytester.makepyfile(test_mine="def test_plain():\n    pass\n")
    result = project.run()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*chaoslat: backend*")
    result.stdout.no_fnmatch_line("*= chaoslat =*")
