"""Runs in a debug container beside the app, and imports nothing of chaoslat: what a prober there has to do.

Its one argument is the source of chaoslat/probes/prober.py. The first line on its standard input says where the
database is and who logs in; each further line is a question, and gets one line: `{"noop": count, "gap_ms": 20}`,
`{"connect": true}`, `{"sql": "...", "args": [...]}`. It ends with its standard input.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from typing import Any

DEADLINE_S = 5.0
TCP_INFO_BYTES = 256


def connect(host: str, port: int) -> dict[str, object]:
    """One new TCP connection: how long it took, and the kernel's struct tcp_info of it."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.settimeout(DEADLINE_S)
        begin_s = time.perf_counter()
        sock.connect((host, port))
        connect_ms = (time.perf_counter() - begin_s) * 1000
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES)
    return {"connect_ms": connect_ms, "tcp_info": info.hex()}


class Agent:
    """Answers questions; `prober` is the class of that name."""

    def __init__(self, login: dict[str, Any], prober: type) -> None:
        self._login = login
        self._prober = prober(login["host"], login["port"], login["user"], login["password"])
        self._connection: Any = None
        self._address = ""

    def answer(self, line: str) -> dict[str, object]:
        """Never raises for what is asked or the database does."""
        try:
            return self._answer(json.loads(line))
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}", "args": [str(arg) for arg in error.args]}

    def _answer(self, question: dict[str, Any]) -> dict[str, object]:
        if "noop" in question:
            return {"round_trip_ms": self._prober.round_trips_ms(question["noop"], question["gap_ms"])}
        if "sql" in question:
            return {"rows": self._rows(question["sql"], question["args"])}
        self._address = self._address or socket.gethostbyname(self._login["host"])  # not timed with it
        return connect(self._address, self._login["port"])

    def _rows(self, sql: str, args: list[object]) -> list[list[object]]:
        import pymysql

        if self._connection is None:
            self._connection = pymysql.connect(
                **self._login, autocommit=True, connect_timeout=DEADLINE_S, read_timeout=2 * DEADLINE_S
            )
        with self._connection.cursor() as cursor:
            cursor.execute(sql, args or None)
            return [[_plain(value) for value in row] for row in cursor.fetchall()]


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, (int, str)) else float(value)  # type: ignore[arg-type]


def main() -> None:
    """Serve standard input."""
    source: dict[str, Any] = {"__name__": "prober"}
    exec(sys.argv[1], source)
    agent = Agent(json.loads(sys.stdin.readline()), source["Prober"])
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(agent.answer(line)), flush=True)


if __name__ == "__main__":
    main()
