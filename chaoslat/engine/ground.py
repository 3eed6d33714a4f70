"""The ground that a cluster stands on: an engine, a bridge, a fence round it, and the engine's network on the bridge.

Laid in this order, each with its undo promised first; taken up in the opposite one. The fence is up before the engine
knows of the bridge, so there is no moment at which a node could run without it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from chaoslat import paths
from chaoslat.engine import bridge, images, private
from chaoslat.engine.bridge import Bridge
from chaoslat.engine.docker import Docker, reachable
from chaoslat.engine.fence import Fence
from chaoslat.engine.promise import Promise
from chaoslat.errors import ChaoslatError, EnvironmentMissing
from chaoslat.ledger import scoped
from chaoslat.parts.base import Progress

RUN_LABEL = "chaoslat.run"
CLUSTER_LABEL = "io.x-k8s.kind.cluster"
"""kind puts it on the nodes of a cluster, which is named after the run."""
_MASQUERADE = "com.docker.network.bridge.enable_ip_masquerade"


@dataclass(frozen=True, slots=True)
class Ground:
    """`network` is the name of the engine's network; `private` says whether the engine is ours."""

    run_id: str
    docker: Docker
    network: str
    bridge: Bridge
    fence: Fence
    private: bool

    def bring(self, reference: str, archive: Path, progress: Progress) -> None:
        """Have the engine load an image, unless it has it; an engine of ours forgets older ones.

        Raises EnvironmentMissing when it refuses.
        """
        if not images.has(self.docker, reference):
            images.load(self.docker, reference, archive, progress)
            if self.private:
                images.drop_older(self.docker, reference)

    def verify(self) -> None:
        """Raises Unfenced, or ChaoslatError, unless fence and network are as they were laid. Before every node."""
        self.fence.verify()
        found = self.docker.inspect("network", "inspect", self.network)
        options = found["Options"]
        on_bridge = options.get("com.docker.network.bridge.name") == self.bridge.name
        if not on_bridge or options.get(_MASQUERADE) != "false" or found["EnableIPv6"]:
            raise ChaoslatError(
                "The cluster's network is not the one that was laid",
                where=f"docker network inspect {self.network}",
                why=f"options {options}, IPv6 {found['EnableIPv6']}",
            )


def lay(run_id: str, promise: Promise, progress: Progress, cache: Path | None = None) -> Ground:
    """Lay the ground of a run, on the engine that is reachable, else on a private one.

    `promise` is `Ledger.promise` of the run. Raises EnvironmentMissing without root or a program that is needed,
    Busy when another run has the private engine, Unfenced when the rules do not hold. What was laid by then stays
    for the ledger to undo.
    """
    _refuse_unprivileged()
    planned = bridge.plan(run_id)
    fence = Fence(scoped(run_id), planned.name, planned.mac, str(planned.subnet))
    progress("fencing the cluster's network")
    promise("fence", name=fence.table)
    fence.put_up()
    promise("link", name=planned.name)
    bridge.add(planned)
    found = reachable()
    docker = found or _private(run_id, promise, progress, cache)
    if found is not None:
        progress(f"using the container engine at {found.host}")
        promise(
            "containers", host=found.host, label=f"{CLUSTER_LABEL}={scoped(run_id)}", network=scoped(run_id)
        )
    ground = Ground(run_id, docker, scoped(run_id), planned, fence, private=found is None)
    _make_network(ground)
    ground.verify()
    return ground


def data_folder(cache: Path | None = None) -> Path:
    """Where a private engine keeps its images."""
    return (cache or paths.cache_root()) / "engine"


def _private(run_id: str, promise: Promise, progress: Progress, cache: Path | None) -> Docker:
    progress("starting a private container engine")
    return private.start(run_id, data_folder(cache), promise).docker


def _make_network(ground: Ground) -> None:
    options = {"com.docker.network.bridge.name": ground.bridge.name, _MASQUERADE: "false"}
    ground.docker.run(
        "network",
        "create",
        "--driver=bridge",
        f"--subnet={ground.bridge.subnet}",
        f"--gateway={ground.bridge.gateway}",
        f"--label={RUN_LABEL}={ground.run_id}",
        *(f"--opt={name}={value}" for name, value in options.items()),
        ground.network,
    )


def _refuse_unprivileged() -> None:
    if os.geteuid() != 0:
        raise EnvironmentMissing(
            "A cluster takes root",
            why="its network is fenced by firewall rules, so that nothing of it leaves this machine",
            fix="run it with sudo",
        )
