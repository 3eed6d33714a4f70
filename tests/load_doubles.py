"""Makes latency logs and servers for the tests of the load generator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from chaoslat.load import LogHeader, Shape, Workload
from chaoslat.load.record import LogWriter

WORKLOAD = Workload(100.0, (Shape("hot", 3.0, "/query?id={hot}"), Shape("any", 1.0, "/q/{any}/x")), 1000, 10)
START_NS = 5_000_000_000
HEADER = LogHeader(
    started_ns=START_NS,
    started_unix_s=1.0,
    seed=7,
    workload=WORKLOAD.to_json(),
    target="127.0.0.1:1",
    timer="timerfd",
    engine="uvloop",
    scheduling="normal",
    pid=1,
)


def new_log(path: Path) -> LogWriter:
    return LogWriter(path, HEADER)


class Server:
    """An HTTP server that answers what `answer(path, connection, request)` says; None closes the connection.

    `connection` and `request` count from 0; the second counts within the connection.
    """

    def __init__(self, answer: Callable[[str, int, int], bytes | None], delay_s: float = 0.0) -> None:
        self._answer = answer
        self._delay_s = delay_s
        self._writers: list[asyncio.StreamWriter] = []
        self.connections = 0
        self.paths: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection, self.connections = self.connections, self.connections + 1
        self._writers.append(writer)
        request = 0
        while head := await _read_head(reader):
            self.paths.append(head.split(" ")[1])
            await asyncio.sleep(self._delay_s)
            answer = self._answer(self.paths[-1], connection, request)
            if answer is None:
                break
            writer.write(answer)
            request += 1
        writer.close()

    def drop_all(self) -> None:
        for writer in self._writers:
            writer.close()


async def _read_head(reader: asyncio.StreamReader) -> str:
    try:
        return (await reader.readuntil(b"\r\n\r\n")).decode()
    except (asyncio.IncompleteReadError, ConnectionError):
        return ""


@asynccontextmanager
async def serving(server: Server) -> AsyncIterator[int]:
    """The port on which the server listens."""
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        server.drop_all()
        await asyncio.sleep(0.01)  # the handlers see the end and return


def ok(body: bytes = b"ok", headers: bytes = b"") -> bytes:
    return b"HTTP/1.1 200 OK\r\n" + headers + b"Content-Length: %d\r\n\r\n" % len(body) + body
