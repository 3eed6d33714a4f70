"""The generator as a process of its own, against a server on 127.0.0.1. Needs no privileges.

The machine may be busy: nothing here depends on how quickly something happens.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE
from pathlib import Path

import numpy as np
import pytest

from chaoslat.errors import ChaoslatError, SystemLost
from chaoslat.load import (
    LatencyLog,
    LoadConfig,
    LoadProcess,
    Requests,
    Schedule,
    Shape,
    Workload,
    judge_health,
)
from chaoslat.load.config import LoadJob
from tests.load_doubles import Server, ok, serving

WORKLOAD = Workload(100.0, (Shape("hot", 3, "/hot/{hot}"), Shape("any", 1, "/any/{any}")), 1000, 10)
TIMING = b'Server-Timing: acquire;dur=0.5, query;dur=1.25;desc="n=3", cpu;dur=2\r\n'
FOR_EVER_S = 1e9


def config(port: int, **changes: object) -> LoadConfig:
    return LoadConfig("127.0.0.1", port, WORKLOAD, **({"seed": 5} | changes))  # type: ignore[arg-type]


def everything(log: LatencyLog) -> Requests:
    return log.between(0.0, FOR_EVER_S, FOR_EVER_S)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def gone(pid: int) -> None:
    end_s = time.monotonic() + 10
    while alive(pid) and time.monotonic() < end_s:  # noqa: ASYNC110 - nobody tells of another's child
        await asyncio.sleep(0.02)
    assert not alive(pid)


async def test_makes_exactly_the_scheduled_requests(tmp_path: Path) -> None:
    server = Server(lambda *_: ok(headers=TIMING))
    async with serving(server) as port:
        async with await LoadProcess.start(config(port, duration_s=2.0), tmp_path / "x.log") as load:
            await load.wait()
        seen = everything(load.log)
    start_ns = load.log.header.started_ns
    schedule, expected = Schedule(WORKLOAD, 5, start_ns), []
    while (arrival := schedule.take()).due_ns < start_ns + 2 * 10**9:
        expected.append(arrival)
    assert seen.due_s.tolist() == [arrival.due_ns / 1e9 for arrival in expected]
    assert seen.shape.tolist() == [arrival.shape for arrival in expected]
    assert sorted(server.paths) == sorted(arrival.path for arrival in expected)
    assert seen.done.all()
    assert set(seen.status) == {200}
    assert set(zip(seen.acquire_ms, seen.query_ms, seen.cpu_ms, seen.statements, strict=True)) == {
        (0.5, 1.25, 2, 3)
    }
    assert (seen.latency_ms >= seen.lag_ms).all()
    assert "ms of their due time" in judge_health(seen).sentence


async def test_says_what_it_runs_with(tmp_path: Path) -> None:
    async with (
        serving(Server(lambda *_: ok())) as port,
        await LoadProcess.start(config(port, priority="normal"), tmp_path / "x.log") as load,
    ):
        header = load.log.header
        assert header.pid == load.pid
        assert os.sched_getscheduler(load.pid) == os.SCHED_OTHER
    assert (header.engine, header.timer, header.scheduling) == ("uvloop", "timerfd", "normal")
    assert header.target == f"127.0.0.1:{port}"
    assert Workload.from_json(header.workload) == WORKLOAD
    assert not alive(header.pid)


async def test_latency_counts_from_the_due_time_although_the_server_stands_still(tmp_path: Path) -> None:
    """A closed loop would see one slow request; the open loop sees every request that was due meanwhile."""
    async with serving(Server(lambda *_: ok())) as port:
        async with await LoadProcess.start(config(port), tmp_path / "x.log") as load:
            await asyncio.sleep(0.5)
            begin_s = time.monotonic()
            time.sleep(0.4)  # noqa: ASYNC251 - the server shares this loop: now it stands still
            end_s = time.monotonic()
            await asyncio.sleep(0.3)
        seen = everything(load.log)
    stalled = seen.select((seen.due_s >= begin_s) & (seen.due_s < end_s))
    assert len(stalled) >= 10  # 40 are expected; Poisson gives fewer than 10 once in 10^9
    assert (stalled.latency_ms >= (end_s - stalled.due_s) * 1000).all()


async def test_live_answers_equal_later_ones(tmp_path: Path) -> None:
    looks = []
    async with (
        serving(Server(lambda *_: ok(), delay_s=0.03)) as port,
        await LoadProcess.start(config(port), tmp_path / "x.log") as load,
    ):
        for _ in range(8):
            await asyncio.sleep(0.1)
            now_s = time.monotonic()
            await load.set_rate(WORKLOAD.rate_rps)  # its answer means that all up to now is written
            looks.append((now_s, load.log.between(0.0, now_s, now_s)))
    assert any((~seen.done).any() for _, seen in looks)
    for now_s, seen in looks:
        later = LatencyLog(tmp_path / "x.log").between(0.0, now_s, now_s)
        assert later.due_s.tolist() == seen.due_s.tolist()
        assert later.done.tolist() == seen.done.tolist()
        assert later.latency_ms.tolist() == seen.latency_ms.tolist()


async def test_rate_changes_while_it_runs(tmp_path: Path) -> None:
    async with serving(Server(lambda *_: ok())) as port:
        async with await LoadProcess.start(config(port), tmp_path / "x.log") as load:
            await asyncio.sleep(0.3)
            before_s, at_s, after_s = time.monotonic(), await load.set_rate(400.0), time.monotonic()
            await asyncio.sleep(1.0)
        assert before_s <= at_s <= after_s
        assert [change.rate_rps for change in load.log.rates()] == [100.0, 400.0]
        gaps_s = np.diff(load.log.between(at_s, at_s + 1.0, FOR_EVER_S).due_s)
    # 400 gaps: their mean is 2.5 ms with a standard error of 5 %.
    assert gaps_s.mean() == pytest.approx(0.0025, rel=0.25)


async def test_a_rate_that_makes_no_sense_is_refused_and_the_load_goes_on(tmp_path: Path) -> None:
    async with (
        serving(Server(lambda *_: ok())) as port,
        await LoadProcess.start(config(port), tmp_path / "x.log") as load,
    ):
        with pytest.raises(ChaoslatError, match="refused the rate"):
            await load.set_rate(-1.0)
        assert await load.set_rate(50.0) > 0
        await load.check()


async def test_a_dead_target_is_measured_as_failures(tmp_path: Path) -> None:
    async with serving(Server(lambda *_: ok())) as port:
        pass
    async with await LoadProcess.start(config(port, duration_s=0.5), tmp_path / "x.log") as load:
        await load.wait()
    seen = everything(load.log)
    assert len(seen) > 10
    assert seen.failed == len(seen)


async def test_stop_lets_what_is_in_flight_end(tmp_path: Path) -> None:
    async with serving(Server(lambda *_: ok(), delay_s=0.2)) as port:
        load = await LoadProcess.start(config(port), tmp_path / "x.log")
        await asyncio.sleep(0.6)
        await load.stop()
        await load.stop()
    seen = everything(load.log)
    assert len(seen) > 10
    assert seen.done.all()
    assert not load.running


async def test_stop_does_not_wait_for_what_hangs(tmp_path: Path) -> None:
    async with serving(Server(lambda *_: ok(), delay_s=30.0)) as port:
        load = await LoadProcess.start(config(port), tmp_path / "x.log")
        await asyncio.sleep(0.3)
        await load.stop()
    seen = everything(load.log)
    assert len(seen) > 5
    assert not seen.done.any()


async def test_killed_it_loses_nothing_that_had_ended(tmp_path: Path) -> None:
    answered = ended = 0

    def answer(path: str, connection: int, request: int) -> bytes:
        nonlocal answered, ended
        answered += 1
        ended += request > 0  # a connection that is used again: its last response was taken
        return ok()

    async with serving(Server(answer)) as port:
        load = await LoadProcess.start(config(port), tmp_path / "x.log")
        await asyncio.sleep(0.6)
        os.kill(load.pid, signal.SIGSTOP)
        await asyncio.sleep(0.1)
        os.kill(load.pid, signal.SIGKILL)
        with pytest.raises(SystemLost, match=r"died \(signal 9\)"):
            await load.wait()
        with pytest.raises(SystemLost):
            await load.set_rate(10.0)
        with pytest.raises(SystemLost):
            await load.stop()
    seen = everything(load.log)
    assert 0 < ended <= seen.done.sum() <= answered


async def test_a_log_that_exists_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text("mine")
    with pytest.raises(ChaoslatError, match="died") as caught:
        await LoadProcess.start(config(1), tmp_path / "x.log")
    assert "File exists" in caught.value.why
    assert (tmp_path / "x.log").read_text() == "mine"


async def test_a_launcher_comes_before_the_program(tmp_path: Path) -> None:
    launcher = ("sh", "-c", f'mkdir "{tmp_path}/ran" && exec "$@"', "launcher")
    async with (
        serving(Server(lambda *_: ok())) as port,
        await LoadProcess.start(config(port), tmp_path / "x.log", launcher) as load,
    ):
        assert (tmp_path / "ran").is_dir()
        assert load.log.header.pid == load.pid, "the launcher has to become the program"


@pytest.mark.parametrize(
    ("launcher", "said"),
    [
        (("/nonexistent",), "cannot be started"),
        (("sh", "-c", "echo no such cgroup >&2; exit 7"), "exit code 7"),
    ],
)
async def test_a_launcher_that_fails_is_named(tmp_path: Path, launcher: tuple[str, ...], said: str) -> None:
    with pytest.raises(ChaoslatError, match=said) as caught:
        await LoadProcess.start(config(1), tmp_path / "x.log", launcher)
    assert "No such file" in caught.value.why or "no such cgroup" in caught.value.why


async def test_stops_when_its_parent_dies(tmp_path: Path) -> None:
    """The parent is killed outright; the end of standard input is all that the generator learns of it."""
    async with serving(Server(lambda *_: ok())) as port:
        LoadJob(config(port), tmp_path / "x.log").write(tmp_path / "job.json")
        parent = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            "import subprocess, sys, time\n"
            "child = subprocess.Popen([sys.executable, '-m', 'chaoslat.load', sys.argv[1]], stdin=subprocess.PIPE,"
            " stdout=subprocess.PIPE)\n"
            "print(child.stdout.readline().decode(), child.pid, flush=True)\n"
            "time.sleep(60)",
            str(tmp_path / "job.json"),
            stdout=PIPE,
        )
        assert parent.stdout is not None
        assert json.loads(await parent.stdout.readline())["ready"] is True
        pid = int((await parent.stdout.readline()).split()[-1])
        parent.kill()
        await parent.wait()
        await gone(pid)
