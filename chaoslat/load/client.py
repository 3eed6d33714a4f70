"""HTTP/1.1 GETs over keep-alive connections on a raw `asyncio.Protocol`, for an open loop.

A request never waits for a connection: an idle one is taken, or a new one opened. Beyond `max_sockets` it
fails at once. Time here is CLOCK_MONOTONIC nanoseconds.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import cast

from chaoslat.load.http import BadResponse, Response, ResponseReader
from chaoslat.load.server_timing import UNKNOWN

NS_PER_S = 1_000_000_000
READS_PER_TURN = 4
FAILED = Response(status=0, reusable=False, timing=UNKNOWN)
"""No response: refused, broken, too late, or no socket left."""


class Exchange:
    """One request on its way."""

    __slots__ = ("connecting", "connection", "due_ns", "lag_us", "path", "retried", "seq", "shape")

    def __init__(self, seq: int, shape: int, path: str, due_ns: int, lag_us: int) -> None:
        self.seq, self.shape, self.path, self.due_ns, self.lag_us = seq, shape, path, due_ns, lag_us
        self.connecting: asyncio.Task[None] | None = None
        self.connection: Connection | None = None
        self.retried = False


OnDone = Callable[[Exchange, Response, int], None]
"""Called once per exchange with the response (`FAILED` where there is none) and the time of its last byte."""


class Client:
    """Sends exchanges and calls `on_done` for each, exactly once, unless the client is closed first."""

    def __init__(
        self, host: str, port: int, on_done: OnDone, *, max_sockets: int = 1000, deadline_s: float = 10.0
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._host, self._port = host, port
        self._on_done = on_done
        self._max_sockets = max_sockets
        self._deadline_ns = int(deadline_s * NS_PER_S)
        self._tail = f" HTTP/1.1\r\nHost: {_authority(host, port)}\r\nUser-Agent: chaoslat\r\n\r\n".encode(
            "ascii"
        )
        self._flying: dict[int, Exchange] = {}  # in the order of their due times
        self._idle: list[Connection] = []
        self._connections: set[Connection] = set()
        self._connecting = 0
        self._received: deque[tuple[Connection, bytes, int]] = deque()

    @property
    def in_flight(self) -> int:
        return len(self._flying)

    def launch(self, exchange: Exchange) -> None:
        """Send now, or as soon as the new connection is there."""
        self._flying[exchange.seq] = exchange
        if self._idle:
            self._idle.pop().send(exchange, self.encode(exchange))
        else:
            self._connect(exchange)

    def sweep(self, now_ns: int) -> None:
        """Give up what is past its deadline. Called every so often: cheaper than a timer per request."""
        while self._flying:
            oldest = next(iter(self._flying.values()))
            if now_ns < oldest.due_ns + self._deadline_ns:
                return
            self._abandon(oldest)
            self.finish(oldest, FAILED)

    def close(self) -> None:
        """Drop every connection; what is in flight is never reported."""
        for exchange in self._flying.values():
            self._abandon(exchange)
        self._flying.clear()
        for connection in list(self._connections):
            connection.drop()

    # for connections --------------------------------------------------------------------------------------

    def encode(self, exchange: Exchange) -> bytes:
        return b"GET " + exchange.path.encode("ascii") + self._tail

    def opened(self, connection: Connection) -> None:
        self._connections.add(connection)

    def idle(self, connection: Connection) -> None:
        self._idle.append(connection)

    def lost(self, connection: Connection, exchange: Exchange | None, *, stale: bool) -> None:
        """A connection is gone, and the exchange that it carried with it.

        `stale`: it had served before and not a byte came back. Then the server most likely closed it for
        idleness while the request was on its way, and the request is sent once more (RFC 9110, 9.2.2), its
        clock running on.
        """
        self._connections.discard(connection)
        with suppress(ValueError):
            self._idle.remove(connection)
        if exchange is None or exchange.seq not in self._flying:
            return
        if stale and not exchange.retried:
            exchange.retried = True
            self._connect(exchange)
        else:
            self.finish(exchange, FAILED)

    def received(self, connection: Connection, data: bytes) -> None:
        """Note the time now and read the bytes later: reading one response would make the next seem slower."""
        if not self._received:
            self._loop.call_soon(self._read_some)
        self._received.append((connection, data, time.monotonic_ns()))

    def read_received(self) -> None:
        """Read all of it now: a connection has closed, and what it brought before has to count first."""
        while self._received:
            self._read_one()

    def _read_some(self) -> None:
        # A few at a time, with a look at the sockets between, so that times are taken soon in a burst, too.
        for _ in range(min(len(self._received), READS_PER_TURN)):
            self._read_one()
        if self._received:
            self._loop.call_soon(self._read_some)

    def _read_one(self) -> None:
        connection, data, at_ns = self._received.popleft()
        connection.read(data, at_ns)

    def finish(self, exchange: Exchange, response: Response, end_ns: int | None = None) -> None:
        if self._flying.pop(exchange.seq, None) is not None:
            self._on_done(exchange, response, time.monotonic_ns() if end_ns is None else end_ns)

    # ------------------------------------------------------------------------------------------------------

    def _connect(self, exchange: Exchange) -> None:
        if len(self._connections) + self._connecting >= self._max_sockets:
            self.finish(exchange, FAILED)
            return
        self._connecting += 1
        exchange.connecting = self._loop.create_task(self._open(exchange))
        # Not in the task itself: one that is cancelled before its first step never runs.
        exchange.connecting.add_done_callback(self._connected)

    def _connected(self, _: asyncio.Task[None]) -> None:
        self._connecting -= 1

    async def _open(self, exchange: Exchange) -> None:
        connection = Connection(self)
        try:
            await self._loop.create_connection(lambda: connection, self._host, self._port)
        except OSError:
            self.finish(exchange, FAILED)
        except asyncio.CancelledError:
            connection.drop()
            raise
        else:
            connection.send(exchange, self.encode(exchange))
        finally:
            exchange.connecting = None

    def _abandon(self, exchange: Exchange) -> None:
        if exchange.connecting is not None:
            exchange.connecting.cancel()
        if exchange.connection is not None:
            exchange.connection.drop()


class Connection(asyncio.Protocol):
    """One keep-alive connection: carries one exchange at a time."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._reader = ResponseReader()
        self._exchange: Exchange | None = None
        self._transport: asyncio.Transport | None = None
        self._served = 0

    def send(self, exchange: Exchange, request: bytes) -> None:
        exchange.connection = self
        self._exchange = exchange
        if self._transport is None:  # lost between connecting and now
            self._client.lost(self, exchange, stale=True)
        else:
            self._transport.write(request)

    def drop(self) -> None:
        """Close without waiting for anything; the exchange is the caller's."""
        self._exchange = None
        if self._transport is not None:
            self._transport.abort()

    # asyncio.Protocol -------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._client.opened(self)

    def data_received(self, data: bytes) -> None:
        self._client.received(self, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._client.read_received()
        exchange, self._exchange, self._transport = self._exchange, None, None
        response = None if exchange is None else self._reader.close()
        if exchange is not None and response is not None:
            self._client.finish(exchange, response)
        self._client.lost(self, exchange, stale=self._served > 0 and self._reader.untouched)

    # ------------------------------------------------------------------------------------------------------

    def read(self, data: bytes, at_ns: int) -> None:
        """Bytes that came at `at_ns`."""
        exchange = self._exchange
        if exchange is None:  # nobody asked
            self.drop()
            return
        try:
            response = self._reader.feed(data)
        except BadResponse:
            response = FAILED
        if response is not None:
            self._done(exchange, response, at_ns)

    def _done(self, exchange: Exchange, response: Response, at_ns: int) -> None:
        self._exchange = None
        self._served += 1
        exchange.connection = None
        self._client.finish(exchange, response, at_ns)
        if response.reusable:
            self._client.idle(self)
        else:
            self.drop()


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
