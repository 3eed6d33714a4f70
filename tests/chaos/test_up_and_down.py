"""Real: a system that is kept up, looked at, and taken down in every way."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from chaoslat.runs import read_kept
from tests.chaos.leftovers import CLI, cli, gone_within, traces

pytestmark = pytest.mark.chaos
LEASE_END_S = 25.0  # the lease of 4 s, the reaper's grace of 10 s, and room


@pytest.fixture
def up():
    """Starts a system; whatever a test leaves of it is removed."""
    started = []

    def start(lease="5m"):
        code, data = cli("up", "--for", lease)
        assert code == 0, data
        started.append(data["run"])
        return data

    yield start
    for run_id in started:
        if traces(run_id):
            cli("down", run_id)


def test_a_kept_system_from_start_to_end(up):
    system = up()["system"]
    run_id = system["run_id"]
    assert all(Path(f"/proc/{pid}").exists() for pid in system["pids"].values())
    code, (status,) = cli("status", run_id)
    assert (code, status["kept"], status["system"]["complaints"]) == (0, True, [])
    assert status["system"]["pids"] == system["pids"]
    assert cli("up")[0] == 3  # the machine has one already
    code, told = cli("diagnose", run_id, "--slo-ms", "500")
    assert (code, told["label"]) == (0, "none")
    assert cli("down") == (0, {"removed": run_id})
    assert traces(run_id) == []


def test_a_killed_keeper_leaves_a_system_that_can_be_taken_down(up):
    run_id = up()["run"]
    os.kill(read_kept(run_id).pid, signal.SIGKILL)
    assert cli("down", run_id)[0] == 0
    assert gone_within(run_id, 5) == []


def test_the_lease_ends_a_system(up):
    run_id = up("4s")["run"]
    assert gone_within(run_id, LEASE_END_S) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_start_leaves_nothing(number, code):
    before = set(Path("/run/chaoslat").glob("*/ledger.jsonl"))
    starting = subprocess.Popen([*CLI, "up"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    with starting.stderr:
        assert "starting" in "".join(line for line, _ in zip(starting.stderr, range(2), strict=False))
        (ledger,) = set(Path("/run/chaoslat").glob("*/ledger.jsonl")) - before
        time.sleep(0.2)
        starting.send_signal(number)
        assert starting.wait(30) == code
    assert gone_within(ledger.parent.name, 5) == []
