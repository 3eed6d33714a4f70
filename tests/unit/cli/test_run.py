"""`chaoslat run` on doubles of backend, custody and trial: order, files, exit codes, JSON."""

import json

import pytest
from typer.testing import CliRunner

from chaoslat.cli import app, exits
from chaoslat.errors import Busy, EnvironmentMissing
from chaoslat.model import Ruling
from tests.session_doubles import DoubleBackend, DoubleCustody, ran, session, verdict

HEAD = "apiVersion: chaoslat/v1\nkind: Experiment\n"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A project with experiments, in which a double takes the machine's place."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "experiments"
    folder.mkdir()
    for name in ("fine", "wrong-a", "invalid-a", "unsure-a"):
        (folder / f"{name}.yaml").write_text(
            HEAD + f"name: {name}\nfaults: [cpu-limit]\nexpect: [cpu-throttling]\n"
        )
    (folder / "broken.yaml").write_text(HEAD + "name: broken\nexpect: []\nslo: 3\n")


@pytest.fixture(autouse=True)
def doubles(monkeypatch):
    """What the command would do to the machine, noted."""
    custody, backend = DoubleCustody(), DoubleBackend()

    def open_session(name, folder, seed, show, keep):
        return session(folder, seed=seed, progress=show, keep=keep, backend=backend, custody=custody)

    monkeypatch.setattr("chaoslat.cli.run.open_session", open_session)
    return backend, custody


def invoke(*args):
    return CliRunner().invoke(app, [*args])


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["fine"], 0),
        (["wrong-a"], 1),
        (["invalid-a"], 4),
        (["unsure-a"], 4),
        (["invalid-a", "wrong-a", "fine"], 1),
        (["fine", "unsure-a"], 4),
    ],
)
def test_exit_codes(names, code):
    assert invoke("run", *names).exit_code == code


@pytest.mark.parametrize("ruling", Ruling)
def test_every_ruling_has_an_exit_code(ruling):
    expected = {Ruling.CORRECT: 0, Ruling.INVALID: 4, Ruling.INCONCLUSIVE: 4}.get(ruling, 1)
    assert exits.of_verdicts([verdict(ruling=ruling)]) == expected


def test_table_seed_and_report_path():
    result = invoke("run", "fine", "experiments/wrong-a.yaml", "--seed", "9", "--out", "here")
    assert "1 of 2 diagnosed right" in result.stdout
    assert "seed:    9" in result.stdout
    assert "report:  here" in result.stdout
    assert "wrong-a: misattributed: as it is" in result.stdout
    assert "experiment 1 of 2: fine" in result.stderr


def test_json_is_pure_and_whole():
    result = invoke("run", "fine", "wrong-a", "--seed", "9", "--json")
    data = json.loads(result.stdout)
    assert (data["seed"], data["backend"], data["score"]) == (9, "local", "1 of 2 diagnosed right")
    assert [(t["experiment"], t["ruling"], t["good"]) for t in data["trials"]] == [
        ("fine", "correct", True),
        ("wrong-a", "misattributed", False),
    ]
    assert data["verdicts"][0]["diagnosis"]["findings"][0]["evidence"][0]["value"] == 0.5
    assert data["kept"] is None


def test_summary_files_are_left(tmp_path):
    invoke("run", "fine", "--seed", "9", "--out", "here")
    assert json.loads((tmp_path / "here/summary.json").read_text())["seed"] == 9
    assert "| fine |" in (tmp_path / "here/summary.md").read_text()


def test_a_drawn_seed_is_printed_and_names_the_folder(tmp_path):
    result = invoke("run", "fine", "--json")
    seed = json.loads(result.stdout)["seed"]
    assert f"seed {seed}" in result.stderr
    assert [path.name.endswith(f"-{seed}") for path in (tmp_path / "chaos-out").iterdir()] == [True]


def test_options_may_come_before_the_command():
    before = json.loads(invoke("--json", "--seed", "5", "--out", "a", "run", "fine").stdout)
    after = json.loads(invoke("run", "fine", "--json", "--seed", "5", "--out", "b").stdout)
    assert (before["out"], after["out"]) == ("a", "b")
    assert before["trials"][0]["seed"] == after["trials"][0]["seed"]
    assert json.loads(invoke("--json", "--seed", "5", "run", "fine", "--seed", "6").stdout)["seed"] == 6


def test_the_runbook_is_passed_on_and_checked_first():
    invoke("run", "fine", "--runbook", "classic")
    assert [line.split()[2] for line in ran()] == ["classic"]
    result = invoke("run", "fine", "--runbook", "clasic")
    assert result.exit_code == 2
    assert "known: classic, ladder" in result.stderr
    assert len(ran()) == 1


@pytest.mark.parametrize("names", [["fine", "broken"], ["nope"], ["broken", "nope"], ["experiments"]])
def test_nothing_runs_when_a_file_is_bad(names, doubles):
    result = invoke("run", *names)
    assert result.exit_code == 2
    assert ran() == []
    assert doubles[1].calls == []
    assert "Traceback" not in result.output


