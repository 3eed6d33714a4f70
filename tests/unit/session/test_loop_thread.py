"""A coroutine in another thread's loop: results, errors, and interruptions that wait for the undo."""

import asyncio
import os
import signal
import threading

import pytest

from chaoslat.errors import ChaoslatError
from chaoslat.interruption import Terminated, interruptible
from chaoslat.loop_thread import LoopThread


@pytest.fixture
def thread():
    made = LoopThread(undo_bound_s=5.0)
    yield made
    made.stop()


class Undoable:
    """A coroutine whose undo, once it is cancelled, goes on until it is allowed to end."""

    def __init__(self, *, may_end=True):
        self.started, self.may_end, self.undone = threading.Event(), threading.Event(), False
        if may_end:
            self.may_end.set()

    async def run(self):
        try:
            self.started.set()
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.to_thread(self.may_end.wait, 30)
            self.undone = True
            raise


def send_when_started(number, work):
    """Send a signal to this process once the work has begun."""

    def act():
        work.started.wait(5)
        os.kill(os.getpid(), number)

    threading.Thread(target=act, daemon=True).start()


async def answer():
    await asyncio.sleep(0)
    return 42


async def fail():
    raise ChaoslatError("no")


def test_result_and_error(thread):
    assert thread.call(answer(), print) == 42
    with pytest.raises(ChaoslatError, match="no"):
        thread.call(fail(), print)


def test_one_loop_for_all_calls(thread):
    async def loop():
        return asyncio.get_running_loop()

    assert thread.call(loop(), print) is thread.call(loop(), print)


@pytest.mark.parametrize(
    ("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)]
)
def test_an_interruption_waits_for_the_undo(thread, number, kind):
    work, said = Undoable(), []
    send_when_started(number, work)
    with pytest.raises(kind), interruptible():
        thread.call(work.run(), said.append)
    assert work.undone
    assert said == ["interrupted: undoing, please wait"]


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_second_interruption_does_not_skip_the_undo(thread, second):
    work, said = Undoable(may_end=False), []

    def say(line):
        said.append(line)
        if len(said) == 1:
            os.kill(os.getpid(), second)
        else:
            work.may_end.set()

    send_when_started(signal.SIGINT, work)
    with pytest.raises(KeyboardInterrupt):
        thread.call(work.run(), say)
    assert work.undone
    assert said[1:] == ["the undo is under way; leaving now would leave the fault in place"]


def test_an_undo_that_hangs_is_given_up_and_said():
    thread, work = LoopThread(undo_bound_s=0.2), Undoable(may_end=False)
    send_when_started(signal.SIGINT, work)
    with pytest.raises(ChaoslatError, match=r"took more than 0 s") as caught:
        thread.call(work.run(), lambda line: None)
    assert caught.value.fix == "chaoslat heal"
    work.may_end.set()
    thread.stop()


async def test_waiting_from_another_loop_lets_that_loop_run(thread):
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.01)

    ticking = asyncio.create_task(tick())
    assert await thread.wait(asyncio.sleep(0.3, "done")) == "done"
    ticking.cancel()
    assert ticks >= 3


async def test_cancelling_a_waiter_undoes_first(thread):
    work = Undoable()
    waiting = asyncio.create_task(thread.wait(work.run()))
    await asyncio.to_thread(work.started.wait, 5)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert work.undone


def test_stop_may_be_called_twice():
    thread = LoopThread()
    thread.stop()
    thread.stop()
    assert not any(t.name == "chaoslat-loop" and t.is_alive() for t in threading.enumerate())


def test_handlers_are_put_back():
    before = signal.getsignal(signal.SIGTERM)
    with interruptible():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_ignored_signal_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_set_no_handlers(thread):
    seen = []

    def act():
        with interruptible():
            seen.append(signal.getsignal(signal.SIGTERM))

    other = threading.Thread(target=act)
    other.start()
    other.join()
    assert seen == [signal.getsignal(signal.SIGTERM)]
