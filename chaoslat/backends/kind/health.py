"""What is wrong with a system on a cluster, in the cluster's own words: restarts, kills, a server that is away."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from chaoslat.backends.kind.state import NAMESPACE, KindState
from chaoslat.errors import SystemLost
from chaoslat.kube.client import KubeClient


def lost(state: KindState) -> tuple[str, ...]:
    """Pods that are not the ones that were made, or were restarted; an API server that does not answer."""
    return lost_pods(KubeClient(Path(state.kubeconfig), NAMESPACE), NAMESPACE, state.pods.values())


def lost_pods(kube: KubeClient, namespace: str, names: Collection[str]) -> tuple[str, ...]:
    """The same for pods by name; closes the client."""
    try:
        found = kube.call(kube.core.list_namespaced_pod, namespace).items
    except SystemLost as error:
        return (str(error),)
    finally:
        kube.close()
    there = {pod.metadata.name: pod for pod in found}
    gone = [f"pod {name} is gone" for name in names if name not in there]
    return (*gone, *(why for name in names if name in there for why in _ended(there[name])))


def _ended(pod) -> list[str]:  # type: ignore[no-untyped-def]
    if pod.metadata.deletion_timestamp is not None:
        return [f"pod {pod.metadata.name} is being deleted"]
    return [
        f"container {one.name} of pod {pod.metadata.name} was restarted: {_why(one)}"
        for one in pod.status.container_statuses or ()
        if one.restart_count
    ]


def _why(container) -> str:  # type: ignore[no-untyped-def]
    last = container.last_state.terminated if container.last_state else None
    return f"{last.reason}, exit code {last.exit_code}" if last else "reason unknown"
