"""Somebody's workload: from `deployment/NAME` to its pods, and the container that is looked at."""

from __future__ import annotations

from typing import Any

from chaoslat.backends.pods.place import Place
from chaoslat.errors import SystemLost, UsageError
from chaoslat.kube.client import KubeClient

KINDS = ("deployment", "statefulset", "daemonset", "pod")
MOST_PODS = 8
"""Each reading of the CPU counters runs a program in each pod."""
_DEFAULT = "kubectl.kubernetes.io/default-container"


def parse(text: str) -> tuple[str, str]:
    """Kind and name of `deployment/NAME`. Raises UsageError."""
    kind, _, name = text.partition("/")
    if kind not in KINDS or not name or "/" in name:
        raise UsageError(
            f"--workload {text!r} is no workload", fix=f"as deployment/NAME; kinds: {', '.join(KINDS)}"
        )
    return kind, name


def find(kube: KubeClient, workload: str, container: str = "") -> tuple[Place, ...]:
    """Its running pods. Raises UsageError when there are too many or the container is not clear, SystemLost if none."""
    kind, name = parse(workload)
    pods = (
        [kube.call(kube.core.read_namespaced_pod, name, kube.namespace)]
        if kind == "pod"
        else _selected(kube, kind, name)
    )
    running = [pod for pod in pods if pod.status.phase == "Running" and not pod.metadata.deletion_timestamp]
    if not running:
        raise SystemLost("The workload has no running pod", where=f"{workload} in {kube.namespace}")
    if len(running) > MOST_PODS:
        raise UsageError(
            f"{workload} has {len(running)} running pods",
            why=f"at most {MOST_PODS} can be looked at",
            fix="send the requests to one pod, and name it: --workload pod/NAME",
        )
    return tuple(Place(pod.metadata.name, choose(pod, container)) for pod in running)


def choose(pod: Any, wanted: str) -> str:
    """The container that is meant: the named one, the pod's default, or the only one. Raises UsageError."""
    names = [one.name for one in pod.spec.containers]
    marked = (pod.metadata.annotations or {}).get(_DEFAULT, "")
    name = wanted or marked or (names[0] if len(names) == 1 else "")
    if name in names:
        return name
    what = f"has no container {name}" if name else "has more than one container"
    raise UsageError(f"Pod {pod.metadata.name} {what}", fix=f"--container, one of: {', '.join(names)}")


def _selected(kube: KubeClient, kind: str, name: str) -> list[Any]:
    read = getattr(kube.apps, f"read_namespaced_{kind.replace('set', '_set')}")
    selector = selector_text(kube.call(read, name, kube.namespace).spec.selector)
    found = kube.call(kube.core.list_namespaced_pod, kube.namespace, label_selector=selector)
    return list(found.items)


def selector_text(selector: Any) -> str:
    """A V1LabelSelector in the words of a query."""
    parts = [f"{key}={value}" for key, value in (selector.match_labels or {}).items()]
    for one in selector.match_expressions or ():
        values = f"({','.join(one.values or ())})"
        words = {"In": f"in {values}", "NotIn": f"notin {values}"}
        negated = "!" if one.operator == "DoesNotExist" else ""
        parts.append(f"{negated}{one.key} {words.get(one.operator, '')}".strip())
    return ",".join(parts)
