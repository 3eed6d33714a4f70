"""SIGTERM and SIGHUP take the same clean path as Ctrl-C, and none of them breaks off an undo."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

_Handler = Callable[[int, FrameType | None], None]
_ENDING = (signal.SIGTERM, signal.SIGHUP)


class Terminated(KeyboardInterrupt):
    """A signal asked this process to end. `number` gives the exit code that a shell would show."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextmanager
def interruptible() -> Iterator[None]:
    """Within it SIGTERM and SIGHUP raise `Terminated`, a KeyboardInterrupt.

    Leaves a signal alone that is ignored, as nohup does with SIGHUP. Does nothing in a thread that is not the main
    one, which alone may set handlers.
    """
    with _handled(_ENDING, _raise):
        yield


@contextmanager
def answered(say: Callable[[], None]) -> Iterator[None]:
    """Within it Ctrl-C, SIGTERM and SIGHUP call `say` and interrupt nothing."""
    with _handled((signal.SIGINT, *_ENDING), lambda _number, _frame: say()):
        yield


@contextmanager
def _handled(numbers: Iterable[signal.Signals], handler: _Handler) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in numbers}
    heeded = [number for number, old in before.items() if old is not signal.SIG_IGN]
    try:
        for number in heeded:
            signal.signal(number, handler)
        yield
    finally:
        for number in heeded:
            signal.signal(number, before[number] or signal.SIG_DFL)


def _raise(number: int, _frame: FrameType | None) -> None:
    raise Terminated(number)
