"""The client against real sockets on 127.0.0.1: connections, failures, deadlines. Needs no privileges."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable

import pytest

from chaoslat.load.client import Client, Exchange
from chaoslat.load.http import Response
from chaoslat.load.server_timing import ServerTiming
from tests.load_doubles import Server, ok, serving

Answer = Callable[[str, int, int], bytes | None]


class Rig:
    """A client, and what it reported."""

    def __init__(self, port: int, **options: float) -> None:
        self.done: dict[int, Response] = {}
        self.took_ms: dict[int, float] = {}
        self.client = Client("127.0.0.1", port, self._on_done, **options)  # type: ignore[arg-type]

    def _on_done(self, exchange: Exchange, response: Response, end_ns: int) -> None:
        assert exchange.seq not in self.done, "reported twice"
        self.done[exchange.seq] = response
        self.took_ms[exchange.seq] = (end_ns - exchange.due_ns) / 1e6

    def launch(self, seq: int, path: str = "/") -> None:
        self.client.launch(Exchange(seq, 0, path, time.monotonic_ns(), 0))

    async def settled(self) -> None:
        async with asyncio.timeout(5):
            while self.client.in_flight:
                self.client.sweep(time.monotonic_ns())
                await asyncio.sleep(0.002)

    @property
    def statuses(self) -> list[int]:
        return [self.done[seq].status for seq in sorted(self.done)]


async def test_one_after_another_share_a_connection() -> None:
    server = Server(lambda *_: ok(headers=b'Server-Timing: query;dur=1.5;desc="n=2"\r\n'))
    async with serving(server) as port:
        rig = Rig(port)
        for seq in range(5):
            rig.launch(seq, f"/query?id={seq}")
            await rig.settled()
        rig.client.close()
    assert rig.statuses == [200] * 5
    assert server.connections == 1
    assert server.paths == [f"/query?id={seq}" for seq in range(5)]
    assert rig.done[0].timing == ServerTiming(query_us=1500, statements=2)


async def test_requests_at_once_never_wait_for_a_connection() -> None:
    server = Server(lambda *_: ok(), delay_s=0.05)
    async with serving(server) as port:
        rig = Rig(port)
        for seq in range(20):
            rig.launch(seq)
        await rig.settled()
        rig.client.close()
    assert rig.statuses == [200] * 20
    assert server.connections == 20
    # One behind the other would take the last one a second.
    assert max(rig.took_ms.values()) < 500


async def test_beyond_the_cap_a_request_fails_at_once() -> None:
    async with serving(Server(lambda *_: ok(), delay_s=0.05)) as port:
        rig = Rig(port, max_sockets=3)
        for seq in range(5):
            rig.launch(seq)
        assert rig.done.keys() == {3, 4}
        await rig.settled()
        rig.launch(5)
        await rig.settled()
        rig.client.close()
    assert rig.statuses == [200, 200, 200, 0, 0, 200]


async def test_nobody_listens() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))  # bound but not listening: refused
        rig = Rig(holder.getsockname()[1])
        rig.launch(0)
        await rig.settled()
    assert rig.statuses == [0]


async def test_past_its_deadline_a_request_fails_and_the_next_one_works() -> None:
    server = Server(lambda path, *_: ok(), delay_s=0.0)
    async with serving(server) as port:
        rig = Rig(port, deadline_s=0.15)
        server._delay_s = 3.0
        rig.launch(0)
        await rig.settled()
        server._delay_s = 0.0
        rig.launch(1)
        await rig.settled()
        rig.client.close()
    assert rig.statuses == [0, 200]
    assert 150 <= rig.took_ms[0] < 2000
    assert server.connections == 2, "the late answer must not be taken for the next one"


async def test_a_deadline_also_ends_a_connect_that_hangs() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        fillers = [socket.socket() for _ in range(4)]  # the backlog is full: further handshakes hang
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        rig = Rig(port, deadline_s=0.15)
        rig.launch(0)
        await rig.settled()
        rig.client.close()
        for filler in fillers:
            filler.close()
    assert rig.statuses == [0]


async def test_an_idle_connection_that_the_server_closed_is_replaced() -> None:
    server = Server(lambda *_: ok())
    async with serving(server) as port:
        rig = Rig(port)
        rig.launch(0)
        await rig.settled()
        server.drop_all()
        await asyncio.sleep(0.02)
        rig.launch(1)
        await rig.settled()
        rig.client.close()
    assert rig.statuses == [200, 200]
    assert server.connections == 2


async def test_a_connection_that_closes_under_the_request_is_tried_once_more() -> None:
    # The server closes for idleness just when the second request arrives.
    server = Server(lambda path, connection, request: None if (connection, request) == (0, 1) else ok())
    async with serving(server) as port:
        rig = Rig(port)
        for seq in range(3):
            rig.launch(seq)
            await rig.settled()
        rig.client.close()
    assert rig.statuses == [200, 200, 200]
    assert server.connections == 2


@pytest.mark.parametrize(
    "answer",
    [
        lambda path, connection, request: None,
        lambda path, connection, request: b"SSH-2.0-OpenSSH\r\n\r\n",
        lambda path, connection, request: None if request else ok(),
    ],
    ids=["closes at once", "another protocol", "closes every connection after one"],
)
async def test_a_broken_server_is_a_failure_and_not_an_endless_retry(answer: Answer) -> None:
    server = Server(answer)
    async with serving(server) as port:
        rig = Rig(port)
        for seq in range(4):
            rig.launch(seq)
            await rig.settled()
        rig.client.close()
    assert len(rig.done) == 4
    assert server.connections <= 8
    assert set(rig.statuses) <= {0, 200}


async def test_a_body_that_runs_until_the_connection_closes() -> None:
    server = Server(lambda path, connection, request: None if request else b"HTTP/1.1 200 OK\r\n\r\nabc")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nabc")
        await writer.drain()
        writer.close()

    server.serve = serve  # type: ignore[method-assign]
    async with serving(server) as port:
        rig = Rig(port)
        for seq in range(2):
            rig.launch(seq)
            await rig.settled()
        rig.client.close()
    assert rig.statuses == [200, 200]


async def test_server_errors_are_responses() -> None:
    async with serving(Server(lambda *_: b"HTTP/1.1 503 Down\r\nContent-Length: 0\r\n\r\n")) as port:
        rig = Rig(port)
        rig.launch(0)
        await rig.settled()
        rig.client.close()
    assert rig.statuses == [503]


async def test_closing_drops_everything_and_reports_nothing() -> None:
    async with serving(Server(lambda *_: ok(), delay_s=0.2)) as port:
        rig = Rig(port)
        for seq in range(5):
            rig.launch(seq)
        await asyncio.sleep(0.05)
        rig.client.close()
        await asyncio.sleep(0.3)
        assert rig.client.in_flight == 0
    assert rig.done == {}
