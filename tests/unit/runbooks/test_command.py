"""An external program as a step: how it asks, concludes, fails, and is ended; recorded, and judged again."""

import json
import os
import stat
import sys
import time

import pytest

from chaoslat.errors import ExperimentError, NotRecorded, SystemLost
from chaoslat.load.record import LogHeader, LogWriter
from chaoslat.model import CgroupCpu, Outcome, PoolState
from chaoslat.recording import OPERATOR, Recording, read_rows, record, replay_operator
from chaoslat.report.html.levers import Span, levers
from chaoslat.runbooks import catalogue
from chaoslat.runbooks.command_process import can_hide
from chaoslat.runbooks.engine import diagnose
from chaoslat.runbooks.loading import read
from chaoslat.runbooks.operator_api import CALLS, describe
from tests.doubles import VirtualTime, requests

HEAD = f"""#!{sys.executable} -IS
import json, os, sys, time, urllib.request
hello = json.loads(sys.stdin.readline())
def say(**told):
    print(json.dumps(told), flush=True)
def ask(call, *args):
    say(call=call, args=args)
    return json.loads(sys.stdin.readline())
def post(call, body):
    return json.load(urllib.request.urlopen(os.environ["CHAOSLAT_URL"] + "/" + call, json.dumps(body).encode()))
"""
SETTLED = 'say(conclude={"causes": ["pool-wait"], "sentence": "they wait"})\n'


class Bench(VirtualTime):
    """Unit-test double: an operator with a pool and a limit, whose latency falls when the pool is larger."""

    def __init__(self):
        super().__init__()
        self.size, self.lost = 1, False

    async def requests(self, since_s, _until_s):
        return requests([5.0] * 95 + [80.0 if self.size < 10 else 6.0] * 5, start_s=since_s)

    async def pool(self):
        if self.lost:
            raise SystemLost("the app is gone")
        return PoolState(self.size, 1, 1, 2)

    async def set_pool_size(self, size):
        self.size = size
        return await self.pool()

    async def app_cpu(self):
        return (CgroupCpu("/app", None, 100_000, 7, 1, 0.25, 1.5),)


@pytest.fixture
def runbook(tmp_path):
    """Writes a program and a runbook with it, and reads that."""

    def write(body, *, time_limit_s=20, head=HEAD, **params):
        program = tmp_path / "find.py"
        program.write_text(head + body)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        path = tmp_path / "ours.yaml"
        step = {"command": {"run": ["./find.py", "a b"], "time_limit_s": time_limit_s} | params}
        path.write_text(json.dumps({"apiVersion": "chaoslat/v1", "kind": "Runbook", "steps": [step]}))
        return read(path, catalogue())

    return write


async def run(runbook, operator=None):
    return await diagnose(runbook, operator or Bench(), slo_ms=30.0, seed=1, progress=lambda _line: None)


# --- asking and concluding -----------------------------------------------------------------------------------


async def test_it_asks_over_its_streams_changes_something_and_concludes(runbook):
    found = await run(
        runbook(
            """
before = ask("latency", 10)["answer"]["over_slo"]
ask("set_pool_size", 30); ask("set_pool_size", 1); ask("set_pool_size", 30); ask("sleep", 5)
after = ask("latency", 10)["answer"]["over_slo"]
evidence = [{"what": "over, before", "value": before}, {"what": "over, after", "value": after, "unit": "fraction"}]
say(conclude={"causes": ["pool-wait"], "sentence": "a larger pool cures it", "evidence": evidence})
"""
        )
    )
    assert (found.causes, found.missing, found.intervention_count) == (("pool-wait",), (), 1)
    (finding,) = found.findings
    assert finding.sentence == "a larger pool cures it"
    assert [(e.what, e.value) for e in finding.evidence] == [
        ("over, before", 0.05),
        ("over, after", 0.0),
        ("calls made by the program", 6.0),
    ]
    assert finding.interventions == ("pool size set (3 times)",)
    assert finding.took_s == 5.0  # the operator's clock


async def test_it_asks_over_http(runbook):
    found = await run(
        runbook(
            """
assert post("pool", []) == {"max": 1, "open": 1, "in_use": 1, "waiting": 2}
assert post("set_pool_size", [30])["max"] == 30
assert post("set_pool_size", 31)["max"] == 31
post("conclude", {"causes": ["pool-wait", "database", "pool-wait"]})
time.sleep(30)
"""
        )
    )
    assert found.causes == ("pool-wait", "database")
    assert [f.sentence for f in found.findings] == ["it concluded pool-wait + database"] * 2
    assert found.intervention_count == 1


