"""A debug container beside an app: an ephemeral container in its pod, with the tools that the app's image lacks.

As `kubectl debug POD --profile=general --target=CONTAINER --image=TOOLS` makes it. It shares the pod's network and
the container's processes, and the pod is not restarted. It cannot be removed before the pod is: so there is one for
a pod and a command, which is found again. And its CPU time is charged to the pod, which may be throttled already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chaoslat.errors import SystemLost
from chaoslat.kube.client import KubeClient
from chaoslat.waiting import retrying

NAME = "chaoslat-debug"
START_S = 30.0
POLL_S = 0.1
LOG_LINES = 5


class NotRunning(Exception):
    """The debug container does not run yet; the text says what it waits for."""


@dataclass(frozen=True, slots=True)
class Debug:
    """What to run beside which container. `image` has the tools; `pull`: Always, IfNotPresent or Never."""

    pod: str
    container: str
    image: str
    command: Sequence[str]
    pull: str = "IfNotPresent"

    def spec(self, name: str) -> dict[str, Any]:
        """As profile general makes it; and root, whatever the pod asks of its own containers."""
        return {
            "name": name,
            "image": self.image,
            "imagePullPolicy": self.pull,
            "targetContainerName": self.container,
            "command": list(self.command),
            "securityContext": {
                "runAsUser": 0,
                "runAsNonRoot": False,
                "capabilities": {"add": ["SYS_PTRACE"]},
            },
        }


def attach(kube: KubeClient, debug: Debug, deadline_s: float = START_S) -> str:
    """The name of the debug container that runs: one that does so already, else a new one.

    Raises SystemLost when the API server refuses, or with the reason when it ends or is not there in time.
    """
    pod = _read(kube, debug.pod)
    name = running(pod, debug) or _add(kube, pod, debug)
    waiting = retrying(NotRunning, deadline_s, POLL_S)
    try:
        waiting(_running_now, kube, debug, name)
    except NotRunning as last:
        raise SystemLost(
            f"The debug container did not run within {deadline_s:.0f} s", where=debug.pod, why=str(last)
        ) from last
    return name


def running(pod: Any, debug: Debug) -> str:
    """The name of a debug container in a pod (V1Pod) that runs this command; empty when there is none."""
    alive = {one.name for one in pod.status.ephemeral_container_statuses or () if one.state.running}
    same = (one.name for one in _ours(pod) if list(one.command or ()) == list(debug.command))
    return next((name for name in same if name in alive), "")


def new_name(pod: Any) -> str:
    """One that no ephemeral container of the pod has had: they keep their names for good."""
    return f"{NAME}-{len(_ours(pod)) + 1}"


def waits_for(state: Any) -> str:
    """What a container that does not run yet waits for, as it says itself (V1ContainerState or None)."""
    waiting = state.waiting if state is not None else None
    if waiting is None:
        return "the kubelet has not seen it yet"
    return ": ".join(part for part in (waiting.reason, waiting.message) if part)


def _ours(pod: Any) -> list[Any]:
    return [one for one in pod.spec.ephemeral_containers or () if one.name.startswith(f"{NAME}-")]


def _add(kube: KubeClient, pod: Any, debug: Debug) -> str:
    name = new_name(pod)
    patch = {"spec": {"ephemeralContainers": [debug.spec(name)]}}
    kube.call(kube.core.patch_namespaced_pod_ephemeralcontainers, debug.pod, kube.namespace, patch)
    return name


def _running_now(kube: KubeClient, debug: Debug, name: str) -> None:
    statuses = _read(kube, debug.pod).status.ephemeral_container_statuses or ()
    state = next((one.state for one in statuses if one.name == name), None)
    if state is not None and state.terminated is not None:
        where = f"container {name} of pod {kube.namespace}/{debug.pod}"
        raise SystemLost("The debug container ended", where=where, why=_why_ended(kube, debug, name, state))
    if state is None or state.running is None:
        raise NotRunning(waits_for(state))


def _why_ended(kube: KubeClient, debug: Debug, name: str, state: Any) -> str:
    read = kube.core.read_namespaced_pod_log
    said = kube.call(read, debug.pod, kube.namespace, container=name, tail_lines=LOG_LINES)
    ended = state.terminated
    parts = (f"{ended.reason}, exit code {ended.exit_code}", ended.message, str(said).strip())
    return "; ".join(part for part in parts if part)


def _read(kube: KubeClient, pod: str) -> Any:
    return kube.call(kube.core.read_namespaced_pod, pod, kube.namespace)
