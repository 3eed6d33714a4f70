"""`python -m chaoslat.load JOB.json`: the generator as a process of its own.

Answers on standard output, one JSON object a line: `{"ready": ...}` at the start, then `{"rate_rps",
"at_ns"}` or `{"error"}` for each control line. Reads control lines on standard input: `{"rate_rps": 120}`.
The end of standard input, SIGTERM and SIGINT stop it.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from chaoslat.errors import ChaoslatError
from chaoslat.load.config import LoadConfig, LoadJob
from chaoslat.load.generator import Generator
from chaoslat.load.priority import raise_priority
from chaoslat.load.record import LogHeader, LogWriter

LEAD_NS = 20_000_000  # from being ready to the schedule's start


def main(arguments: list[str]) -> int:
    """Run; 0 when it was told to stop or was through, 2 usage, 3 with the reason on standard error."""
    if len(arguments) != 1:
        print("usage: python -m chaoslat.load JOB.json", file=sys.stderr)
        return 2
    try:
        job = LoadJob.read(Path(arguments[0]))
        _run(job)
    except ChaoslatError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def _run(job: LoadJob) -> None:
    scheduling = raise_priority(job.config.priority)
    header = _header(job.config, scheduling)
    log = LogWriter(job.log, header)
    try:
        with asyncio.Runner(loop_factory=_loop_factory(job.config.engine)) as runner:
            runner.run(_generate(job.config, log, header))
    finally:
        log.close()


def _loop_factory(engine: str) -> Any:
    if engine == "asyncio":
        return asyncio.new_event_loop
    import uvloop

    return uvloop.new_event_loop


async def _generate(config: LoadConfig, log: LogWriter, header: LogHeader) -> None:
    generator = Generator(config, log, header.started_ns, warn=_warn)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, generator.stop)
    _listen(loop, generator)
    gc.freeze()  # what is imported lives for good: never scan it again
    _say({"ready": True, "started_ns": header.started_ns, "scheduling": header.scheduling})
    await generator.run()


def _header(config: LoadConfig, scheduling: str) -> LogHeader:
    return LogHeader(
        started_ns=time.monotonic_ns() + LEAD_NS,
        started_unix_s=time.time() + LEAD_NS / 1e9,
        seed=config.seed,
        workload=config.workload.to_json(),
        target=config.target,
        timer=config.timer,
        engine=config.engine,
        scheduling=scheduling,
        pid=os.getpid(),
    )


def _listen(loop: asyncio.AbstractEventLoop, generator: Generator) -> None:
    """Control lines from standard input, without a thread."""
    pending = bytearray()

    def readable() -> None:
        data = os.read(0, 4096)
        if not data:
            loop.remove_reader(0)
            generator.stop()
        pending.extend(data)
        *lines, rest = pending.split(b"\n")
        pending[:] = rest
        for line in lines:
            _say(_obey(generator, bytes(line)))

    try:
        loop.add_reader(0, readable)
    except OSError:  # /dev/null and plain files cannot be waited for
        _warn("standard input gives no control lines: stop me with SIGTERM")


def _obey(generator: Generator, line: bytes) -> dict[str, Any]:
    try:
        rate_rps = float(json.loads(line)["rate_rps"])
        return {"rate_rps": rate_rps, "at_ns": generator.set_rate(rate_rps)}
    except (ValueError, KeyError, TypeError, ChaoslatError) as error:
        return {"error": f"{line.decode(errors='replace')}: {error}"}


def _say(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


def _warn(text: str) -> None:
    print(f"load: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
