"""The open loop: starts every request when it is due, whatever became of those before, and logs both ends."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from chaoslat.load.client import Client, Exchange
from chaoslat.load.config import LoadConfig
from chaoslat.load.http import Response
from chaoslat.load.record import LogWriter
from chaoslat.load.schedule import Schedule
from chaoslat.load.timer import make_wakeup

NS_PER_S = 1_000_000_000
SWEEP_S = 0.1
DRAIN_S = 1.0
MAX_STARTS_PER_WAKEUP = 32  # then responses get their turn, also when far behind


class Generator:
    """One run. Build it inside its event loop; the schedule begins at `start_ns`."""

    def __init__(
        self, config: LoadConfig, log: LogWriter, start_ns: int, warn: Callable[[str], None] = lambda _: None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._log = log
        self._schedule = Schedule(config.workload, config.seed, start_ns)
        self._client = Client(
            config.host,
            config.port,
            self._on_done,
            max_sockets=config.max_sockets,
            deadline_s=config.deadline_s,
        )
        self._wakeup = make_wakeup(self._loop, self._on_wakeup, wanted=config.timer, warn=warn)
        self._end_ns = (
            sys.maxsize if config.duration_s is None else start_ns + int(config.duration_s * NS_PER_S)
        )
        self._stopped = asyncio.Event()
        self._quiet = asyncio.Event()
        self._failure: Exception | None = None
        self._seq = 0

    async def run(self) -> None:
        """Until `stop` or the configured duration; then waits at most a second for what is in flight.

        Raises what went wrong in a callback (the log could not be written).
        """
        self._arm()
        sweeper = self._loop.create_task(self._sweep())
        await self._stopped.wait()
        self._wakeup.close()
        await self._drain()
        sweeper.cancel()
        self._client.close()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        self._stopped.set()

    def set_rate(self, rate_rps: float) -> int:
        """Change the rate from now on; when that was (CLOCK_MONOTONIC). Raises `ChaoslatError`."""
        self._client.read_received()  # whoever gets the answer finds the log complete up to now
        now_ns = time.monotonic_ns()
        self._schedule.set_rate(rate_rps, now_ns)
        self._log.rate(now_ns, rate_rps, self._seq)
        self._arm()
        return now_ns

    def _on_wakeup(self) -> None:
        if self._stopped.is_set():
            return
        try:
            self._start_what_is_due()
        except Exception as error:  # a callback has nobody to raise to
            self._fail(error)
        else:
            self._arm()

    def _arm(self) -> None:
        self._wakeup.at(min(self._schedule.due_ns, self._end_ns))

    def _start_what_is_due(self) -> None:
        for _ in range(MAX_STARTS_PER_WAKEUP):
            now_ns = time.monotonic_ns()
            if min(self._schedule.due_ns, self._end_ns) > now_ns:
                return
            if self._schedule.due_ns >= self._end_ns:
                self.stop()
                return
            self._start(now_ns)

    def _start(self, now_ns: int) -> None:
        due_ns, shape, path = self._schedule.take()
        exchange = Exchange(self._seq, shape, path, due_ns, (now_ns - due_ns) // 1000)
        self._seq += 1
        self._log.sent(exchange.seq, shape, due_ns, exchange.lag_us)
        self._client.launch(exchange)

    def _on_done(self, exchange: Exchange, response: Response, end_ns: int) -> None:
        try:
            self._log.done(
                exchange.seq,
                exchange.shape,
                response.status,
                exchange.due_ns,
                exchange.lag_us,
                (end_ns - exchange.due_ns) // 1000,
                response.timing,
            )
        except Exception as error:
            self._fail(error)
        if not self._client.in_flight:
            self._quiet.set()

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        self.stop()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            self._client.sweep(time.monotonic_ns())

    async def _drain(self) -> None:
        self._quiet.clear()
        if self._client.in_flight and self._failure is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._quiet.wait(), DRAIN_S)
