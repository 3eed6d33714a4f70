"""Wake-ups at an absolute time, more precise than an event loop's own timers.

asyncio's epoll rounds timeouts up to whole milliseconds, and libuv (uvloop) counts in them. A timerfd is a
file that becomes readable at a nanosecond of CLOCK_MONOTONIC (timerfd_create(2)). Python has it as
`os.timerfd_create` from 3.13 on; before, it is called through ctypes.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

NS_PER_S = 1_000_000_000
_TFD_TIMER_ABSTIME = 1
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC  # TFD_NONBLOCK and TFD_CLOEXEC have the same values


class Wakeup(Protocol):
    """Calls back once at the time that `at` was last given; a time that has passed calls back at once."""

    kind: str

    def at(self, due_ns: int) -> None: ...
    def close(self) -> None: ...


class _Itimerspec(ctypes.Structure):
    """struct itimerspec: interval, then value, each seconds and nanoseconds."""

    _fields_ = (
        ("interval_s", ctypes.c_long),
        ("interval_ns", ctypes.c_long),
        ("value_s", ctypes.c_long),
        ("value_ns", ctypes.c_long),
    )


class TimerfdWakeup:
    """Wake-ups from a timerfd. Raises `OSError` or `AttributeError` where the system has none."""

    kind = "timerfd"

    def __init__(self, loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
        self._loop = loop
        self._callback = callback
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._spec = _Itimerspec()
        self._fd: int = self._checked(self._libc.timerfd_create(time.CLOCK_MONOTONIC, _FLAGS))
        loop.add_reader(self._fd, self._fire)

    def at(self, due_ns: int) -> None:
        # A value of zero would disarm the timer.
        self._spec.value_s, self._spec.value_ns = divmod(max(due_ns, 1), NS_PER_S)
        self._checked(
            self._libc.timerfd_settime(self._fd, _TFD_TIMER_ABSTIME, ctypes.byref(self._spec), None)
        )

    def close(self) -> None:
        self._loop.remove_reader(self._fd)
        os.close(self._fd)

    def _fire(self) -> None:
        # Set again between becoming readable and now: then there is nothing to read, and a later call comes.
        with suppress(BlockingIOError):
            os.read(self._fd, 8)
            self._callback()

    @staticmethod
    def _checked(result: int) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result


class LoopWakeup:
    """Wake-ups from the event loop's own timers: late by up to a millisecond or more."""

    kind = "loop"

    def __init__(self, loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
        self._loop = loop
        self._callback = callback
        self._handle: asyncio.TimerHandle | None = None

    def at(self, due_ns: int) -> None:
        self.close()
        delay_s = max(due_ns - time.monotonic_ns(), 0) / NS_PER_S
        self._handle = self._loop.call_later(delay_s, self._callback)

    def close(self) -> None:
        if self._handle is not None:
            self._handle.cancel()


def make_wakeup(
    loop: asyncio.AbstractEventLoop,
    callback: Callable[[], None],
    *,
    wanted: str = "timerfd",
    warn: Callable[[str], None] = lambda _: None,
) -> Wakeup:
    """The wanted kind, or loop timers with a warning where the system has no timerfd."""
    if wanted == TimerfdWakeup.kind:
        try:
            return TimerfdWakeup(loop, callback)
        except (OSError, AttributeError, NotImplementedError) as error:
            warn(f"no timerfd ({error}): requests may start a millisecond or more late")
    return LoopWakeup(loop, callback)
