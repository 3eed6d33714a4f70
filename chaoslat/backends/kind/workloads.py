"""The pods of the system: database and proxy first, then the app, which wants both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoslat import paths, probes
from chaoslat.backends.kind.cluster import NODE_PORTS, Cluster
from chaoslat.backends.kind.state import NAMESPACE
from chaoslat.backends.local import proxy_part
from chaoslat.backends.local.app import HOT_ROWS, POOL_SIZE
from chaoslat.backends.local.database import PORT
from chaoslat.backends.local.proxy import Toxiproxy
from chaoslat.kube import apply
from chaoslat.kube.client import KubeClient
from chaoslat.parts.mysql_seed import APP, DATABASE, ROWS

READY_S = 90.0
APP_LIMIT_SHARE = 0.75  # of the node: far above the need, and lifting it goes up on any machine


def values(run_id: str, cluster: Cluster) -> dict[str, str]:
    """What the manifests are filled in with."""
    nodes = cluster.nodes
    return {
        **common(run_id, cluster.images),
        "NAMESPACE": NAMESPACE,
        "APP_NODE": nodes["app"],
        "DATABASE_NODE": nodes["database"],
        "PULL": "Never",
        "APP_CPU_LIMIT": f"{probes.node_cpu().cores * APP_LIMIT_SHARE:g}",
    }


def common(run_id: str, images: Mapping[str, str]) -> dict[str, str]:
    """Those that are the same on any cluster."""
    return {
        "RUN": run_id,
        "APP_IMAGE": images["app"],
        "MYSQL_IMAGE": images["mysql"],
        "TOXIPROXY_IMAGE": images["toxiproxy"],
        "DATABASE_ADDRESS": "proxy",
        "DATABASE_USER": APP.user,
        "DATABASE_PASSWORD": APP.password,
        "DATABASE_NAME": DATABASE,
        "ROWS": str(ROWS),
        "HOT_ROWS": str(HOT_ROWS),
        "POOL_SIZE": str(POOL_SIZE),
        "APP_NODE_PORT": str(NODE_PORTS["app"]),
        "ADMIN_NODE_PORT": str(NODE_PORTS["admin"]),
        "TOXIPROXY_NODE_PORT": str(NODE_PORTS["toxiproxy"]),
        "MYSQL_NODE_PORT": str(NODE_PORTS["mysql"]),
    }


def put(kube: KubeClient, name: str, filled: dict[str, str]) -> None:
    """Create the objects of one manifest. Raises SystemLost."""
    manifest = paths.repo_root() / "clusters" / "manifests" / f"{name}.yaml"
    apply.create(kube, apply.documents(manifest, filled))


def ready(kube: KubeClient, name: str) -> Any:
    """The ready pod. Raises SystemLost with events and logs."""
    return apply.ready_pod(kube, name, READY_S)


def service_address(kube: KubeClient, name: str) -> str:
    """The cluster address of a service. Raises SystemLost."""
    return str(kube.call(kube.core.read_namespaced_service, name, kube.namespace).spec.cluster_ip)


def join(kube: KubeClient, api_port: int) -> None:
    """Make the one proxy, in front of the database's service. Raises SystemLost."""
    upstream = f"{service_address(kube, 'database')}:{PORT}"
    Toxiproxy(api_port).create(proxy_part.NAME, f"0.0.0.0:{PORT}", upstream)
