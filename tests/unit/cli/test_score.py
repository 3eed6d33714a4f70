"""`chaoslat score`, `report` and `compare` on recorded trials."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chaoslat.cli import app
from chaoslat.model import Ruling
from chaoslat.recording import Recording
from tests.session_doubles import DoubleBackend, DoubleCustody, ran, session, verdict

RECORDED = Path(__file__).parents[3] / "fixtures" / "recordings" / "trials"
BRIEF = "brief.yaml"
RUNBOOK = """apiVersion: chaoslat/v1
kind: Runbook
name: brief
closing_look: false
steps:
  - symptom
  - cpu-limit
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Outside the project, so that its gate is not ours."""
    monkeypatch.chdir(tmp_path)


def invoke(*args):
    return CliRunner().invoke(app, [*map(str, args)])


def made(folder, name, runbook, ruling=Ruling.CORRECT, seed=7):
    """A recording of a verdict, without calls."""
    recording = Recording(folder)
    given = verdict(name, ruling=ruling, seed=seed)
    recording.describe(experiment=name, runbook=runbook, seed=seed, slo_ms=30.0)
    recording.verdict(given)


# --- score -------------------------------------------------------------------------------------------------


def test_the_recorded_trials():
    result = invoke("score", RECORDED)
    assert result.exit_code == 0
    assert "runbook ladder: 5 of 5 diagnosed right (100 %, 95 % interval 48 to 100 %)" in result.stdout
    assert all(word in result.stdout for word in ("confusion matrix", "Clopper-Pearson", "time to diagnosis"))


def test_a_gate_decides_the_exit_code():
    assert invoke("score", RECORDED, "--gate", "recall=1,false-alarms=0").exit_code == 0
    missed = invoke("score", RECORDED, "--gate", "pairs=0.8")
    assert missed.exit_code == 1
    assert "FAIL gate pairs: not met, no valid trial had several causes" in missed.stdout
    assert invoke("score", RECORDED, "--gate", "nonsense=1").exit_code == 2


def test_the_projects_gate_holds_and_can_be_put_out_of_force(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.chaoslat.gate]\npairs = 0.8\n")
    assert invoke("score", RECORDED).exit_code == 1
    assert invoke("score", RECORDED, "--gate", "none").exit_code == 0


def test_json_is_the_result_and_nothing_else(tmp_path):
    made(tmp_path / "run" / "01-x", "cpu-limit", "ladder", Ruling.MISATTRIBUTED)
    data = json.loads(invoke("score", RECORDED, "run", "--json", "--gate", "recall=0.9").stdout)
    (score,) = data["scores"]
    assert sum(map(sum, score["matrix"]["counts"])) == score["trials"] == 6
    (mistake,) = score["matrix"]["off_diagonal"]
    assert mistake["trials"][0]["recording"].endswith("run/01-x")
    assert data["gate"]["held"] is False
    assert {d["held"] for d in data["gate"]["demands"]} == {True, False}


def test_markdown_and_html_files(tmp_path):
    made(tmp_path / "run" / "01-a_b", "cpu-limit", "ladder", Ruling.MISATTRIBUTED)
    result = invoke("score", RECORDED, "run", "--markdown", "s.md", "--html", "r.html", "--gate", "recall=0")
    assert result.exit_code == 0
    text = Path("s.md").read_text()
    assert "| truth \\\\ diagnosis | cpu-throttling | pool-wait |" in text
    assert "run/01-a\\_b" in text
    assert "## Gate" in text
    assert Path("r.html").read_text().startswith("<!doctype html>")


def test_markdown_is_written_anew_but_added_to_a_job_page(monkeypatch):
    for _ in range(2):
        invoke("score", RECORDED, "--markdown", "s.md")
    assert Path("s.md").read_text().count("Confusion matrix") == 1
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(Path("s.md").absolute()))
    invoke("score", RECORDED, "--markdown", "s.md")
    assert Path("s.md").read_text().count("Confusion matrix") == 2


def test_a_trial_that_was_broken_off_is_named(tmp_path):
    Recording(tmp_path / "run" / "01-x").describe(experiment="x", runbook="ladder", seed=1)
    result = invoke("score", RECORDED, "run")
    assert "broken off, without a verdict: run/01-x" in result.stdout


def test_a_folder_without_recordings_is_a_usage_error(tmp_path):
    result = invoke("score", tmp_path)
    assert result.exit_code == 2
    assert "There is no recording" in result.stderr


# --- report ------------------------------------------------------------------------------------------------


def test_report_writes_one_file():
    result = invoke("report", RECORDED, "-o", "out/r.html", "--json")
    assert json.loads(result.stdout) == {"report": "out/r.html", "trials": 5, "unfinished": []}
    assert Path("out/r.html").read_text().count('<article class="trial"') == 5


# --- compare -----------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def brief(tmp_path):
    """A team's own runbook: a part of ours."""
    (tmp_path / BRIEF).write_text(RUNBOOK)


