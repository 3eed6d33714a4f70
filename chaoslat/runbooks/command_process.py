"""Runs an external program that diagnoses: how it is started, how it asks, how it concludes, and how it is ended.

Over its standard streams, one JSON object a line:

    to it    {"slo_ms": 30, "time_limit_s": 120, "url": "http://127.0.0.1:40123/TOKEN", "calls": {"pool": "()", ...}}
    from it  {"call": "set_pool_size", "args": [30]}
    to it    {"answer": {"max": 30, ...}}      or  {"error": {"what": "...", "why": "..."}}
    from it  {"conclude": {"causes": ["pool-wait"], "sentence": "...", "evidence": [...]}}

Other lines are its output. Over HTTP, for shells: the address is in $CHAOSLAT_URL, and `curl -d '[30]'
$CHAOSLAT_URL/set_pool_size` and `curl -d '{"causes": []}' $CHAOSLAT_URL/conclude` say the same.

It runs in an empty folder with a small environment, and is killed with all its children at the time limit. Where we
are root it has mount and process namespaces of its own: it sees no other process, and neither the recording nor the
folders of the runs. It is not a prison: it has the network, and the files of this machine.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from chaoslat.backends.base import Operator
from chaoslat.errors import ChaoslatError, SystemLost
from chaoslat.ledger import runs_root
from chaoslat.runbooks.command_http import serve
from chaoslat.runbooks.operator_api import OperatorApi, describe

LINE_BYTES = 1_000_000
OUTPUT_BYTES = 64_000
LAST_WORDS_S = 2.0  # for leaving after the conclusion
PASSED_ON = ("PATH", "LANG", "TZ")
_APART = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
_COVER = (
    'for d in $COVER_COUNT; do mount -t tmpfs -o ro,size=4k none "$1" || exit 125; shift; done; exec "$@"'
)


@dataclass(frozen=True, slots=True)
class Order:
    """What to run. `hide`: folders that it must not see."""

    argv: list[str]
    time_limit_s: float
    slo_ms: float
    env: tuple[str, ...] = ()
    hide: tuple[Path, ...] = ()


@dataclass
class _Talk:
    """A program under way."""

    api: OperatorApi
    process: asyncio.subprocess.Process
    concluded: asyncio.Event = field(default_factory=asyncio.Event)
    conclusion: Any = None
    lost: SystemLost | None = None
    output: bytearray = field(default_factory=bytearray)

    def conclude(self, conclusion: Any) -> None:
        """The first one counts."""
        if not self.concluded.is_set():
            self.conclusion = conclusion
            self.concluded.set()

    def keep(self, text: bytes) -> None:
        """Its output: the last of it."""
        self.output += text
        del self.output[:-OUTPUT_BYTES]


async def run_program(order: Order, operator: Operator, progress: Callable[[str], None]) -> dict[str, Any]:
    """Run it to its conclusion, its end or the time limit.

    Returns, in JSON types: `conclusion` (None: `why` says why not), `exit_code` (None: it was killed), `output` (the
    last of it), `calls` with times and answers, `hidden`, and `took_s`. Raises SystemLost when the system is gone.
    """
    started_s = time.monotonic()
    api = OperatorApi(operator, order.slo_ms)
    with tempfile.TemporaryDirectory(prefix="chaoslat-command-", ignore_cleanup_errors=True) as folder:
        async with serve(api) as server:
            try:
                process = await _start(order, Path(folder), server.url)
            except OSError as error:
                return _result(api, None, f"{order.argv[0]} cannot be started: {error.strerror}", started_s)
            talk = _Talk(api, process)
            server.conclude, server.lost = talk.conclude, lose(talk)
            progress(f"running {order.argv[0]} (process {process.pid})")
            try:
                why = await _converse(order, talk, server.url)
            finally:
                await _end(process)
    if talk.lost:
        raise talk.lost
    return _result(api, talk, why, started_s)


def lose(talk: _Talk) -> Callable[[SystemLost], None]:
    """Notes that the system is gone, and ends the conversation."""

    def lost(error: SystemLost) -> None:
        talk.lost = error
        talk.concluded.set()

    return lost


def _result(api: OperatorApi, talk: _Talk | None, why: str, started_s: float) -> dict[str, Any]:
    return {
        "conclusion": talk.conclusion if talk else None,
        "why": why,
        "exit_code": talk.process.returncode if talk else None,
        "output": talk.output.decode(errors="replace") if talk else "",
        "calls": api.calls,
        "hidden": can_hide(),
        "took_s": time.monotonic() - started_s,
    }


# --- the process -------------------------------------------------------------------------------------------


async def _start(order: Order, folder: Path, url: str) -> asyncio.subprocess.Process:
    program = shutil.which(order.argv[0])
    if program is None:
        raise FileNotFoundError(2, "there is no such program, or it is not executable")
    argv = covered([program, *order.argv[1:]], (*order.hide, runs_root()))
    return await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
        env=environment(order, folder, url),
        start_new_session=True,
        limit=LINE_BYTES,
    )


def environment(order: Order, folder: Path, url: str) -> dict[str, str]:
    """A small one: what is passed on, and ours."""
    passed = {name: os.environ[name] for name in (*PASSED_ON, *order.env) if name in os.environ}
    ours = {"HOME": str(folder), "CHAOSLAT_URL": url, "CHAOSLAT_SLO_MS": f"{order.slo_ms:g}"}
    return passed | ours | {"CHAOSLAT_TIME_LIMIT_S": f"{order.time_limit_s:g}"}


@cache
def can_hide() -> bool:
    """Whether a program can be given namespaces of its own: as root, where the kernel and a container let us."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "mount", "sh"))):
        return False
    tried = subprocess.run(
        [*_APART, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False
    )
    return tried.returncode == 0


def covered(argv: list[str], hide: tuple[Path, ...]) -> list[str]:
    """The command that runs `argv` where the folders are empty and no other process is to be seen."""
    if not can_hide():
        return argv
    there = [str(path.resolve()) for path in hide if path.is_dir()]
    script = _COVER.replace("$COVER_COUNT", " ".join(map(str, range(len(there)))))
    return [*_APART, "sh", "-c", script, "sh", *there, *argv]


async def _end(process: asyncio.subprocess.Process) -> None:
    """It and whatever it started in its session."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


# --- the conversation --------------------------------------------------------------------------------------


async def _converse(order: Order, talk: _Talk, url: str) -> str:
    """Until it concludes, ends, or its time is over. Returns why there is no conclusion; empty when there is one."""
    readers = [asyncio.ensure_future(_read_lines(talk)), asyncio.ensure_future(_read_errors(talk))]
    ends = [asyncio.ensure_future(talk.concluded.wait()), asyncio.ensure_future(talk.process.wait())]
    try:
        await _tell(talk, hello(order, url))
        ended, _ = await asyncio.wait(ends, timeout=order.time_limit_s, return_when=asyncio.FIRST_COMPLETED)
        await _leave(talk, readers, LAST_WORDS_S if ended else 0.0)
    finally:
        for task in (*ends, *readers):
            task.cancel()
        await asyncio.gather(*ends, *readers, return_exceptions=True)
    if talk.concluded.is_set():
        return ""
    return _why(order, talk, over=not ended)


async def _leave(talk: _Talk, readers: Sequence[asyncio.Future[None]], within_s: float) -> None:
    """A moment for the program to end by itself, its last words included."""
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.gather(talk.process.wait(), *readers), within_s)


def hello(order: Order, url: str) -> dict[str, Any]:
    """The first line."""
    return {
        "slo_ms": order.slo_ms,
        "time_limit_s": order.time_limit_s,
        "url": url,
        "calls": describe(),
    }


def _why(order: Order, talk: _Talk, *, over: bool) -> str:
    words = talk.output.decode(errors="replace").strip().splitlines()
    said = f"; its last words: {words[-1][:200]}" if words else ""
    if over:
        return f"it came to no conclusion within {order.time_limit_s:g} s{said}"
    return f"it ended with exit code {talk.process.returncode} and concluded nothing{said}"


async def _read_lines(talk: _Talk) -> None:
    assert talk.process.stdout is not None
    while line := await _line(talk.process.stdout):
        told = parse(line)
        if "conclude" in told:
            talk.conclude(told["conclude"])
        elif "call" in told:
            await _tell(talk, await _answer(talk, told))
        else:
            talk.keep(line)


async def _line(stream: asyncio.StreamReader) -> bytes:
    """The next line; one that is too long is dropped."""
    while True:
        try:
            return await stream.readline()
        except ValueError:
            continue


def parse(line: bytes) -> dict[str, Any]:
    """The JSON object in a line; empty when it holds something else."""
    try:
        told = json.loads(line)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


async def _answer(talk: _Talk, told: dict[str, Any]) -> dict[str, Any]:
    args = told.get("args", [])
    try:
        return {
            "answer": await talk.api.answer(str(told["call"]), args if isinstance(args, list) else [args])
        }
    except SystemLost as error:
        lose(talk)(error)
        return {"error": in_words(error)}
    except ChaoslatError as error:
        return {"error": in_words(error)}


def in_words(error: ChaoslatError) -> dict[str, str]:
    """An error as the program gets it."""
    return {"what": error.what, "why": error.why, "fix": error.fix}


async def _read_errors(talk: _Talk) -> None:
    assert talk.process.stderr is not None
    while line := await _line(talk.process.stderr):
        talk.keep(line)


async def _tell(talk: _Talk, message: dict[str, Any]) -> None:
    """One line; a program that has gone, or does not listen, is no error."""
    assert talk.process.stdin is not None
    with suppress(ConnectionError):
        talk.process.stdin.write(json.dumps(message).encode() + b"\n")
        await talk.process.stdin.drain()
