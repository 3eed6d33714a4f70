"""How each kind of promise is undone. Every undo is idempotent: what is gone already is fine.

An undo touches only what its entry names, and refuses what does not carry the run's id. To add a kind, write a
function that takes an `Entry` and pass `{**UNDO, "my-kind": function}` to whoever undoes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from chaoslat.errors import ChaoslatError
from chaoslat.ledger.ledger import Entry
from chaoslat.ledger.names import run_of
from chaoslat.ledger.processes import empty_and_remove, kill

Undo = Callable[[Entry], None]
COMMAND_S = 10.0
HTTP_S = 2.0


def undo(entry: Entry, table: Mapping[str, Undo] | None = None) -> None:
    """Undo one entry. Raises ChaoslatError when it cannot be undone or its kind is not in the table."""
    kinds = UNDO if table is None else table
    if entry.kind not in kinds:
        raise ChaoslatError(
            f"Nothing here knows how to undo `{entry.kind}`",
            where=f"entry {entry.number} of run {entry.run_id}",
            why=f"known kinds: {', '.join(sorted(kinds))}",
            fix="heal with the version or plugin of chaoslat that made the run",
        )
    try:
        kinds[entry.kind](entry)
    except (OSError, KeyError, TypeError, ValueError, subprocess.SubprocessError) as error:
        raise ChaoslatError(
            f"`{entry.kind}` was not undone",
            where=str(dict(entry.args)),
            why=f"{type(error).__name__}: {error}",
        ) from error


def _file(entry: Entry) -> None:
    """Write the old content back; a file that is gone needs none."""
    try:
        fd = os.open(str(entry.args["path"]), os.O_WRONLY | os.O_TRUNC)
    except FileNotFoundError:
        return
    try:
        os.write(fd, str(entry.args["content"]).encode())
    finally:
        os.close(fd)


def _tree(entry: Entry) -> None:
    """Remove a folder; not through a mount, which may lead to anybody's files."""
    path = _own_path(entry, str(entry.args["path"]))
    mounted = [point for point in _mount_points() if point == path or point.startswith(f"{path}/")]
    if mounted:
        raise ValueError(f"{', '.join(mounted)} is mounted inside")
    if os.path.lexists(path):
        shutil.rmtree(path)


def _cgroup(entry: Entry) -> None:
    """Kill what is inside, then remove it; `paths` has one directory per hierarchy."""
    paths = entry.args["paths"]
    if not isinstance(paths, list):
        raise TypeError("paths is not a list")
    for directory in [_own_path(entry, str(path)) for path in paths]:
        empty_and_remove(Path(directory))


def _netns(entry: Entry) -> None:
    name = _own_name(entry)
    if os.path.lexists(f"/run/netns/{name}"):
        _command("ip", "netns", "delete", name)


def _link(entry: Entry) -> None:
    """Remove an interface, and those plugged into it where it is a bridge.

    Of a container that was killed, the kernel keeps the interfaces until the last of its connections has timed out.
    """
    name = _own_name(entry)
    ports = Path("/sys/class/net", name, "brif")
    for port in os.listdir(ports) if ports.is_dir() else ():
        _delete_link(port)
    _delete_link(name)


def _delete_link(name: str) -> None:
    """One that is gone, or goes meanwhile, is fine."""
    where = f"/sys/class/net/{name}"
    try:
        if os.path.lexists(where):
            _command("ip", "link", "delete", name)
    except subprocess.CalledProcessError:
        if os.path.lexists(where):
            raise


def _mount(entry: Entry) -> None:
    path = _own_path(entry, str(entry.args["path"]))
    while path in _mount_points():
        try:
            _command("umount", path)
        except subprocess.CalledProcessError:  # somebody's shell sits in it
            _command("umount", "--lazy", path)


def _http(entry: Entry) -> None:
    """Send one request to a server that may be gone."""
    from chaoslat.ledger.undo_http import send  # costs a reaper 3 MB, and most never need it

    send(entry)


def _fence(entry: Entry) -> None:
    """Remove the firewall rules round a cluster's network."""
    from chaoslat.ledger import undo_engine

    undo_engine.fence(entry)


def _engine(entry: Entry) -> None:
    """Stop a container engine of our own, with all that runs on it."""
    from chaoslat.ledger import undo_engine

    undo_engine.engine(entry)


def _containers(entry: Entry) -> None:
    """Remove what we made on a container engine that is not ours."""
    from chaoslat.ledger import undo_engine

    undo_engine.containers(entry)


def _kube(entry: Entry) -> None:
    """Run one kubectl command against a cluster that may be gone."""
    from chaoslat.ledger import undo_kube

    undo_kube.kube(entry)


def _mysql(entry: Entry) -> None:
    """Change the schema of a run's own database back; the server may be gone."""
    from chaoslat.ledger import undo_mysql

    undo_mysql.mysql(entry, _own_path(entry, str(entry.args["socket"])))


def _process(entry: Entry) -> None:
    """Kill one process, unless its number belongs to another by now."""
    kill(int(str(entry.args["pid"])), int(str(entry.args["start_ticks"])))


UNDO: Mapping[str, Undo] = {
    "cgroup": _cgroup,
    "containers": _containers,
    "engine": _engine,
    "fence": _fence,
    "file": _file,
    "http": _http,
    "kube": _kube,
    "link": _link,
    "mount": _mount,
    "mysql": _mysql,
    "netns": _netns,
    "process": _process,
    "tree": _tree,
}


def _own_path(entry: Entry, path: str) -> str:
    """The path itself, absolute and without detours; ValueError unless a part of it is named after the run."""
    parts = Path(path).parts
    if not os.path.isabs(path) or ".." in parts or entry.run_id not in map(run_of, parts):
        raise ValueError(f"{path} does not carry the id of run {entry.run_id}")
    return str(Path(path))


def _own_name(entry: Entry) -> str:
    name = str(entry.args["name"])
    if run_of(name) != entry.run_id:
        raise ValueError(f"{name} does not carry the id of run {entry.run_id}")
    return name


def _mount_points() -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line.split()[4].replace("\\040", " ") for line in lines]


def _command(*argv: str) -> None:
    subprocess.run(argv, check=True, timeout=COMMAND_S, stdin=subprocess.DEVNULL, capture_output=True)
