"""The reaper: a detached process that outlives a run, and undoes it when its owner dies or its time is over.

It lives in a session of its own (a terminal's Ctrl-C does not reach it), outside the run's cgroups, and sleeps in
`poll` on a pidfd of the owner. When the run's folder is gone, the run ended cleanly, and the reaper ends too.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from chaoslat.errors import ChaoslatError
from chaoslat.ledger.heal import HealReport, heal
from chaoslat.ledger.owner import Owner, boot_s, read_owner
from chaoslat.ledger.state import healed_log, run_folder

LOOK_EVERY_S = 1.0
GRACE_S = 10.0
"""When a lease ends while the owner lives, the owner gets this long to undo by itself."""
PAUSES_S = (0.0, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Before each try to heal: a part may only be busy for a moment."""
KEPT_LOGS = 20
START_S = 10.0


def spawn(run_id: str, lease_s: float | None) -> int:
    """Start the reaper of a run that this process owns; return its pid once it watches.

    It heals the run when this process dies (unless the run is kept by then) and in any case after `lease_s`; None
    sets no end. Raises ChaoslatError when it cannot be started: nothing may be injected then.
    """
    lease = "" if lease_s is None else str(lease_s)
    starter = [sys.executable, "-I", "-S", str(Path(__file__).with_name("reaper_start.py")), run_id, lease]
    try:
        answer = subprocess.run(
            starter,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=START_S,
            cwd="/",
            start_new_session=True,
            check=True,
        )
        if answer.stderr:
            raise ValueError(answer.stderr)
        return int(answer.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        why = getattr(error, "stderr", None) or error
        raise ChaoslatError("The reaper cannot be started, so nothing was changed", why=str(why)) from error


def main(arguments: Sequence[str]) -> None:
    """What `spawn` starts: fork, so that the owner has no child to wait for; then watch."""
    run_id, lease = arguments
    child = os.fork()
    if child:
        print(child)
        return
    _detach(run_id)
    report = watch(run_id, float(lease) if lease else None)
    if report is not None:
        leave_log(report)


def _detach(run_id: str) -> None:
    """Nothing of the owner's is held open, and no signal that ends a session reaches it."""
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    log = os.open(run_folder(run_id) / "reaper.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for descriptor, source in ((0, null), (1, log), (2, log)):
        os.dup2(source, descriptor)
    os.close(null)
    os.close(log)


def watch(run_id: str, lease_s: float | None = None) -> HealReport | None:
    """Wait until nobody holds the run, or its lease is over, and heal it. None: it ended cleanly."""
    folder = run_folder(run_id)
    end_s = None if lease_s is None else boot_s() + lease_s
    while folder.exists():
        owner = read_owner(folder)
        if owner is None or not owner.holds or (end_s is not None and boot_s() >= end_s):
            return _after_grace(run_id, owner)
        _wait(owner, LOOK_EVERY_S)
    return None


def _wait(owner: Owner, at_most_s: float) -> None:
    """Until the owner dies; a kept run has none to watch."""
    with contextlib.ExitStack() as stack:
        poll = select.poll()
        with contextlib.suppress(ProcessLookupError):
            handle = os.pidfd_open(owner.pid)
            stack.callback(os.close, handle)
            if owner.alive:
                poll.register(handle, select.POLLIN)
            elif not owner.kept:
                return
        poll.poll(at_most_s * 1000)


def _after_grace(run_id: str, owner: Owner | None) -> HealReport | None:
    end_s = boot_s() + GRACE_S
    while owner is not None and owner.alive and boot_s() < end_s:
        if not run_folder(run_id).exists():
            return None
        _wait(owner, LOOK_EVERY_S)
    return heal_patiently(run_id)


def heal_patiently(run_id: str, sleep: Callable[[float], None] = time.sleep) -> HealReport:
    """Heal, and try again what failed; what still fails after that waits in the ledger for `chaoslat heal`."""
    undone: list[str] = []
    for pause_s in PAUSES_S:
        sleep(pause_s)
        report = heal(run_id)
        undone += report.undone
        if not report.failed:
            break
    return HealReport(run_id, tuple(undone), report.failed)


def leave_log(report: HealReport) -> None:
    """A few lines that stay when the run's folder has gone; the oldest logs go."""
    log = healed_log(report.run_id)
    log.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"undone: {kind}" for kind in report.undone] + [f"FAILED {failure}" for failure in report.failed]
    log.write_text("\n".join([time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), *lines]) + "\n")
    logs = sorted(log.parent.glob("*.log"), key=lambda path: path.stat().st_mtime)
    for old in logs[:-KEPT_LOGS]:
        old.unlink(missing_ok=True)
