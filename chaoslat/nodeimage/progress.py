"""Long steps are seen to be alive: a line when one begins, one now and then while it goes on."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

EVERY_S = 15.0
_WIDTH = 18


class Reporter:
    """Prints `SECONDS  NAME  MESSAGE`, and repeats the last message of a step that takes long."""

    def __init__(self, out: TextIO | None = None, every_s: float = EVERY_S) -> None:
        self._out = out or sys.stdout
        self._every_s = every_s
        self._started_s = time.monotonic()
        self._lock = threading.Lock()
        self._last: tuple[str, str, float] | None = None

    def __call__(self, name: str, message: str) -> None:
        with self._lock:
            self._last = (name, message, time.monotonic())
            self._print(name, message)

    @contextmanager
    def alive(self) -> Iterator[None]:
        """While the block runs, a step that goes on says so every `every_s` seconds."""
        done = threading.Event()
        thread = threading.Thread(target=self._repeat, args=(done,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _repeat(self, done: threading.Event) -> None:
        while not done.wait(self._every_s):
            with self._lock:
                if self._last is not None:
                    name, message, since_s = self._last
                    self._print(name, f"{message} ({time.monotonic() - since_s:.0f} s so far)")

    def _print(self, name: str, message: str) -> None:
        print(
            f"{time.monotonic() - self._started_s:7.1f} s  {name:<{_WIDTH}} {message}",
            file=self._out,
            flush=True,
        )