async def test_no_cause_is_none_and_unsure_is_inconclusive(runbook):
    assert (await run(runbook('say(conclude={"causes": []})'))).label == "none"
    assert (await run(runbook('say(conclude={"causes": ["none"]})'))).label == "none"
    unsure = await run(runbook('say(conclude={"inconclusive": True, "sentence": "too noisy"})'))
    assert (unsure.inconclusive, unsure.missing) == (True, ("command: too noisy",))


async def test_the_first_line_tells_the_slo_and_the_calls_and_nothing_of_the_fault(runbook):
    found = await run(runbook('say(conclude={"causes": [], "sentence": json.dumps(sorted(hello))})'))
    assert found.findings[0].sentence == '["calls", "slo_ms", "time_limit_s", "url"]'
    assert set(describe()) == {*CALLS, "latency"}
    assert "undo_interventions" not in CALLS


async def test_requests_come_as_columns(runbook):
    body = """
seen = ask("requests", 0.0, 9.0)["answer"]
say(conclude={"causes": [], "sentence": str(len(seen["latency_ms"]))})
"""
    assert (await run(runbook(body))).findings[0].sentence == "100"


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("'nonsense'", "there is no call 'nonsense'"),
        ("'undo_interventions'", "there is no call"),
        ("'set_pool_size'", "takes (size) and got 0 arguments"),
        ("'set_pool_size', 'many'", "size: Input should be a valid integer"),
        ("'__class__'", "there is no call"),
    ],
)
async def test_a_call_that_makes_no_sense_is_answered_with_why(runbook, call, why):
    body = f'told = ask({call})\nsay(conclude={{"causes": [], "sentence": told["error"]["what"]}})'
    assert why in (await run(runbook(body))).findings[0].sentence


async def test_http_errors_have_a_status_and_the_address_a_token(runbook):
    body = """
import urllib.error
def status(url, body):
    try:
        return urllib.request.urlopen(url, body).status
    except urllib.error.HTTPError as error:
        return error.code
url = os.environ["CHAOSLAT_URL"]
seen = [status(url + "/pool", b""), status(url + "/nonsense", b"[]"), status(url + "/pool", b"{"),
        status(url.rpartition("/")[0] + "/guess/pool", b"[]"), status(url + "/conclude", b"no")]
say(conclude={"causes": [], "sentence": str(seen)})
"""
    assert (await run(runbook(body))).findings[0].sentence == "[200, 400, 400, 404, 400]"


# --- what goes wrong -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            "print('looking'); sys.exit(3)",
            "it ended with exit code 3 and concluded nothing; its last words: looking",
        ),
        ("sys.exit('no idea')", "its last words: no idea"),
        ("pass", "it ended with exit code 0 and concluded nothing"),
        ("say(conclude={'causes': ['No Cause!']})", "its conclusion makes no sense: causes.0"),
        ("say(conclude=7)", "its conclusion makes no sense"),
        ("say(conclude={'cause': []})", "its conclusion makes no sense: cause"),
        ("print('x' * 3_000_000); sys.exit(1)", "it ended with exit code 1"),
    ],
)
async def test_a_program_that_concludes_nothing_useful_is_inconclusive_and_says_why(runbook, body, why):
    found = await run(runbook(body))
    assert found.inconclusive
    assert why in found.findings[0].sentence
    assert found.findings[0].outcome is Outcome.INCONCLUSIVE


@pytest.mark.parametrize("hide", [True, False])
async def test_the_time_limit_ends_it_with_all_its_children(runbook, tmp_path, monkeypatch, hide):
    if not hide:
        monkeypatch.setattr("chaoslat.runbooks.command_process.can_hide", bool)
    pid_file = tmp_path / "pids"
    body = f"""
import subprocess
child = subprocess.Popen(["sleep", "1000.25"])
open({str(pid_file)!r}, "w").write("started")
print("still looking", flush=True)
child.wait()
"""
    started_s = time.monotonic()
    found = await run(runbook(body, time_limit_s=2.5))
    assert time.monotonic() - started_s < 10
    assert found.findings[0].sentence == (
        "it came to no conclusion within 2.5 s; its last words: still looking"
    )
    assert pid_file.read_text() == "started"
    assert not [line for line in _command_lines() if line == ["sleep", "1000.25"]]


def _command_lines():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                yield file.read().split("\0")[:-1]
        except OSError:
            continue


