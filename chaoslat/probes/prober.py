"""The process beside the app that runs no-op statements; started as a script, it imports nothing of chaoslat.

A process of its own, because a ping inside the app waits for the app's event loop, and one inside the
diagnosing process waits for that. It listens on a unix socket and serves one client at a time, a line of
JSON each way: `{"count": 50, "gap_ms": 20}` -> `{"round_trip_ms": [...]}` or `{"error": "..."}`.
Environment: PROBER_SOCKET, PROBER_HOST, PROBER_PORT, PROBER_USER, PROBER_PASSWORD.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from io import BufferedRWPair
from typing import Any

import pymysql

STATEMENT = "DO 0"
DEADLINE_S = 10.0
_GOLDEN = 0.6180339887498949


def gaps_s(count: int, gap_ms: float) -> Iterator[float]:
    """Start-to-start gaps between half of `gap_ms` and all of it, in seconds.

    They follow the golden ratio: spread evenly, and in step with no period, such as the 100 ms of a CPU
    quota.
    """
    for index in range(count):
        yield gap_ms / 1000 * (0.5 + 0.5 * (index * _GOLDEN % 1.0))


class Prober:
    """Holds the one connection; opens it again when it was lost."""

    def __init__(self, host: str, port: int, user: str, password: str) -> None:
        self._address: dict[str, Any] = {"host": host, "port": port, "user": user, "password": password}
        self._connection: Any = None

    def round_trips_ms(self, count: int, gap_ms: float) -> list[float]:
        """Time `count` no-op statements, one after another. A lost connection is opened again once."""
        try:
            return self._measure(count, gap_ms)
        except (pymysql.MySQLError, OSError):
            self._drop()
            return self._measure(count, gap_ms)

    def _measure(self, count: int, gap_ms: float) -> list[float]:
        connection = self._connection = self._connection or self._connect()
        connection.query(STATEMENT)  # the first one after a pause finds cold caches
        taken_ms = []
        for gap_s in gaps_s(count, gap_ms):
            begin_s = time.perf_counter()
            connection.query(STATEMENT)
            took_s = time.perf_counter() - begin_s
            taken_ms.append(took_s * 1000)
            time.sleep(max(gap_s - took_s, 0.0))
        return taken_ms

    def _connect(self) -> Any:
        deadline_s = DEADLINE_S
        return pymysql.connect(
            **self._address, connect_timeout=deadline_s, read_timeout=deadline_s, autocommit=True
        )

    def _drop(self) -> None:
        with suppress(Exception):
            self._connection.close()
        self._connection = None


def answer(prober: Prober, line: bytes) -> dict[str, object]:
    """The reply to one request line; never raises for what a client sends or the database does."""
    try:
        request = json.loads(line)
        return {"round_trip_ms": prober.round_trips_ms(int(request["count"]), float(request["gap_ms"]))}
    except (pymysql.MySQLError, OSError, ValueError, TypeError, KeyError) as error:
        return {"error": f"{type(error).__name__}: {error}"}


def serve(prober: Prober, listener: socket.socket) -> None:
    """Serve one client after another, for ever."""
    while True:
        client, _ = listener.accept()
        with client, client.makefile("rwb") as stream, suppress(OSError):
            _serve_client(prober, stream)


def _serve_client(prober: Prober, stream: BufferedRWPair) -> None:
    for line in stream:
        stream.write(json.dumps(answer(prober, line)).encode() + b"\n")
        stream.flush()


def main() -> None:
    """Listen where the environment says; anybody else on the machine is kept out by the socket's mode."""
    env = os.environ
    prober = Prober(env["PROBER_HOST"], int(env["PROBER_PORT"]), env["PROBER_USER"], env["PROBER_PASSWORD"])
    os.umask(0o077)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(env["PROBER_SOCKET"])
        listener.listen(8)
        serve(prober, listener)


if __name__ == "__main__":
    main()
