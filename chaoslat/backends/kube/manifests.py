"""The manifests of clusters/manifests for any cluster: scheduled by it, reached from within it, its seed sent to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoslat import paths
from chaoslat.backends.kind import workloads
from chaoslat.backends.local.app import POOL_SIZE
from chaoslat.kube.apply import documents

COMPLETE = "/tmp/seed-complete"
START = "/usr/local/bin/mysql-start"
APP_CPU_LIMIT = "1500m"  # far above the need of 0.1 cores, and a limit may be more than a node has
_WAIT = f'until [ -e {COMPLETE} ]; do sleep 0.2; done; exec {START} "$@"'
_ELSEWHERE = (
    "APP_NODE",
    "DATABASE_NODE",
    *(f"{n}_NODE_PORT" for n in ("APP", "ADMIN", "TOXIPROXY", "MYSQL")),
)

Object = dict[str, Any]


def values(run_id: str, images: Mapping[str, str], namespace: str) -> dict[str, str]:
    """What they are filled in with; what is taken out afterwards has a placeholder."""
    return {
        **workloads.common(run_id, images),
        **dict.fromkeys(_ELSEWHERE, "0"),
        "NAMESPACE": namespace,
        "PULL": "IfNotPresent",
        "POOL_SIZE": str(POOL_SIZE),
        "APP_CPU_LIMIT": APP_CPU_LIMIT,
    }


def objects(name: str, filled: Mapping[str, str]) -> list[Object]:
    """The objects of one manifest. Raises EnvironmentMissing."""
    manifest = paths.repo_root() / "clusters" / "manifests" / f"{name}.yaml"
    return [for_any_cluster(one) for one in documents(manifest, filled)]


def for_any_cluster(one: Object) -> Object:
    """The same object without what only a cluster of our own has: node names, node ports, a seed on the node."""
    if one["kind"] == "Service":
        one["spec"]["type"] = "ClusterIP"
        for port in one["spec"]["ports"]:
            port.pop("nodePort", None)
    if one["kind"] == "Deployment":
        spec = one["spec"]["template"]["spec"]
        for name in ("nodeName", "tolerations"):
            spec.pop(name, None)
        if any(volume["name"] == "seed" for volume in spec.get("volumes", ())):
            _wait_for_seed(spec)
    return one


def _wait_for_seed(spec: Object) -> None:
    """The database starts when its data directory has been filled from here."""
    spec["volumes"] = [volume for volume in spec["volumes"] if volume["name"] != "seed"]
    (container,) = spec["containers"]
    container["command"] = ["sh", "-c", _WAIT, START]
    container["volumeMounts"] = [m for m in container["volumeMounts"] if m["name"] != "seed"]
