"""What a pod asks for, what the node sets aside for it, and its QoS class.

The class follows from CPU and memory alone, of all containers, init containers included; a pod that has resources of
its own is judged by those (Kubernetes 1.34, pkg/apis/core/v1/helper/qos). It decides who is killed first when the
node runs out of memory; throttling has nothing to do with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal

from kubernetes.utils.quantity import parse_quantity

from chaoslat.errors import ChaoslatError

QosClass = Literal["Guaranteed", "Burstable", "BestEffort"]
Amounts = Mapping[str, Decimal]
"""Resource -> cores or bytes."""

CPU, MEMORY = "cpu", "memory"
COMPUTE = (CPU, MEMORY)
_NONE = Decimal(0)
_LEAST_SHARES, _MOST_SHARES, _CORE_SHARES = 2, 262_144, 1024
_GUARANTEED_ADJ, _MOST_ADJ = -997, 1000


@dataclass(frozen=True, slots=True)
class Resources:
    """Requests and limits of one container, or of a pod as a whole. `sidecar`: an init container that stays."""

    requests: Amounts = field(default_factory=dict)
    limits: Amounts = field(default_factory=dict)
    sidecar: bool = False

    def asked(self, resource: str) -> Decimal:
        """The request; as the API server does it, the limit where only that is given."""
        return self.requests.get(resource, self.limits.get(resource, _NONE))

    def is_fixed(self) -> bool:
        """CPU and memory are both limited, and requested in full."""
        return all(_NONE < self.limits.get(name, _NONE) == self.asked(name) for name in COMPUTE)

    def is_empty(self) -> bool:
        """Neither asks for CPU or memory nor is limited in them; zero counts as nothing."""
        return not any(self.asked(name) or self.limits.get(name) for name in COMPUTE)


@dataclass(frozen=True, slots=True)
class PodResources:
    """What a pod asks for. `whole`: the pod's own resources, which then stand for those of its containers."""

    containers: Mapping[str, Resources]
    init: tuple[Resources, ...] = ()
    whole: Resources | None = None
    overhead: Amounts = field(default_factory=dict)

    @property
    def qos(self) -> QosClass:
        judged = [self.whole] if self.whole else [*self.containers.values(), *self.init]
        if all(one.is_empty() for one in judged):
            return "BestEffort"
        return "Guaranteed" if all(one.is_fixed() for one in judged) else "Burstable"

    def reserved(self, resource: str) -> Decimal:
        """What the scheduler sets aside on the node (component-helpers/resource, PodRequests).

        The containers and sidecars together, or an init container with the sidecars before it, if that is more.
        """
        total = sum((one.asked(resource) for one in self.containers.values()), _NONE)
        most = sidecars = _NONE
        for one in self.init:
            sidecars += one.asked(resource) if one.sidecar else _NONE
            most = max(most, sidecars if one.sidecar else sidecars + one.asked(resource))
        total = max(total + sidecars, most)
        if self.whole and resource in {*self.whole.requests, *self.whole.limits}:
            total = self.whole.asked(resource)
        return total + self.overhead.get(resource, _NONE)

    def having(self, container: str, resources: Resources) -> PodResources:
        """The same pod with other resources for one container."""
        return replace(self, containers={**self.containers, container: resources})


def of(spec: Any) -> PodResources:
    """What the spec of a pod (V1PodSpec) asks for. Raises ChaoslatError for a quantity that is none."""
    whole = resources_of(spec.resources)
    return PodResources(
        containers={one.name: resources_of(one.resources) for one in spec.containers},
        init=tuple(
            resources_of(one.resources, one.restart_policy == "Always") for one in spec.init_containers or ()
        ),
        whole=None if whole.is_empty() else whole,
        overhead=amounts(spec.overhead),
    )


def resources_of(given: Any, sidecar: bool = False) -> Resources:
    """Those of a V1ResourceRequirements, which may be missing. Raises ChaoslatError for a quantity that is none."""
    if given is None:
        return Resources(sidecar=sidecar)
    return Resources(amounts(given.requests), amounts(given.limits), sidecar)


def amounts(quantities: Mapping[str, str] | None) -> Amounts:
    """`{"cpu": "290m"}` in cores, `{"memory": "64Mi"}` in bytes. Raises ChaoslatError for a quantity that is none."""
    return {name: amount(quantity) for name, quantity in (quantities or {}).items()}


def amount(quantity: str) -> Decimal:
    """A quantity of Kubernetes as a number. Raises ChaoslatError when it is none."""
    try:
        return Decimal(parse_quantity(quantity))  # type: ignore[no-untyped-call]
    except ValueError as error:
        raise ChaoslatError(
            "Not a quantity of Kubernetes", where=quantity, why=str(error), fix="as 290m, 1.5 or 64Mi"
        ) from error


def cpu_shares(request_cores: Decimal) -> int:
    """`cpu.shares` (cgroup v1) of a request: how cores that are fought for are divided. Never throttles.

    Source: pkg/kubelet/cm, MilliCPUToShares.
    """
    shares = int(request_cores * 1000) * _CORE_SHARES // 1000
    return min(max(shares, _LEAST_SHARES), _MOST_SHARES)


def oom_score_adj(qos: QosClass, memory_request_bytes: Decimal, node_memory_bytes: Decimal) -> int:
    """What the kubelet writes for a container: the higher, the sooner the kernel kills it. Priority classes apart.

    Source: pkg/kubelet/qos, GetContainerOOMScoreAdjust.
    """
    if qos == "Guaranteed":
        return _GUARANTEED_ADJ
    if qos == "BestEffort":
        return _MOST_ADJ
    rated = _MOST_ADJ - int(1000 * memory_request_bytes) // int(node_memory_bytes)
    return min(max(rated, _MOST_ADJ + _GUARANTEED_ADJ), _MOST_ADJ - 1)
