"""What may be asked of a cluster's API, by what is to be done; and, before anything is done, what is not allowed.

The list is the one source: the cluster is asked by it (SelfSubjectAccessReview, which every user may make), and
clusters/kube/rbac.yaml is written from it (`python -m chaoslat.kube.rbac`). To need one more, add it here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kubernetes import client

from chaoslat.errors import EnvironmentMissing
from chaoslat.kube.client import KubeClient

RBAC = "clusters/kube/rbac.yaml"
_AT_ONCE = 8


class Mode(StrEnum):
    """What is to be done. Each is a role of its own in the manifest."""

    READ = "read"  # the read-only steps of a diagnosis
    DEBUG = "debug"  # a debug container in the workload's pod
    INTERVENE = "intervene"  # another CPU limit for the workload
    NODE = "node"  # what the kubelet of a node measures
    TRIAL = "trial"  # a system of our own in a namespace, faults included
    NAMESPACE = "namespace"  # finding, making and removing that namespace


CLUSTER_WIDE = frozenset({Mode.NAMESPACE, Mode.NODE})
"""Modes whose objects belong to no namespace: they take a ClusterRole."""


@dataclass(frozen=True, slots=True)
class Need:
    """One kind of object and what is done with it. `resource` may have a subresource: `pods/exec`."""

    resource: str
    verbs: tuple[str, ...]
    why: str
    group: str = ""

    @property
    def words(self) -> str:
        """`create pods/exec`, `get deployments.apps`."""
        name, _, sub = self.resource.partition("/")
        full = f"{name}.{self.group}" if self.group else name
        return f"{', '.join(self.verbs)} {full}{'/' + sub if sub else ''}"


_EXEC = Need("pods/exec", ("create", "get"), "reading the CPU cgroup inside the container")
NEEDS: Mapping[Mode, tuple[Need, ...]] = {
    Mode.READ: (
        Need("deployments", ("get",), "finding the workload's pods", "apps"),
        Need("statefulsets", ("get",), "finding the workload's pods", "apps"),
        Need("daemonsets", ("get",), "finding the workload's pods", "apps"),
        Need("pods", ("get", "list"), "its pods, their limits and restarts"),
        _EXEC,
    ),
    Mode.DEBUG: (
        Need("pods/ephemeralcontainers", ("patch",), "the debug container with ss and a prober"),
        Need("pods/log", ("get",), "the log of the debug container"),
    ),
    Mode.INTERVENE: (
        Need("pods/resize", ("get", "patch"), "lifting the CPU limit in place, and putting it back"),
    ),
    Mode.NODE: (Need("nodes/proxy", ("get",), "throttling as the kubelet has it (cAdvisor)"),),
    Mode.TRIAL: (
        Need("namespaces", ("get",), "seeing that the namespace carries our label"),
        Need("deployments", ("create", "delete", "get", "list"), "app, proxy and database", "apps"),
        Need("services", ("create", "delete", "get", "list"), "app, proxy and database"),
        Need(
            "pods", ("get", "list"), "waiting until they are ready, and seeing that they are still the same"
        ),
        Need("pods/log", ("get",), "saying why a pod did not become ready"),
        Need("events", ("list",), "saying why a pod did not become ready"),
        _EXEC,
        Need("pods/portforward", ("create", "get"), "reaching app, proxy and database from here"),
        Need("pods/resize", ("get", "patch"), "the fault `cpu-limit`, lifting it, and putting it back"),
    ),
    Mode.NAMESPACE: (
        Need("namespaces", ("create", "delete", "get", "list"), "a namespace of our own, with our label"),
    ),
}


@dataclass(frozen=True, slots=True)
class Denied:
    """One verb that is not allowed, and why it is needed."""

    need: Need
    mode: Mode
    says: str = ""  # the cluster's own reason

    def __str__(self) -> str:
        words = f"{self.need.words} ({self.mode}: {self.need.why})"
        return f"{words}: {self.says}" if self.says else words


def check(kube: KubeClient, modes: Iterable[Mode]) -> None:
    """Raises EnvironmentMissing with all that is not allowed, before anything is done; SystemLost without an answer."""
    denied = missing(kube, modes)
    if not denied:
        return
    roles = ", ".join(f"chaoslat-{mode}" for mode in dict.fromkeys(one.mode for one in denied))
    raise EnvironmentMissing(
        f"The cluster does not allow {len(denied)} things that are needed; nothing was changed",
        where=f"namespace {kube.namespace}" + (f", context {kube.context}" if kube.context else ""),
        why="\n         ".join(map(str, denied)),
        fix=f"have somebody who may apply {RBAC} (roles {roles}) with your namespace and user in it",
    )


def missing(kube: KubeClient, modes: Iterable[Mode]) -> tuple[Denied, ...]:
    """Each verb of each need that is not allowed. Raises SystemLost when the API server does not answer."""
    single = [
        (mode, Need(need.resource, (verb,), need.why, need.group))
        for mode in dict.fromkeys(modes)
        for need in NEEDS[mode]
        for verb in need.verbs
    ]
    api = client.AuthorizationV1Api(kube.api)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        asked = pool.map(lambda one: _denied(kube, api, *one), single)
        return tuple(found for found in asked if found is not None)


def review(need: Need, verb: str, namespace: str) -> dict[str, Any]:
    """The body of the question. `namespace` is empty for objects that belong to none."""
    name, _, sub = need.resource.partition("/")
    attributes = {"verb": verb, "group": need.group, "resource": name, "namespace": namespace}
    if sub:
        attributes["subresource"] = sub
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }


def _denied(kube: KubeClient, api: Any, mode: Mode, need: Need) -> Denied | None:
    namespace = "" if mode in CLUSTER_WIDE else kube.namespace
    body = review(need, need.verbs[0], namespace)
    status = kube.call(api.create_self_subject_access_review, body).status
    return None if status.allowed else Denied(need, mode, status.reason or "")