def test_all_bad_files_are_named():
    result = invoke("run", "broken", "nope")
    assert "broken.yaml:5: slo: unknown key 'slo'" in result.stderr
    assert "There is no experiment 'nope'" in result.stderr


def test_an_error_is_json_too():
    error = json.loads(invoke("run", "broken", "--json").stdout)["error"]
    assert (error["kind"], error["exit_code"]) == ("BadFile", 2)
    assert error["problems"] == [
        {"line": 5, "key": "slo", "says": error["problems"][0]["says"]},
    ]


@pytest.mark.parametrize("keep", ["always", "on-failure"])
def test_a_kept_system_is_described(keep):
    result = invoke("run", "wrong-a", "--keep", keep)
    assert "chaoslat down 00000001" in result.stdout
    assert (
        json.loads(invoke("run", "wrong-a", "--keep", keep, "--json").stdout)["kept"]["backend"] == "double"
    )


def test_a_machine_that_cannot(doubles):
    doubles[0].fails = EnvironmentMissing("The local backend needs root", fix="run it with sudo")
    result = invoke("run", "fine")
    assert result.exit_code == 3
    assert "fix:   run it with sudo" in result.stderr
    assert "Traceback" not in result.output


def test_a_machine_that_is_busy(doubles):
    doubles[1].busy = Busy("This machine is in use by another run", where="run 1234abcd, process 7")
    result = invoke("run", "fine")
    assert result.exit_code == 3
    assert "run 1234abcd, process 7" in result.stderr


@pytest.mark.parametrize(
    "args", [["run"], ["run", "fine", "--seed", "x"], ["run", "fine", "--keep", "so"], ["walk"]]
)
def test_usage_errors(args):
    assert invoke(*args).exit_code == 2
    assert ran() == []


def test_interruption_removes_the_system_and_exits_130(monkeypatch, doubles):
    async def interrupted(system, experiment, **kwargs):
        raise KeyboardInterrupt

    def open_session(name, folder, seed, show, keep):
        return session(folder, backend=doubles[0], custody=doubles[1], progress=show, run_trial=interrupted)

    monkeypatch.setattr("chaoslat.cli.run.open_session", open_session)
    result = invoke("run", "fine")
    assert result.exit_code == 130
    assert doubles[0].made[0].destroyed
    assert doubles[1].calls[-1] == "leave"


def test_repeats_go_in_turns_and_the_report_is_written(tmp_path):
    result = invoke("run", "fine", "wrong-a", "--repeat", "2", "--report", "r.html")
    assert result.exit_code == 1
    assert [line.split()[0] for line in ran(tmp_path)] == ["fine", "wrong-a"] * 2
    assert len({line.split()[1] for line in ran(tmp_path)}) == 4
    assert (tmp_path / "r.html").read_text().count('<article class="trial"') == 4


# --- resume ------------------------------------------------------------------------------------------------

TWO = ("run", "fine", "wrong-a", "--repeat", "2", "--out", "here", "--resume")


def test_a_run_goes_on_where_it_was_broken_off(tmp_path):
    assert invoke(*TWO, "--seed", "9").exit_code == 1
    before = json.loads((tmp_path / "here/summary.json").read_text())
    lost = tmp_path / "here/02-wrong-a"
    (lost / "verdict.json").unlink()
    (lost / "trial.json").write_text("{}")
    again = invoke(*TWO)
    assert "3 of 4 trials are done already" in again.stderr
    assert "about 1 min left" in again.stderr
    assert [line.split()[0] for line in ran()] == ["fine", "wrong-a", "fine", "wrong-a", "wrong-a"]
    after = json.loads((tmp_path / "here/summary.json").read_text())
    assert [t["seed"] for t in after["verdicts"]] == [t["seed"] for t in before["verdicts"]]
    assert not lost.exists()


def test_a_whole_run_is_not_run_again(doubles):
    invoke(*TWO)
    made = len(doubles[0].made)
    assert invoke(*TWO).exit_code == 1
    assert (len(ran()), len(doubles[0].made)) == (4, made)


def test_an_experiment_that_has_changed_is_refused(tmp_path):
    invoke(*TWO)
    with (tmp_path / "experiments/fine.yaml").open("a") as file:
        file.write("slo_ms: 40\n")
    refused = invoke(*TWO)
    assert refused.exit_code == 2
    assert "fine has changed" in refused.stderr
    assert "begin anew" in refused.stderr


@pytest.mark.parametrize(("args", "said"), [(("--out", "here", "--seed", "8"), "seed"), ((), "--out FOLDER")])
def test_resume_needs_its_folder_and_its_seed(args, said):
    invoke("run", "fine", "--resume", "--out", "here", "--seed", "9")
    refused = invoke("run", "fine", "--resume", *args)
    assert refused.exit_code == 2
    assert said in refused.stderr
