"""Undoing a container engine of a run, the fence round its network, and what it left on an engine that is not ours.

Loaded only when there is one to undo. Needs nothing but Python's own library, as all that a reaper runs.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from chaoslat.ledger.ledger import Entry
from chaoslat.ledger.names import run_of, scoped
from chaoslat.ledger.processes import empty_and_remove

COMMAND_S = 20.0
LOCK = "lock"
"""In an engine's data folder: held by the engine for as long as it lives."""
_FOLDERS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def fence(entry: Entry) -> None:
    """`name`: the table of firewall rules, named after the run."""
    name = _own(entry, str(entry.args["name"]))
    if ["table", "inet", name] in [line.split() for line in _tool("nft", "list", "tables").splitlines()]:
        _tool("nft", "delete", "table", "inet", name)


def engine(entry: Entry) -> None:
    """`folder`: the engine's own, named after the run; `data`: where it keeps images, which stay.

    All processes of engine and containers are in the run's cgroup: they are killed there, at once, so that nothing
    is restarted meanwhile. Then what they left mounted goes, and the folder.
    """
    folder, data = Path(str(entry.args["folder"])), Path(str(entry.args["data"]))
    _own(entry, folder.name)
    for top in _cgroup_tops():
        empty_and_remove(top / scoped(entry.run_id))
    unmount_below(folder)
    with _unless_in_use(data) as free:
        if free:
            unmount_below(data)
    if folder.exists():
        shutil.rmtree(folder)


def containers(entry: Entry) -> None:
    """`host`, `label`: containers on an engine that was here before, found by their label; `network`: ours on it."""
    docker = ("docker", "--host", str(entry.args["host"]))
    network = _own(entry, str(entry.args["network"]))
    mine = _tool(*docker, "ps", "--all", "--quiet", "--filter", f"label={entry.args['label']}").split()
    if mine:
        _tool(*docker, "rm", "--force", "--volumes", *mine)
    if network in _tool(*docker, "network", "ls", "--format", "{{.Name}}").split():
        _tool(*docker, "network", "rm", network)


def unmount_below(folder: Path) -> None:
    """Unmount all that is mounted at a folder or below it, the last mounted first."""
    for point in reversed(mount_points()):
        if Path(point).is_relative_to(folder):
            _tool("umount", "--lazy", point)


def mount_points() -> list[str]:
    """Where something is mounted, in the order in which it was."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line.split()[4].replace("\\040", " ") for line in lines]


def _cgroup_tops() -> Iterator[Path]:
    """Every hierarchy: an engine makes cgroups in all of them, also in those that we have no use for."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, point, kind, *_ = line.split()
        if kind in ("cgroup", "cgroup2"):
            yield Path(point)


@contextlib.contextmanager
def _unless_in_use(data: Path) -> Iterator[bool]:
    """Hold the lock of an engine's data; False when a later engine has it."""
    if not data.is_dir():
        yield False
        return
    fd = os.open(data / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(fd)


def _own(entry: Entry, name: str) -> str:
    if run_of(name) != entry.run_id:
        raise ValueError(f"{name} does not carry the id of run {entry.run_id}")
    return name


def _tool(name: str, *args: str) -> str:
    program = shutil.which(name) or shutil.which(name, path=_FOLDERS)
    if program is None:
        raise FileNotFoundError(f"{name} is not installed any more")
    done = subprocess.run(
        [program, *args],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
    )
    if done.returncode:
        raise OSError(f"{name} {' '.join(args[:4])}: {done.stderr.strip()}")
    return done.stdout
