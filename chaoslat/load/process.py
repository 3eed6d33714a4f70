"""Starts the generator as its own process and keeps hold of it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from chaoslat.errors import ChaoslatError, SystemLost
from chaoslat.load.config import LoadConfig, LoadJob
from chaoslat.load.log import LatencyLog

START_S = 10.0
ANSWER_S = 3.0
STOP_S = 4.0  # the generator drains for at most 1 s


class LoadProcess:
    """A running generator. Made by `start`; `stop` it in the end (or use it as an async context manager).

    It also stops by itself when this process dies: its standard input ends then.
    """

    log: LatencyLog

    def __init__(self, process: Process, log_path: Path) -> None:
        self._process = process
        self._log_path = log_path
        assert process.stderr is not None
        self._stderr = asyncio.create_task(process.stderr.read())
        self._ready = self._stopping = False
        self.scheduling = ""

    @classmethod
    async def start(cls, config: LoadConfig, out_path: Path, launcher: Sequence[str] = ()) -> LoadProcess:
        """Start, and return when the log can be read and the schedule is about to begin.

        The log goes to `out_path`, the job beside it with the suffix `.job.json`. `launcher` is put before the
        command: it joins a cgroup or a namespace and becomes the program (a real-time process cannot always be moved
        later, and a function run after fork is not safe with threads). Raises `ChaoslatError`.
        """
        job_path = out_path.with_suffix(".job.json")
        LoadJob(config, out_path).write(job_path)
        load = cls(await _spawn(job_path, launcher), out_path)
        try:
            load.scheduling = str((await load._answer(START_S))["scheduling"])
            load._ready = True
        except BaseException:
            await load._kill()
            raise
        load.log = LatencyLog(out_path)
        return load

    async def __aenter__(self) -> LoadProcess:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.returncode is None

    async def check(self) -> None:
        """Raises `SystemLost`, with what it said, when the generator has died."""
        if self._process.returncode not in (None, 0) and not self._stopping:
            raise await self._died()

    async def set_rate(self, rate_rps: float) -> float:
        """Change the rate; from when on it holds (CLOCK_MONOTONIC seconds). The log is complete up to then.

        Raises `ChaoslatError` when it is refused, `SystemLost` when the generator has died.
        """
        assert self._process.stdin is not None
        with suppress(ConnectionError):
            self._process.stdin.write(json.dumps({"rate_rps": rate_rps}).encode() + b"\n")
            await self._process.stdin.drain()
        answer = await self._answer(ANSWER_S)
        if "error" in answer:
            raise ChaoslatError("the load generator refused the rate", why=str(answer["error"]))
        return float(answer["at_ns"]) / 1e9

    async def wait(self) -> None:
        """Until a run with a duration is through. Raises `SystemLost` when it died."""
        await self._process.wait()
        await self.check()

    async def stop(self) -> None:
        """Stop, letting requests in flight end for at most 1 s. May be called twice.

        Raises `SystemLost` when the generator had died before.
        """
        await self.check()
        self._stopping = True
        if self.running:
            self._process.terminate()
        try:
            await asyncio.wait_for(self._process.wait(), STOP_S)
        except TimeoutError:
            await self._kill()
        await self._close()

    async def _answer(self, timeout_s: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        try:
            line = await asyncio.wait_for(self._process.stdout.readline(), timeout_s)
        except TimeoutError:
            raise ChaoslatError("the load generator does not answer", where=f"pid {self.pid}") from None
        if not line:
            await self._process.wait()
            raise await self._died()
        answer: dict[str, Any] = json.loads(line)
        return answer

    async def _died(self) -> ChaoslatError:
        said = (await self._stderr).decode(errors="replace").strip()
        what = f"the load generator died ({_ending(self._process.returncode)})"
        kind = SystemLost if self._ready else ChaoslatError
        return kind(what, where=str(self._log_path), why=said)

    async def _kill(self) -> None:
        if self.running:
            self._process.kill()
            await self._process.wait()
        await self._close()

    async def _close(self) -> None:
        await self._stderr
        if self._process.stdin is not None:
            self._process.stdin.close()


async def _spawn(job_path: Path, launcher: Sequence[str]) -> Process:
    command = (*launcher, sys.executable, "-m", "chaoslat.load", str(job_path))
    try:
        return await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ChaoslatError(
            "the load generator cannot be started", where=command[0], why=str(error)
        ) from error


def _ending(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
