"""`chaoslat up`, `status` and `down`: systems that stay."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from chaoslat.cli import app as frame
from chaoslat.cli import exits
from chaoslat.cli.output import Progress, print_result, progress
from chaoslat.errors import ChaoslatError, UsageError
from chaoslat.interruption import interruptible

_UNITS_S = {"s": 1, "m": 60, "h": 3600}
_DOWN_S = 30.0
MAX_LEASE_S = 24 * 3600.0

For = Annotated[
    str, typer.Option("--for", metavar="TIME", help="How long it stays: 90s, 30m, 2h; at most 24h.")
]
RunId = Annotated[
    str | None, typer.Argument(metavar="[RUN]", help="The run; may be left out when there is one.")
]


@frame.command(frame.app, "up")
def up(
    lease: For = "2h", seed: frame.Seed = None, backend: frame.Backend = "local", as_json: frame.Json = False
) -> int:
    """Start a system with load and keep it for hands-on work. --json gives pids, cgroups, ports and namespaces."""
    order = {"backend": backend, "seed": frame.chosen_seed(seed), "lease_s": parse_lease(lease)}
    with progress() as show, interruptible():
        info = start_keeper([sys.executable, "-m", "chaoslat.keeper", json.dumps(order)], show)
    data = {"run": info["run_id"], "for_s": order["lease_s"], "seed": order["seed"], "system": info}
    print_result(data, f"{describe(info)}\nremoved after {lease}, or by: chaoslat down", as_json=as_json)
    return exits.AS_EXPECTED


def parse_lease(text: str) -> float:
    """Seconds of `90s`, `30m` or `2h`. Raises UsageError."""
    match = re.fullmatch(r"(\d{1,6})([smh])", text.strip())
    lease_s = float(match[1]) * _UNITS_S[match[2]] if match else 0.0
    if not 0 < lease_s <= MAX_LEASE_S:
        raise UsageError(f"--for {text!r} is not a time up to 24h", fix="for example --for 30m, or --for 2h")
    return lease_s


def start_keeper(argv: Sequence[str], show: Progress) -> dict[str, Any]:
    """Start the keeper and wait until its system is up. Raises its error; an interruption takes it down again."""
    keeper = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert keeper.stdout is not None
    try:
        with keeper.stdout:
            told = _listen(keeper.stdout, show)
        if "up" not in told:
            raise _error(told, keeper.wait(_DOWN_S))
    except BaseException:
        keeper.terminate()
        keeper.wait(_DOWN_S)
        raise
    keeper.returncode = 0  # it is let go: nobody waits for it any more
    info: dict[str, Any] = told["up"]
    return info


def _listen(lines: Iterable[str], show: Progress) -> dict[str, Any]:
    """Show what the keeper says until it says how it ended; empty when it says nothing more."""
    for line in lines:
        told: dict[str, Any] = json.loads(line)
        if "progress" not in told:
            return told
        show(told["progress"])
    return {}


def _error(told: dict[str, Any], exit_code: int) -> ChaoslatError:
    if "error" not in told:
        return ChaoslatError(
            "The keeper of the system died", why=f"exit code {exit_code}", fix="chaoslat heal"
        )
    error = told["error"]
    raised = ChaoslatError(error["what"], where=error["where"], why=error["why"], fix=error["fix"])
    raised.exit_code = error["exit_code"]
    return raised


def describe(info: dict[str, Any]) -> str:
    """A system in a few lines."""
    lines = [f"run {info['run_id']} ({info['backend']}): {info['url']}", f"  folder      {info['folder']}"]
    for key in ("pids", "cgroups", "ports", "namespaces", "versions"):
        lines += [f"  {key:11} " + ", ".join(f"{name} {value}" for name, value in info[key].items())]
    return "\n".join(lines)


@frame.command(frame.app, "status")
def status(run: RunId = None, as_json: frame.Json = False) -> int:
    """Show the runs on this machine: their owner, what a kept system is made of, and whether it is well."""
    from chaoslat.runs import known_runs

    found = [each for each in known_runs() if run in (None, each.run_id)]
    if run is not None and not found:
        raise UsageError(f"There is no run {run}", fix="`chaoslat status` shows those that there are")
    data = [asdict(each) | {"system": _inspected(each.run_id) if each.kept else None} for each in found]
    print_result(data, "\n".join(map(_run_text, data)) or "no run is here", as_json=as_json)
    return exits.AS_EXPECTED


def _inspected(run_id: str) -> dict[str, Any]:
    """A kept system and its complaints; an unreachable one has only the reason."""
    from chaoslat.runs import attach

    async def look() -> dict[str, Any]:
        system = attach(run_id)
        try:
            return asdict(system.info) | {"complaints": list(await system.check())}
        finally:
            await system.close()

    try:
        return asyncio.run(look())
    except ChaoslatError as error:
        return {"complaints": [str(error)]}


def _run_text(run: dict[str, Any]) -> str:
    system = run["system"]
    lines = [describe(system) if system and "run_id" in system else f"run {run['run_id']}"]
    lines += [f"  owner       {run['owner']}"]
    lines += [f"  complaint   {complaint}" for complaint in (system or {}).get("complaints", [])]
    return "\n".join(lines)


@frame.command(frame.app, "down")
def down(run: RunId = None, as_json: frame.Json = False) -> int:
    """Remove a system that is up, and all that belongs to it."""
    from chaoslat.custody import MachineCustody
    from chaoslat.runs import kept_run

    run_id = kept_run(run)
    with progress() as show:
        show(f"removing run {run_id}")
        _end_keeper(run_id)
        MachineCustody().heal(run_id)
    print_result({"removed": run_id}, f"removed run {run_id}", as_json=as_json)
    return exits.AS_EXPECTED


def _end_keeper(run_id: str) -> None:
    """Ask the keeper to remove its system, and wait. Raises UsageError when a live process works with the run."""
    from chaoslat.ledger import run_folder
    from chaoslat.ledger.owner import read_owner
    from chaoslat.runs import read_kept

    note, owner = read_kept(run_id), read_owner(run_folder(run_id))
    if owner is not None and not owner.kept and owner.alive:
        raise UsageError(
            f"Run {run_id} belongs to process {owner.pid}, which is at work",
            fix=f"let it end, or interrupt it (kill -INT {owner.pid}): it undoes before it exits",
        )
    if note is None or not note.keeper_alive:
        return
    os.kill(note.pid, signal.SIGTERM)
    deadline_s = time.monotonic() + _DOWN_S
    while note.keeper_alive and time.monotonic() < deadline_s:
        time.sleep(0.05)