async def test_a_program_that_is_not_there(tmp_path):
    path = tmp_path / "r.yaml"
    path.write_text("apiVersion: chaoslat/v1\nkind: Runbook\nsteps:\n  - command: {run: [./gone]}\n")
    found = await run(read(path, catalogue()))
    assert "gone cannot be started: there is no such program" in found.findings[0].sentence


async def test_a_lost_system_is_the_trials_matter_and_not_the_programs(runbook):
    operator = Bench()
    operator.lost = True
    for body in ('ask("pool")\nask("pool")\n' + SETTLED, 'post("pool", [])\n'):
        with pytest.raises(SystemLost, match="the app is gone"):
            await run(runbook(body), operator)


@pytest.mark.parametrize("params", [{"run": []}, {"run": "x"}, {"time_limit_s": 0}, {"shell": True}])
def test_parameters_that_make_no_sense(runbook, params):
    with pytest.raises(ExperimentError, match="step command"):
        runbook("", **params)


# --- what it sees --------------------------------------------------------------------------------------------


async def test_its_environment_is_small_and_its_folder_empty(runbook, monkeypatch):
    monkeypatch.setenv("SECRET_OF_OURS", "x")
    monkeypatch.setenv("MODEL_API_KEY", "k")
    body = 'say(conclude={"causes": [], "sentence": json.dumps([sorted(os.environ), os.listdir("."), sys.argv[1:]])})'
    found = await run(runbook(body, env=["MODEL_API_KEY", "NOT_SET"]))
    names, files, args = json.loads(found.findings[0].sentence)
    assert {"MODEL_API_KEY", "CHAOSLAT_URL", "CHAOSLAT_SLO_MS", "HOME", "PATH"} <= set(names)
    assert "SECRET_OF_OURS" not in names
    assert (files, args) == ([], ["a b"])


@pytest.mark.skipif(not can_hide(), reason="takes root, unshare and mount")
async def test_it_sees_no_other_process_and_not_the_recording(runbook, recording):
    recording.describe(expect=["pool-wait"])
    body = f"""
seen = [os.listdir({str(recording.folder)!r}), len([n for n in os.listdir("/proc") if n.isdigit()])]
say(conclude={{"causes": [], "sentence": json.dumps(seen)}})
"""
    found = await run(runbook(body), record(Bench(), recording))
    files, processes = json.loads(found.findings[0].sentence)
    assert files == []
    assert processes <= 2
    assert (recording.folder / "trial.json").is_file()  # covered for the program only


# --- recorded, and judged again ------------------------------------------------------------------------------


@pytest.fixture
def recording(tmp_path):
    made = Recording(tmp_path / "trial")
    LogWriter(made.latencies, LogHeader(0, 0.0, 1, {"rate_rps": 60.0}, "t", "t", "t", "t", 1)).close()
    return made


ASKING = 'ask("pool"); ask("sleep", 3); ask("set_pool_size", 30); ask("sleep", 4)\n'


async def test_a_replay_comes_to_the_same_diagnosis_without_the_program(runbook, recording, tmp_path):
    ours = runbook(ASKING + SETTLED)
    live = await run(ours, record(Bench(), recording))
    (tmp_path / "find.py").unlink()
    again = await run(ours, replay_operator(recording.folder))
    assert again == live
    assert live.causes == ("pool-wait",)
    (row,) = [row for row in read_rows(recording.folder / OPERATOR) if row["call"] == "outside"]
    assert [call["call"] for call in row["answer"]["calls"]] == ["pool", "sleep", "set_pool_size", "sleep"]


async def test_another_programs_answer_is_not_taken(runbook, recording):
    await run(runbook(SETTLED), record(Bench(), recording))
    other = runbook(SETTLED, run=["./find.py", "--other"])
    with pytest.raises(NotRecorded):
        await run(other, replay_operator(recording.folder))


async def test_the_report_shows_what_the_program_changed(runbook, recording):
    await run(runbook(ASKING + SETTLED), record(Bench(), recording))
    (lever,) = levers(read_rows(recording.folder / OPERATOR), 110.0)
    assert (lever.label, lever.changed) == ("pool 1 → 30", (Span(103.0, 110.0),))


async def test_a_lost_system_is_lost_in_a_replay_too(runbook, recording):
    operator = Bench()
    operator.lost = True
    ours = runbook('ask("pool")\n' + SETTLED)
    with pytest.raises(SystemLost, match="the app is gone"):
        await run(ours, record(operator, recording))
    with pytest.raises(SystemLost, match="the app is gone"):
        await run(ours, replay_operator(recording.folder))
