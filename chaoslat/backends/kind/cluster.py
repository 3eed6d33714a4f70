"""The cluster of a run: ground, nodes and images. What has to be undone is promised before it is made."""

from __future__ import annotations

import os
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from chaoslat import nodeimage, paths
from chaoslat.backends.base import Progress
from chaoslat.engine import ground, images
from chaoslat.engine.kind import Kind
from chaoslat.ledger import Ledger
from chaoslat.parts.mysql_seed import MysqlSeed

WORKLOADS = ("app", "mysql", "toxiproxy")
NODE_PORTS = {"app": 30080, "admin": 30081, "toxiproxy": 30474, "mysql": 30306}
NODES_VARIABLE = "CHAOSLAT_KIND_NODES"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that runs. `ports`: what is reached where on 127.0.0.1; `images`: workload -> reference."""

    kind: Kind
    kubeconfig: Path
    ports: dict[str, int]
    images: dict[str, str]

    @property
    def nodes(self) -> dict[str, str]:
        """Where app and database go: the same node, or the control plane and its worker."""
        names = self.kind.nodes()
        workers = [name for name in names if "control-plane" not in name]
        control = next(name for name in names if "control-plane" in name)
        return {"app": control, "database": workers[0] if workers else control}


def create(ledger: Ledger, folder: Path, kubeconfig: Path, progress: Progress) -> Cluster:
    """Make it. Raises ChaoslatError; what was made by then is undone by the ledger."""
    node_image = nodeimage.image("node")
    workloads = {name: nodeimage.image(name) for name in WORKLOADS}
    laid = ground.lay(ledger.run_id, ledger.promise, progress)
    laid.bring(*node_image, progress)
    # for the very server that the image has
    seed = MysqlSeed(paths.cache_root(), system=False).install(progress)
    config, ports = folder / "kind.yaml", _free_ports(tuple(NODE_PORTS))
    _write_config(config, ports, seed.path)
    kind = Kind(nodeimage.program("kind"), laid)
    progress("creating the cluster")
    kind.create(node_image[0], config, kubeconfig)
    cluster = Cluster(kind, kubeconfig, ports, {name: found[0] for name, found in workloads.items()})
    progress("putting the images on the nodes")
    _load_images(cluster, {name: found[1] for name, found in workloads.items()})
    return cluster


def _load_images(cluster: Cluster, archives: dict[str, Path]) -> None:
    nodes = cluster.nodes
    where = {"app": nodes["app"], "toxiproxy": nodes["app"], "mysql": nodes["database"]}
    with ThreadPoolExecutor(2) as pool:
        docker = cluster.kind.ground.docker
        jobs = [pool.submit(images.put_on_node, docker, where[name], archives[name]) for name in archives]
        for job in jobs:
            job.result()


def _write_config(path: Path, ports: dict[str, int], seed: Path) -> None:
    """The configuration of clusters/kind, with the seed mounted and the ports published on loopback."""
    yaml = YAML(typ="safe")
    source = paths.repo_root() / "clusters" / "kind" / ("two-nodes.yaml" if _two_nodes() else "one-node.yaml")
    data: dict[str, Any] = yaml.load(source.read_text())
    data["nodes"][0]["extraPortMappings"] = [
        {"containerPort": NODE_PORTS[name], "hostPort": port, "listenAddress": "127.0.0.1"}
        for name, port in ports.items()
    ]
    for node in data["nodes"]:
        node["extraMounts"] = [
            {"hostPath": str(seed), "containerPath": "/chaoslat/mysql-seed", "readOnly": True}
        ]
    with path.open("w") as file:
        yaml.dump(data, file)


def _two_nodes() -> bool:
    return os.environ.get(NODES_VARIABLE, "1") == "2"


def _free_ports(names: tuple[str, ...]) -> dict[str, int]:
    """Ports of loopback that were free a moment ago; all are held at once, so that they differ."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in names]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return {name: int(one.getsockname()[1]) for name, one in zip(names, sockets, strict=True)}
