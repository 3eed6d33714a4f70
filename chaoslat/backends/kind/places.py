"""Where a pod's container is on this machine: a kind node is a container, so its processes and cgroups are here too."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaoslat.cgroup.base import CgroupTree
from chaoslat.engine.docker import Docker
from chaoslat.errors import SystemLost


@dataclass(frozen=True, slots=True)
class Place:
    """A container's cgroup, its pod's, and its first process, all as this machine sees them."""

    container: str
    pod: str
    pid: int


def node_cgroup(tree: CgroupTree, docker: Docker, node: str) -> str:
    """The cgroup of a whole node. Raises EnvironmentMissing when the engine does not know it."""
    container = docker.inspect("container", "inspect", node)
    path, identity = tree.memory_path(int(container["State"]["Pid"])), str(container["Id"])
    return path[: path.index(identity) + len(identity)]


def find(tree: CgroupTree, node: str, pod: Any) -> Place:
    """The place of a pod's first container on the node with cgroup `node`. Raises SystemLost when it is not there."""
    identity = pod.status.container_statuses[0].container_id.rpartition("/")[2]
    root = Path(tree.memory_directory(node))
    found = next((Path(where) for where, _, _ in os.walk(root) if identity in os.path.basename(where)), None)
    if found is None:
        raise SystemLost(
            f"The container of pod {pod.metadata.name} has no cgroup", where=str(root), why=f"no *{identity}*"
        )
    path = f"{node}/{found.relative_to(root)}"
    return Place(path, path.rpartition("/")[0], _first_pid(tree, path))


def _first_pid(tree: CgroupTree, path: str) -> int:
    pids = tree.pids(path)
    if not pids:
        raise SystemLost("A container has no process", where=path)
    return min(pids)
