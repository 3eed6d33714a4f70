"""Processes of a run: each with a log, and told from a later process of the same number."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from chaoslat.errors import SystemLost
from chaoslat.ledger.owner import start_ticks
from chaoslat.waiting import retrying

T = TypeVar("T")
TAIL_LINES = 15
POLL_S = 0.02
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class NotYet(Exception):
    """Raised by a wait's attempt: try again; its text says what is missing."""


@dataclass(frozen=True, slots=True)
class Part:
    """One process of the system; its log takes what it prints."""

    name: str
    pid: int
    start_ticks: int
    log: str

    @property
    def alive(self) -> bool:
        """The very process still runs (a zombie does not)."""
        return start_ticks(self.pid) == self.start_ticks

    def died(self) -> SystemLost:
        """The error that says so, with the end of its log."""
        return SystemLost(f"{self.name} has died", where=f"process {self.pid}", why=tail(Path(self.log)))


@dataclass(slots=True)
class Children:
    """The processes that this very process started, so that it can collect them when they end."""

    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, name: str, argv: Sequence[str], log: Path, env: Mapping[str, str], cwd: Path) -> Part:
        """Start one, in a session of its own: a terminal's Ctrl-C does not reach it. Raises `SystemLost`."""
        try:
            with log.open("ab") as output:
                process = subprocess.Popen(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env={"PATH": PATH, "LC_ALL": "C", **env},
                    cwd=cwd,
                    start_new_session=True,
                )
        except OSError as error:
            raise SystemLost(f"{name} cannot be started", where=argv[0], why=str(error)) from error
        self.processes.append(process)
        return Part(name, process.pid, start_ticks(process.pid) or -1, str(log))

    def collect(self, deadline_s: float = 5.0) -> None:
        """Wait for the ended ones, so that none stays a zombie; one that still runs is left alone."""
        until_s = time.monotonic() + deadline_s
        for process in self.processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(until_s - time.monotonic(), 0.0))
        self.processes = [process for process in self.processes if process.returncode is None]


def wait_for(part: Part, what: str, attempt: Callable[[], T], deadline_s: float) -> T:
    """Call `attempt` until it no longer raises `NotYet`.

    Raises `SystemLost` with the end of the part's log when the part dies or the deadline passes.
    """

    def alive_and() -> T:
        if not part.alive:
            raise part.died()
        return attempt()

    asking = retrying(NotYet, deadline_s, POLL_S)
    try:
        return asking(alive_and)
    except NotYet as last:
        why = f"{last}\n{tail(Path(part.log))}".strip()
        raise SystemLost(f"{part.name}: {what} did not happen within {deadline_s:.0f} s", why=why) from last


def tail(log: Path, lines: int = TAIL_LINES) -> str:
    """The last lines of a log; "" when it cannot be read."""
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return ""
