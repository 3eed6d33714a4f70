"""SIGTERM and SIGHUP take the same clean path as Ctrl-C, wherever chaoslat waits for something to be undone."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Terminated(KeyboardInterrupt):
    """A signal asked this process to end. `number` gives the exit code that a shell would show."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextmanager
def interruptible() -> Iterator[None]:
    """Within it SIGTERM and SIGHUP raise `Terminated`, a KeyboardInterrupt.

    Does nothing in a thread that is not the main one (only that one may set handlers), and leaves a signal alone
    that is ignored, as nohup does with SIGHUP.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    heeded = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    try:
        for number in heeded:
            signal.signal(number, _raise)
        yield
    finally:
        for number in heeded:
            signal.signal(number, before[number] or signal.SIG_DFL)


def _raise(number: int, _frame: FrameType | None) -> None:
    raise Terminated(number)
