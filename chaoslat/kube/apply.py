"""Manifests: filled in, created in order, and awaited until their pods are ready."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kubernetes import utils
from kubernetes.utils import FailToCreateError
from ruamel.yaml import YAML

from chaoslat.errors import EnvironmentMissing, SystemLost
from chaoslat.kube.client import KubeClient, reason
from chaoslat.waiting import retrying

POLL_S = 0.25
LOG_LINES = 15


class NotReady(Exception):
    """A pod is not ready yet; the text says what it waits for."""


def documents(manifest: Path, values: Mapping[str, str]) -> list[dict[str, Any]]:
    """The objects of a manifest with `${NAME}` filled in. Raises EnvironmentMissing for a name without a value."""
    try:
        text = string.Template(manifest.read_text()).substitute(values)
    except (KeyError, ValueError, OSError) as error:
        raise EnvironmentMissing(
            "A manifest cannot be filled in", where=str(manifest), why=repr(error)
        ) from error
    return [one for one in YAML(typ="safe").load_all(text) if one]


def create(kube: KubeClient, objects: Sequence[dict[str, Any]]) -> None:
    """Create them one after another. Raises SystemLost with what the API server says."""
    for one in objects:
        kube.call(_create, kube, one)


def _create(kube: KubeClient, one: dict[str, Any], _request_timeout: float) -> None:
    try:
        utils.create_from_dict(kube.api, one, namespace=kube.namespace)  # type: ignore[no-untyped-call]
    except FailToCreateError as error:
        says = "; ".join(map(reason, error.api_exceptions))
        raise SystemLost(
            f"{one['kind']} {one['metadata']['name']} was not created", where=kube.namespace, why=says
        ) from error


def ready_pod(kube: KubeClient, app: str, deadline_s: float) -> Any:
    """The one ready pod with label app=`app`. Raises SystemLost with events and container logs when there is none."""
    waiting = retrying(NotReady, deadline_s, POLL_S)
    try:
        return waiting(_ready_now, kube, app)
    except NotReady as last:
        raise SystemLost(
            f"{app} was not ready within {deadline_s:.0f} s",
            where=kube.namespace,
            why=why_not(kube, app, str(last)),
        ) from last


def pods(kube: KubeClient, app: str) -> list[Any]:
    """The pods with label app=`app` that are not on their way out."""
    found = kube.call(kube.core.list_namespaced_pod, kube.namespace, label_selector=f"app={app}").items
    return [pod for pod in found if pod.metadata.deletion_timestamp is None]


def _ready_now(kube: KubeClient, app: str) -> Any:
    found = pods(kube, app)
    ready = [pod for pod in found if _is_ready(pod)]
    if len(found) != 1 or not ready:
        raise NotReady(", ".join(f"{pod.metadata.name}: {pod.status.phase}" for pod in found) or "no pod")
    return ready[0]


def _is_ready(pod: Any) -> bool:
    return any(c.type == "Ready" and c.status == "True" for c in pod.status.conditions or ())


def why_not(kube: KubeClient, app: str, first: str) -> str:
    """The last warnings about the pods of an app, and the end of their logs."""
    lines = [first]
    for pod in pods(kube, app):
        lines += [f"event: {event}" for event in events(kube, pod.metadata.name)]
        lines += [f"log: {line}" for line in log(kube, pod.metadata.name)]
    return "\n".join(lines)


def events(kube: KubeClient, pod: str) -> list[str]:
    """The warnings about a pod."""
    selector = f"involvedObject.name={pod},type=Warning"
    found = kube.call(kube.core.list_namespaced_event, kube.namespace, field_selector=selector).items
    return [f"{event.reason}: {event.message}" for event in found]


def log(kube: KubeClient, pod: str) -> list[str]:
    """The end of a pod's log; what the API says instead, where there is none."""
    try:
        text = kube.call(kube.core.read_namespaced_pod_log, pod, kube.namespace, tail_lines=LOG_LINES)
    except SystemLost as error:
        return [error.why]
    return str(text).splitlines()
