"""Helper processes of a decoy: promised in the ledger before they do anything, counted, and killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from chaoslat.backends.local.parts import PATH, tail
from chaoslat.backends.local.promises import Promises
from chaoslat.errors import SystemLost
from chaoslat.ledger.owner import start_ticks

COLLECT_S = 5.0
READY = b"ready\n"


class Helpers:
    """Processes of one kind, each of a Python file that waits for a line before it begins, and says `ready`."""

    def __init__(self, name: str, program: Path, log: Path, promises: Promises) -> None:
        self._name, self._program, self._log, self._promises = name, program, log, promises
        self._children: list[subprocess.Popen[bytes]] = []

    def start(self, launchers: Sequence[Sequence[str]], args: Sequence[str]) -> None:
        """Replace those that run by a new one per launcher. Raises `SystemLost` when one does not stay alive."""
        self.stop()
        count = len(launchers)
        for number, launcher in enumerate(launchers):
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
        # -P: the folder of the program is no place to import from (our operator.py is not Python's)
        argv = [*launcher, sys.executable, "-P", str(self._program), *args]
        pipe, env = subprocess.PIPE, {"PATH": PATH}
        with self._log.open("ab") as log:
            child = subprocess.Popen(
                argv, stdin=pipe, stdout=pipe, stderr=log, start_new_session=True, env=env
            )
        self._children.append(child)
        return child

    def _begin(self, child: subprocess.Popen[bytes]) -> None:
        """Let it begin, and wait until it says that it has."""
        said = b""
        if child.stdin is not None and child.stdout is not None:
            with suppress(BrokenPipeError), child.stdin:
                child.stdin.write(b"go\n")
            with child.stdout:
                said = child.stdout.readline()
        if said != READY:
            raise SystemLost(f"{self._name}: one has died", where=str(self._program), why=tail(self._log))

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
