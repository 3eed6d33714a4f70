"""A server whose latencies are known: it answers at once, but stops for 100 ms every 937 ms.

`python -m chaoslat.bench.stall_server PERIOD_MS STALL_MS` listens on a free port of 127.0.0.1 and prints
`{"port": N}`. At the end of standard input it prints `{"stalls_ns": [[begin, end], ...]}` (CLOCK_MONOTONIC)
and exits.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import cast

import uvloop

from chaoslat.load.priority import raise_priority

HOST = "127.0.0.1"
ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
    b'Server-Timing: acquire;dur=0.010, query;dur=0.020;desc="n=1", cpu;dur=0.030\r\n\r\nok'
)


class _Answers(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._pending = b""

    def data_received(self, data: bytes) -> None:
        *requests, self._pending = (self._pending + data).split(b"\r\n\r\n")
        self._transport.write(ANSWER * len(requests))


class _Stalls:
    """Blocks the whole loop, so that nothing is read or answered, and remembers when it did."""

    def __init__(self, period_ms: float, stall_ms: float) -> None:
        self._period_s, self._stall_s = period_ms / 1000, stall_ms / 1000
        self.seen_ns: list[tuple[int, int]] = []

    async def run(self) -> None:
        next_s = time.monotonic() + self._period_s
        while True:
            await asyncio.sleep(max(next_s - time.monotonic(), 0))
            self._stall()
            next_s += self._period_s

    def _stall(self) -> None:
        begin_ns = time.monotonic_ns()
        time.sleep(self._stall_s)
        self.seen_ns.append((begin_ns, time.monotonic_ns()))


async def _serve(period_ms: float, stall_ms: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Answers, HOST, 0)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    stalls = _Stalls(period_ms, stall_ms)
    stalling = loop.create_task(stalls.run())
    ended = asyncio.Event()
    loop.add_reader(0, ended.set)
    await ended.wait()
    loop.remove_reader(0)
    stalling.cancel()
    server.close()
    print(json.dumps({"stalls_ns": stalls.seen_ns}), flush=True)


def main(arguments: list[str]) -> None:
    """Serve until standard input ends."""
    period_ms, stall_ms = (float(argument) for argument in arguments)
    # It competes with the generator on equal terms, so that the truth is the stalls and not the machine.
    raise_priority()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(period_ms, stall_ms))


if __name__ == "__main__":
    main(sys.argv[1:])
