"""The commands that need no system, and how any command ends."""

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from chaoslat.cli import app, exits
from chaoslat.cli.app import run_guarded
from chaoslat.cli.output import describe
from chaoslat.cli.replay import expand
from chaoslat.cli.up import parse_lease, start_keeper
from chaoslat.errors import ChaoslatError, UsageError
from chaoslat.interruption import Terminated
from chaoslat.model import Ruling
from tests.session_doubles import verdict

COMMANDS = [
    "bench",
    "compare",
    "diagnose",
    "doctor",
    "down",
    "heal",
    "list",
    "replay",
    "report",
    "run",
    "schema",
    "score",
    "status",
    "up",
]


def invoke(*args):
    return CliRunner().invoke(app, [*args])


@pytest.fixture
def state(tmp_path, monkeypatch):
    """A state folder of the test's own, so that the machine's runs are not seen."""
    monkeypatch.setenv("CHAOSLAT_STATE", str(tmp_path / "state"))
    monkeypatch.setattr("chaoslat.ledger.leftovers.leftovers", list)
    return tmp_path / "state"


def raising(error):
    def act():
        raise error

    return act


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_has_json(command):
    pages = [invoke(command, "--help")]
    if command == "bench":
        pages = [invoke("bench", "load", "--help"), invoke("bench", "comparison", "--help")]
    assert {page.exit_code for page in pages} == {0}
    assert all("--json" in page.stdout for page in pages)


def test_help_documents_the_exit_codes():
    text = " ".join(invoke("--help").stdout.split())
    assert all(words in text for words in ("0 as expected", "3 this machine lacks", "130 interrupted"))
    assert all(command in text for command in COMMANDS)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ChaoslatError("x"), 3),
        (UsageError("x"), 2),
        (KeyboardInterrupt(), 130),
        (Terminated(15), 143),
    ],
)
def test_how_a_command_ends(error, code):
    assert run_guarded(raising(error), as_json=False) == code


def test_a_bug_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError):
        run_guarded(raising(ZeroDivisionError()), as_json=False)


def test_a_reader_that_goes_away_is_no_traceback():
    script = f"{sys.executable} -m chaoslat list --json | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    assert done.returncode in (0, exits.BROKEN_PIPE)  # 0 when the pipe took it all before the reader went


def test_broken_pipe_inside_a_command(monkeypatch):
    duplicated = []
    monkeypatch.setattr(os, "dup2", lambda *args: duplicated.append(args))
    assert run_guarded(raising(BrokenPipeError()), as_json=False) == 141
    assert len(duplicated) == 1


def test_an_error_in_json_types():
    found = describe(UsageError("what", where="where", why="why", fix="fix"))
    expected = {
        "kind": "UsageError",
        "what": "what",
        "where": "where",
        "why": "why",
        "fix": "fix",
        "exit_code": 2,
    }
    assert found == expected


def test_list_shows_everything_that_has_a_name():
    data = json.loads(invoke("list", "--json").stdout)
    names = {kind: [row["name"] for row in rows] for kind, rows in data.items()}
    assert {"cpu-limit", "none"} <= set(names["experiments"])
    assert "cgroup-leak" in names["faults"]
    assert {"classic", "ladder"} <= set(names["runbooks"])
    assert "network-path" in names["steps"]
    assert "local" in names["backends"]
    text = invoke("list").stdout
    assert all(name in text for some in names.values() for name in some)


def test_list_shows_a_broken_experiment_as_broken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments/sad.yaml").write_text("apiVersion: chaoslat/v1\n")
    result = invoke("list")
    assert result.exit_code == 0
    assert "sad.yaml:1: name: this key is missing" in result.stdout


def test_schema_is_json():
    assert json.loads(invoke("schema").stdout)["title"] == "chaoslat experiment"


def test_status_and_heal_where_nothing_is(state):
    assert json.loads(invoke("status", "--json").stdout) == []
    assert invoke("status").stdout.strip() == "no run is here"
    assert json.loads(invoke("heal", "--json").stdout) == {"runs": [], "leftovers": []}
    assert invoke("heal").stdout.strip() == "nothing was left behind"


@pytest.mark.parametrize("command", ["down", "diagnose"])
def test_what_needs_a_system_says_how_to_get_one(state, command):
    result = invoke(command)
    assert result.exit_code == 2
    assert "fix:   chaoslat up" in result.stderr


@pytest.mark.parametrize("command", ["status", "down", "diagnose", "heal"])
def test_an_unknown_run(state, command):
    result = invoke(command, "0123abcd")
    assert result.exit_code == 2
    assert "There is no run 0123abcd" in result.stderr


