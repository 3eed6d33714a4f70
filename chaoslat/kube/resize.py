"""In-place resize: another CPU or memory limit for a container that goes on running.

It cannot change the pod's QoS class: in a Burstable pod (some request below its limit) a limit may move, as long as
it stays at or above the request; no limit at all, or Guaranteed to Burstable, takes a new pod.
"""

from __future__ import annotations

from typing import Any

from chaoslat.kube.client import KubeClient

PERIOD_US = 100_000
MILLI_US = PERIOD_US // 1000
"""CFS quota of one millicore in a period of 100 ms."""


def millicores(quota_us: int) -> int:
    """The CPU limit whose quota is at most `quota_us` in 100 ms; at least one."""
    return max(quota_us // MILLI_US, 1)


def body(container: str, **limits: str) -> dict[str, Any]:
    """The patch that gives `container` these limits (cpu="290m", memory="300Mi")."""
    return {"spec": {"containers": [{"name": container, "resources": {"limits": limits}}]}}


def resize(kube: KubeClient, pod: str, container: str, **limits: str) -> None:
    """Ask for it; the kubelet does it 0.2 to 0.7 s later. Raises SystemLost when the API server refuses."""
    kube.call(kube.core.patch_namespaced_pod_resize, pod, kube.namespace, body(container, **limits))


def limit_of(kube: KubeClient, pod: str, container: str, resource: str) -> str | None:
    """The limit in the pod's spec, as text ("1500m"); None when there is none."""
    found = kube.call(kube.core.read_namespaced_pod, pod, kube.namespace)
    limits = next(c.resources.limits for c in found.spec.containers if c.name == container)
    return None if limits is None else limits.get(resource)
