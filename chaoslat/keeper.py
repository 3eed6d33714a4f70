"""The process behind `chaoslat up`: it makes a system, gives it load, and holds both up until its time is over.

It is detached from the terminal that started it. What happens until the system is up it tells its starter as JSON
lines on standard output; afterwards it is silent. SIGTERM ends it, and the system with it; if it is killed, the
reaper removes the system when the lease ends, and `chaoslat down` at any time.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from chaoslat import backends
from chaoslat.backends.base import System
from chaoslat.custody import MachineCustody
from chaoslat.errors import ChaoslatError
from chaoslat.experiment import DEFAULT_WORKLOAD
from chaoslat.ledger import keep, run_folder
from chaoslat.runs import note_kept

_LOOK_S = 1.0
Tell = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Order:
    """What to keep: a backend's system, under load drawn from `seed`, for `lease_s` seconds."""

    backend: str
    seed: int
    lease_s: float


def main(argv: list[str]) -> int:
    """`python -m chaoslat.keeper ORDER`, with the order in JSON."""
    tell = _teller()
    try:
        asyncio.run(_keep(Order(**json.loads(argv[0])), tell))
    except ChaoslatError as error:
        tell({"error": {name: getattr(error, name) for name in ("what", "where", "why", "fix", "exit_code")}})
        return error.exit_code
    except asyncio.CancelledError:
        return 0
    return 0


def _teller() -> Tell:
    """Writes lines to the starter; one that has gone is no reason to stop."""

    def tell(line: dict[str, Any]) -> None:
        with suppress(BrokenPipeError):
            print(json.dumps(line), flush=True)

    return tell


async def _keep(order: Order, tell: Tell) -> None:
    _end_once_asked()
    custody = MachineCustody()
    try:
        custody.enter(f"starting a system to keep ({order.backend})")
        run_id = custody.open_run()
        try:
            await _hold(order, run_id, custody, tell)
        finally:
            await asyncio.shield(asyncio.to_thread(custody.heal, run_id))
    finally:
        custody.leave()


def _end_once_asked() -> None:
    """The first signal cancels this task; further ones must not break off the undo that follows."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)

    def end() -> None:
        for number in numbers:
            loop.add_signal_handler(number, lambda: None)
        task.cancel()

    for number in numbers:
        loop.add_signal_handler(number, end)


async def _hold(order: Order, run_id: str, custody: MachineCustody, tell: Tell) -> None:
    """Make the system, say that it is up, and wait for the end of the lease or of the run's folder."""
    system = await backends.get(order.backend).create(run_id, lambda line: tell({"progress": line}))
    try:
        await system.start_load(DEFAULT_WORKLOAD, order.seed, Path(system.info.folder) / "load.bin")
        note_kept(run_id, order.backend, os.getpid())
        keep(run_id, order.lease_s)
        custody.leave()  # from now on the lock's file says that the machine has a kept system
        tell({"up": asdict(system.info)})
        _let_go_of_the_terminal()
        await _until_over(run_id, order.lease_s)
    finally:
        await asyncio.shield(_destroyed(system, run_id))


async def _until_over(run_id: str, lease_s: float) -> None:
    loop = asyncio.get_running_loop()
    end_s = loop.time() + lease_s
    while loop.time() < end_s and run_folder(run_id).exists():  # noqa: ASYNC110 - another process removes it
        await asyncio.sleep(_LOOK_S)


async def _destroyed(system: System, run_id: str) -> None:
    if run_folder(run_id).exists():
        await system.destroy()


def _let_go_of_the_terminal() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