def test_two_runbooks_on_one_recording_where_it_answers_both():
    """The brief one asks the first questions of the recorded one, and no more: it cannot find what comes later."""
    result = invoke("compare", BRIEF, "ladder", RECORDED / "network-latency", RECORDED / "none", "--json")
    data = json.loads(result.stdout)
    assert result.exit_code == 0, result.stderr
    assert [pair["how"] for pair in data["pairs"]] == ["one recording"] * 2
    paired = data["paired"]
    assert (paired["both"], paired["only_a"], paired["only_b"]) == (1, 0, 1)
    assert (paired["difference"], paired["p_value"]) == (-0.5, 1.0)
    assert "McNemar" in data["formula"]


def test_the_comparison_in_words():
    text = invoke("compare", BRIEF, "ladder", RECORDED / "network-latency", RECORDED / "none").stdout
    assert "runbook brief: 1 of 2 diagnosed right" in text
    assert "2 pairs of one recording, 0 of two recordings with one seed" in text
    assert "difference, brief less ladder  -50.0 percentage points (95 % interval" in text


def test_what_a_recording_does_not_answer_is_said_with_the_way_out():
    result = invoke("compare", "ladder", "classic", RECORDED)
    assert result.exit_code == 4
    assert "5 of 5 trials are not in the comparison" in result.stdout
    assert "no answer for classic: the recording holds no further answer to sleep" in result.stdout
    assert f"chaoslat compare ladder classic {RECORDED} --live" in result.stdout


def test_two_recordings_of_one_seed_are_a_pair(tmp_path):
    shutil.copytree(RECORDED / "none", tmp_path / "run" / "01-none")
    about = json.loads((tmp_path / "run" / "01-none" / "trial.json").read_text())
    made(tmp_path / "run" / "02-none", "none", "classic", Ruling.FALSE_ALARM, seed=about["seed"])
    (tmp_path / "run" / "02-none" / "operator.jsonl").write_text("")
    shutil.copy(RECORDED / "none" / "latencies.bin", tmp_path / "run" / "02-none")
    data = json.loads(invoke("compare", "ladder", "classic", "run", "--json").stdout)
    assert [pair["how"] for pair in data["pairs"]] == ["one seed"]
    assert (data["paired"]["only_a"], data["paired"]["difference"]) == (1, 1.0)


def test_one_name_twice_is_a_usage_error():
    result = invoke("compare", "ladder", "ladder", RECORDED)
    assert result.exit_code == 2
    assert "both runbooks are called 'ladder'" in result.stderr


def test_live_runs_what_is_missing_with_the_recorded_seed(tmp_path, monkeypatch):
    folder = tmp_path / "experiments" / "decoys"
    folder.mkdir(parents=True)
    head = "apiVersion: chaoslat/v1\nkind: Experiment\n"
    (folder / "none.yaml").write_text(head + "name: none\nsymptom: none\nexpect: [none]\n")

    def open_session(_name, out, seed, show, keep):
        return session(
            out, seed=seed, progress=show, keep=keep, backend=DoubleBackend(), custody=DoubleCustody()
        )

    monkeypatch.setattr("chaoslat.cli.run.open_session", open_session)
    invoke("compare", "ladder", "classic", RECORDED / "none", "--live", "--out", "live")
    seed = json.loads((RECORDED / "none" / "trial.json").read_text())["seed"]
    assert ran(tmp_path) == [f"none {seed} classic"]


def test_live_without_the_experiment_says_where_to_run_it(monkeypatch):
    monkeypatch.setattr("chaoslat.experiment._own_folder", list)
    result = invoke("compare", "ladder", "classic", RECORDED / "none", "--live", "--out", "live")
    assert result.exit_code == 2
    assert "The experiment 'none' of a recording is not here" in result.stderr