def test_a_live_run_is_not_taken_down(state):
    from chaoslat.ledger import Ledger

    ledger = Ledger.create("0123abcd")  # owned by this process, which is alive
    assert [run["wanted"] for run in json.loads(invoke("status", "--json").stdout)] == [True]
    assert "belongs to process" in invoke("down", "0123abcd").stderr
    assert "still in use" in invoke("heal", "0123abcd").stderr
    assert "left alone" in invoke("heal").stdout
    assert ledger.folder.exists()


def test_a_kept_run_is_taken_down(state, tmp_path):
    from chaoslat.ledger import Ledger, keep
    from chaoslat.runs import note_kept

    ledger = Ledger.create("0123abcd")
    target = tmp_path / "setting"
    target.write_text("changed")
    ledger.promise("file", path=str(target), content="as it was")
    note_kept("0123abcd", "local", None)
    keep("0123abcd", 60.0)
    assert json.loads(invoke("down", "--json").stdout) == {"removed": "0123abcd"}
    assert target.read_text() == "as it was"
    assert not ledger.folder.exists()


@pytest.mark.parametrize(("text", "lease_s"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("24h", 86400)])
def test_leases(text, lease_s):
    assert parse_lease(text) == lease_s


@pytest.mark.parametrize("text", ["", "2", "0s", "-1h", "25h", "2 h", "1d", "999999999h"])
def test_leases_that_make_no_sense(text):
    with pytest.raises(UsageError, match="not a time"):
        parse_lease(text)


def teller(*lines):
    """A double of the keeper that only says these lines."""
    return [sys.executable, "-c", f"print({chr(10).join(map(json.dumps, lines))!r})"]


def test_the_keeper_is_listened_to():
    said = []
    info = start_keeper(teller({"progress": "starting"}, {"up": {"run_id": "x"}}), said.append)
    assert (info, said) == ({"run_id": "x"}, ["starting"])


def test_the_error_of_the_keeper_is_raised():
    told = {"error": {"what": "no root", "where": "", "why": "", "fix": "sudo", "exit_code": 3}}
    with pytest.raises(ChaoslatError, match="no root") as caught:
        start_keeper(teller(told), print)
    assert (caught.value.fix, caught.value.exit_code) == ("sudo", 3)


def test_a_keeper_that_dies_is_an_error():
    with pytest.raises(ChaoslatError, match="died"):
        start_keeper([sys.executable, "-c", "raise SystemExit(9)"], print)


@pytest.fixture
def recordings(tmp_path):
    """A run's folder with two recordings."""
    for name in ("02-b", "01-a"):
        (tmp_path / "out" / name).mkdir(parents=True)
        (tmp_path / "out" / name / "trial.json").write_text("{}")
    return tmp_path / "out"


def test_recordings_are_found_one_level_down_and_once(recordings):
    assert [path.name for path in expand([recordings, recordings / "02-b"])] == ["01-a", "02-b"]
    with pytest.raises(UsageError, match="no recording"):
        expand([recordings.parent])


def test_replay_prints_and_scores(recordings, monkeypatch):
    async def double(folder, runbook):
        return verdict(folder.name, ruling=Ruling.CORRECT if folder.name == "01-a" else Ruling.MISSED)

    monkeypatch.setattr("chaoslat.replay.replay", double)
    result = invoke("replay", str(recordings))
    assert result.exit_code == 1
    assert "1 of 2 diagnosed right" in result.stdout
    data = json.loads(invoke("replay", str(recordings / "01-a"), "--json").stdout)
    assert data["trials"][0]["good"] is True


def test_every_diagnosis_of_a_kept_system_writes_its_own_load_log(tmp_path):
    from chaoslat.cli.diagnose import fresh_log

    first = fresh_log(tmp_path)
    first.touch()
    second = fresh_log(tmp_path)
    assert first.parent == second.parent == tmp_path
    assert first != second
    assert not second.exists()


def test_sigterm_unwinds_any_command_and_becomes_its_exit_code():
    import os
    import signal

    from chaoslat.cli.app import run_guarded

    unwound = []

    def act():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        finally:
            unwound.append(True)

    before = signal.getsignal(signal.SIGTERM)
    assert run_guarded(act, as_json=False) == 128 + signal.SIGTERM
    assert unwound == [True]
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_version_is_the_packages():
    from importlib.metadata import version

    assert invoke("--version").stdout == f"chaoslat {version('chaoslat')}\n"
