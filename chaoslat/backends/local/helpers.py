"""Helper processes of a decoy: promised in the ledger before they do anything, counted, and killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from chaoslat.backends.local.parts import PATH
from chaoslat.backends.local.promises import Promises
from chaoslat.errors import SystemLost
from chaoslat.ledger.owner import start_ticks

COLLECT_S = 5.0


class Helpers:
    """Processes of one kind, each of a Python file that waits for a line before it begins."""

    def __init__(self, name: str, program: Path, log: Path, promises: Promises) -> None:
        self._name, self._program, self._log, self._promises = name, program, log, promises
        self._children: list[subprocess.Popen[bytes]] = []

    def start(self, count: int, launcher: Sequence[str], args: Sequence[str]) -> None:
        """Replace those that run by `count` new ones. Raises `SystemLost` when one does not stay alive."""
        self.stop()
        for number in range(count):
            child = self._waiting(launcher, args)
            ticks = start_ticks(child.pid) or -1
            self._promises.keep(self._target(number), "process", pid=child.pid, start_ticks=ticks)
            self._begin(child)
        if self.alive() != count:
            raise SystemLost(f"{self.alive()} of {count} {self._name} run", where=str(self._log))

    def alive(self) -> int:
        """How many run: as the ledger knows them, whoever started them."""
        return sum(self._runs(number) for number in range(self._promised()))

    def stop(self) -> None:
        """Kill all; nothing happens when none was started."""
        for number in range(self._promised()):
            self._promises.fulfil(self._target(number))
        for child in self._children:
            child.wait(COLLECT_S)
        self._children = []

    def _waiting(self, launcher: Sequence[str], args: Sequence[str]) -> subprocess.Popen[bytes]:
        argv = [*launcher, sys.executable, str(self._program), *args]
        with self._log.open("ab") as output:
            child = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=output, stderr=output, start_new_session=True,
                env={"PATH": PATH},
            )  # fmt: skip
        self._children.append(child)
        return child

    @staticmethod
    def _begin(child: subprocess.Popen[bytes]) -> None:
        if child.stdin is not None:
            child.stdin.write(b"go\n")
            child.stdin.close()

    def _target(self, number: int) -> str:
        return f"{self._name} {number}"

    def _promised(self) -> int:
        number = 0
        while self._promises.kept(self._target(number)):
            number += 1
        return number

    def _runs(self, number: int) -> bool:
        target = self._target(number)
        pid, ticks = (self._promises.argument(target, name) for name in ("pid", "start_ticks"))
        return isinstance(pid, int) and start_ticks(pid) == ticks
