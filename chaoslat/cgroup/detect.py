"""Which cgroups this machine has."""

from __future__ import annotations

from pathlib import Path

from chaoslat.cgroup.base import CgroupTree
from chaoslat.cgroup.mounts import Hierarchy, parse_mountinfo, with_controller
from chaoslat.cgroup.v1 import V1Tree
from chaoslat.cgroup.v2 import V2Tree
from chaoslat.errors import EnvironmentMissing


def detect(root: Path = Path("/")) -> CgroupTree:
    """The machine's cgroups: version 1 where memory and cpu are mounted so, else the unified hierarchy.

    A hybrid machine mounts both and keeps the controllers in version 1. `root` is the machine's root directory, for
    trees that were recorded. Raises EnvironmentMissing when neither version has both controllers.
    """
    hierarchies = parse_mountinfo((root / "proc/self/mountinfo").read_text(), root)
    first = {name: with_controller(hierarchies, 1, name) for name in ("cpu", "cpuacct", "memory", "pids")}
    if first["cpu"] and first["memory"]:
        return V1Tree({name: one for name, one in first.items() if one}, root / "proc")
    unified = with_controller(hierarchies, 2, "memory")
    if unified and "cpu" in unified.controllers:
        return V2Tree(unified, root / "proc")
    raise _missing(hierarchies)


def _missing(hierarchies: tuple[Hierarchy, ...]) -> EnvironmentMissing:
    found = ", ".join(
        f"{one.directory}: {'+'.join(sorted(one.controllers)) or 'none'}" for one in hierarchies
    )
    return EnvironmentMissing(
        "This machine has no cgroups with the controllers cpu and memory",
        where=found or "no cgroup file system is mounted",
        why="CPU limits and the database's memory limit are made of them",
        fix="boot with `cgroup_enable=memory`, or run outside the container",
    )
