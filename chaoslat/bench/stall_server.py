"""A server whose latencies are known: it answers at once, but stops for 100 ms every 937 ms.

`python -m chaoslat.bench.stall_server PERIOD_MS STALL_MS` listens on a free port of 127.0.0.1 and prints
`{"port": N}`. At the end of standard input it prints `{"stalls_ns": [[begin, end], ...]}` (CLOCK_MONOTONIC)
and exits. A bare selector, because event loops that gather their writes answer nobody before all have been
read. Answering those who waited takes a while too: each answer says, as `query` in its `Server-Timing`, how
many ms after the last stall's end it was given.
"""

from __future__ import annotations

import json
import selectors
import socket
import sys
import time
from contextlib import suppress
from typing import IO

from chaoslat.load.priority import raise_priority

HOST = "127.0.0.1"
BACKLOG = 1024
SPIN_S = 0.003
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nServer-Timing: query;dur=%.3f\r\n\r\nok"


class StallServer:
    """Serves until `control` ends. While it stalls, nothing is read, answered or accepted."""

    def __init__(self, period_ms: float, stall_ms: float, control: IO[str]) -> None:
        self._period_ns, self._stall_ns = int(period_ms * 1e6), int(stall_ms * 1e6)
        self._control = control
        self._listener = socket.create_server((HOST, 0), backlog=BACKLOG)
        self._listener.setblocking(False)
        self._selector = selectors.EpollSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(control, selectors.EVENT_READ)
        self.port: int = self._listener.getsockname()[1]
        self.stalls_ns: list[tuple[int, int]] = []

    def run(self) -> None:
        next_ns = time.monotonic_ns() + self._period_ns
        while True:
            left_ns = next_ns - time.monotonic_ns()
            if left_ns <= 0:
                self._stall()
                next_ns += self._period_ns
            ready = [key.fileobj for key, _ in self._selector.select(max(left_ns, 0) / 1e9)]
            if self._control in ready:
                return
            for each in ready:
                self._serve(each)

    def _serve(self, each: object) -> None:
        if each is self._listener:
            self._accept()
        elif isinstance(each, socket.socket):
            with suppress(ConnectionError):
                self._answer(each)

    def _accept(self) -> None:
        with suppress(BlockingIOError):
            while True:
                client, _ = self._listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._selector.register(client, selectors.EVENT_READ)

    def _answer(self, client: socket.socket) -> None:
        # A request is far smaller than a segment: it never comes in pieces here.
        data = client.recv(65_536)
        if data:
            client.send(ANSWER % self._since_stall_ms() * data.count(b"\r\n\r\n"))
        else:
            self._selector.unregister(client)
            client.close()

    def _since_stall_ms(self) -> float:
        return (time.monotonic_ns() - self.stalls_ns[-1][1]) / 1e6 if self.stalls_ns else 0.0

    def _stall(self) -> None:
        begin_ns = time.monotonic_ns()
        end_ns = begin_ns + self._stall_ns
        time.sleep(max(self._stall_ns / 1e9 - SPIN_S, 0))
        # A sleeping core wakes up late, by most of a millisecond on some machines: the end is met awake.
        while time.monotonic_ns() < end_ns:
            pass
        self.stalls_ns.append((begin_ns, time.monotonic_ns()))


def main(arguments: list[str]) -> None:
    """Serve until standard input ends."""
    period_ms, stall_ms = (float(argument) for argument in arguments)
    # It competes with the generator on equal terms, so that the truth is the stalls and not the machine.
    raise_priority()
    server = StallServer(period_ms, stall_ms, sys.stdin)
    print(json.dumps({"port": server.port}), flush=True)
    server.run()
    print(json.dumps({"stalls_ns": server.stalls_ns}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
