"""One asyncio loop in a thread of its own, and a caller that waits for it and can be interrupted cleanly.

A system lives in one loop from its creation to its end, while pytest and the command line are synchronous. An
interruption (Ctrl-C, or a signal that is turned into one) cancels the coroutine, waits until it has undone what it
did, and only then reaches the caller.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from chaoslat.errors import ChaoslatError
from chaoslat.interruption import answered

T = TypeVar("T")
UNDO_BOUND_S = 60.0
_STOP_S = 10.0


class Job(Generic[T]):
    """A coroutine that runs in the loop's thread. `outcome` is set when it has ended, undo included."""

    def __init__(self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, T]) -> None:
        self.outcome: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._loop, self._coroutine = loop, coroutine
        self._task: asyncio.Task[None] | None = None
        self._cancelled = False

    def start(self) -> Job[T]:
        """Let it run."""
        self._loop.call_soon_threadsafe(self._start)
        return self

    def cancel(self) -> None:
        """Ask it to stop; it has stopped when `outcome` is set. A second time does not disturb its undo."""
        self._loop.call_soon_threadsafe(self._cancel)

    def _start(self) -> None:
        self._task = self._loop.create_task(self._run())

    def _cancel(self) -> None:
        if self._task is not None and not self._cancelled:
            self._cancelled = True
            self._task.cancel()

    async def _run(self) -> None:
        try:
            self.outcome.set_result(await self._coroutine)
        except BaseException as error:  # handed over, whatever it is: the waiting thread raises it
            self.outcome.set_exception(error)


class LoopThread:
    """Runs coroutines in its thread. Use `call` from any other thread, or `wait` from a coroutine of another loop."""

    def __init__(self, undo_bound_s: float = UNDO_BOUND_S) -> None:
        self._undo_bound_s = undo_bound_s
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="chaoslat-loop", daemon=True)
        self._thread.start()

    def call(self, coroutine: Coroutine[Any, Any, T], say: Callable[[str], None]) -> T:
        """Run it and wait. A KeyboardInterrupt here cancels it, waits for its undo, and is raised then."""
        job = Job(self._loop, coroutine)
        try:
            return job.start().outcome.result()
        except KeyboardInterrupt:
            try:
                self._undo(job, say)
            except KeyboardInterrupt:  # came in the moment before signals were answered only
                self._undo(job, say)
            raise

    async def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run it and wait without blocking the caller's loop. Cancelling the caller cancels it, undo first."""
        job = Job(self._loop, coroutine)
        ended, here = asyncio.Event(), asyncio.get_running_loop()
        job.outcome.add_done_callback(lambda _: here.call_soon_threadsafe(ended.set))
        job.start()
        try:
            await ended.wait()
        except asyncio.CancelledError:
            job.cancel()
            await asyncio.wait_for(ended.wait(), self._undo_bound_s)
            raise
        return job.outcome.result()

    def stop(self) -> None:
        """End the loop and its thread. May be called twice."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_STOP_S)
        if not self._thread.is_alive() and not self._loop.is_closed():
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    def _undo(self, job: Job[T], say: Callable[[str], None]) -> None:
        """Cancel, and wait for the undo; a further interruption is answered, not obeyed."""
        with answered(lambda: say("the undo is under way; leaving now would leave the fault in place")):
            job.cancel()
            say("interrupted: undoing, please wait")
            concurrent.futures.wait([job.outcome], timeout=self._undo_bound_s)
        if not job.outcome.done():
            raise ChaoslatError(
                f"The undo took more than {self._undo_bound_s:.0f} s",
                why="a part of the system does not answer",
                fix="chaoslat heal",
            )
