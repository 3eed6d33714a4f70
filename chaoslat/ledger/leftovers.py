"""What carries the name of a run that has no ledger any more, say because somebody emptied the state folder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from chaoslat.cgroup.mounts import parse_mountinfo
from chaoslat.errors import ChaoslatError
from chaoslat.ledger.heal import run_ids
from chaoslat.ledger.ledger import Entry, JsonValue
from chaoslat.ledger.marks import is_lost
from chaoslat.ledger.names import run_of
from chaoslat.ledger.state import made_mark
from chaoslat.ledger.undo import undo

TEMP_FOLDERS = (Path("/var/tmp"), Path("/var/lib"), Path("/tmp"), Path("/dev/shm"))
_KIND = {"cgroup": "cgroup", "network namespace": "netns", "interface": "link", "folder": "tree"}


@dataclass(frozen=True, slots=True)
class Leftover:
    """`ours`: a mark says that a run of this id was made here and is no more. Only then may it be removed."""

    what: str
    name: str
    run_id: str
    ours: bool
    places: tuple[str, ...] = ()


def leftovers() -> list[Leftover]:
    """All of them, in the order in which they can be removed."""
    live = set(run_ids())
    found = [*_cgroups(), *_network_names(), *_folders()]
    return [one for one in found if one.run_id not in live]


def remove_leftover(found: Leftover) -> None:
    """Remove it. Raises ChaoslatError when we did not make it, or it cannot be removed."""
    if not found.ours:
        raise ChaoslatError(
            f"{found.what} {found.name} is not removed: no mark says that a run of this machine made it",
            where=", ".join(found.places),
            fix="look at it, and remove it by hand if it is yours",
        )
    if found.what == "folder":
        for point in _own_mounts(found):
            undo(Entry(0, "mount", {"path": point}, found.run_id))
    undo(Entry(0, _KIND[found.what], {"name": found.name, **_where(found)}, found.run_id))
    if not any(other.run_id == found.run_id for other in leftovers()):
        made_mark(found.run_id).unlink(missing_ok=True)


def _where(found: Leftover) -> dict[str, JsonValue]:
    if found.what == "cgroup":
        return {"paths": list(found.places)}
    return {"path": found.places[0]} if found.what == "folder" else {}


def _cgroups() -> Iterator[Leftover]:
    hierarchies = parse_mountinfo(Path("/proc/self/mountinfo").read_text(), Path("/"))
    tops = dict.fromkeys(hierarchy.directory for hierarchy in hierarchies)
    paths = [path for top in tops for path in _entries(top) if run_of(path.name) and path.is_dir()]
    for name in sorted({path.name for path in paths}):
        places = tuple(str(path) for path in paths if path.name == name)
        yield _kernel_object("cgroup", name, places)


def _network_names() -> Iterator[Leftover]:
    for what, folder in (("interface", "/sys/class/net"), ("network namespace", "/run/netns")):
        for path in _entries(Path(folder)):
            if run_of(path.name):
                yield _kernel_object(what, path.name, (str(path),))


def _kernel_object(what: str, name: str, places: tuple[str, ...]) -> Leftover:
    """Such things cannot carry a mark themselves; the list of the runs that were made here speaks for them."""
    run_id = run_of(name) or ""
    return Leftover(what, name, run_id, made_mark(run_id).exists(), places)


def _folders() -> Iterator[Leftover]:
    for path in (path for folder in TEMP_FOLDERS for path in _entries(folder)):
        run_id = run_of(path.name)
        if run_id and path.is_dir() and not path.is_symlink():
            yield Leftover("folder", path.name, run_id, is_lost(path, run_id), (str(path),))


def _own_mounts(found: Leftover) -> list[str]:
    """Mounts in a lost folder whose source is named after the run, deepest first; others are left alone."""
    lines = (line.partition(" - ") for line in Path("/proc/self/mountinfo").read_text().splitlines())
    mounts = [(front.split()[4], back.split()[1]) for front, _, back in lines]
    inside = [point for point, source in mounts if source == found.name and point.startswith(found.places[0])]
    return sorted(inside, key=len, reverse=True)


def _entries(folder: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        return sorted(folder.iterdir())
    return []
