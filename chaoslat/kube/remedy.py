"""What can be done about a CPU limit that throttles, and what each way does to QoS class, reservation and pod.

A: request = limit. B: the request stays, the limit rises. C: no limit. Words for an engineer who has to choose, and
the gentlest of them for a runbook that only needs an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from chaoslat.kube.qos import CPU, MEMORY, PodResources, QosClass, Resources

REQUEST_ALONE = (
    "Raising the request alone changes cpu.shares, the share of contended cores, and never throttling."
)
_MEMORY_FATE = {
    "Guaranteed": "killed last when the node runs out of memory",
    "Burstable": "killed before Guaranteed pods when the node runs out of memory, sooner the less memory it requests",
    "BestEffort": "killed first when the node runs out of memory",
}


@dataclass(frozen=True, slots=True)
class NodeRoom:
    """CPU of a node: what pods can have, and what all of them together have requested so far."""

    allocatable_cores: Decimal
    reserved_cores: Decimal


@dataclass(frozen=True, slots=True)
class Remedy:
    """One way out. `obstacle`: why it cannot be done in place, and takes a new pod; empty when it can."""

    name: str
    before: PodResources
    after: PodResources
    container: str
    obstacle: str
    crowded: str

    @property
    def in_place(self) -> bool:
        return not self.obstacle

    @property
    def qos(self) -> QosClass:
        return self.after.qos

    @property
    def reserves_cores(self) -> Decimal:
        return self.after.reserved(CPU)

    @property
    def sentence(self) -> str:
        """All of it in one line."""
        parts = (self._setting(), self._class(), self._reservation(), self.crowded, self._way())
        return f"{self.name}: {'; '.join(part for part in parts if part)}."

    def _setting(self) -> str:
        now = self.after.containers[self.container]
        limit = f"limit {cores(now.limits[CPU])}" if CPU in now.limits else "no limit"
        return f"request {cores(now.asked(CPU))}, {limit}"

    def _class(self) -> str:
        was, becomes = self.before.qos, self.after.qos
        if was == becomes:
            return f"stays {becomes}{self._why_not_guaranteed()}"
        return f"{was} -> {becomes}, {_MEMORY_FATE[becomes]}"

    def _why_not_guaranteed(self) -> str:
        now = self.after.containers[self.container]
        if self.after.qos != "Burstable" or now.limits.get(CPU) != now.asked(CPU):
            return ""
        if now.limits.get(MEMORY) != now.asked(MEMORY):
            return " (its memory request is not its limit)"
        return " (for its other containers)"

    def _reservation(self) -> str:
        was, becomes = self.before.reserved(CPU), self.reserves_cores
        return f"reserves {cores(becomes)}" + (
            " as before" if was == becomes else f" instead of {cores(was)}"
        )

    def _way(self) -> str:
        return f"takes a new pod: {self.obstacle}" if self.obstacle else "in place, the pod goes on running"


def remedies(
    pod: PodResources, container: str, limit_cores: Decimal, room: NodeRoom | None = None
) -> tuple[Remedy, ...]:
    """The three ways to give `container` up to `limit_cores`. `room`: of its node, where it is known."""
    now = pod.containers[container]
    ways = {
        "A, request = limit": _with_cpu(now, limit_cores, limit_cores),
        "B, request stays": _with_cpu(now, min(now.asked(CPU), limit_cores), limit_cores),
        "C, no limit": _with_cpu(now, now.asked(CPU), None),
    }
    return tuple(_remedy(name, pod, container, resources, room) for name, resources in ways.items())


def gentlest(ways: Sequence[Remedy]) -> Remedy:
    """Where the node has room, since a resize may wait for ever; in place; then the one that reserves least."""
    return min(ways, key=lambda way: (bool(way.crowded), not way.in_place, way.reserves_cores))


def obstacle(before: PodResources, after: PodResources, container: str) -> str:
    """Why the API server refuses to resize in place (1.34, ValidatePodResize); empty when it does not."""
    was, becomes = before.containers[container], after.containers[container]
    if before.whole:
        return "a pod with resources of its own cannot be resized in place"
    if not was.limits.keys() <= becomes.limits.keys():
        return "a limit cannot be removed in place"
    if not was.requests.keys() <= becomes.requests.keys() | becomes.limits.keys():
        return "a request cannot be removed in place"
    if before.qos != after.qos:
        return "the QoS class cannot change in place"
    return ""


def pending(pod: Any) -> str:
    """Why the node has not done a resize that the API server accepted (V1Pod); empty when nothing waits.

    The pod's spec has the new figures by then, and the kernel the old ones.
    """
    waiting = [one for one in pod.status.conditions or () if one.type == "PodResizePending"]
    return "; ".join(f"{one.reason}: {one.message}" for one in waiting)


def cores(amount: Decimal) -> str:
    """`1 core`, `0.25 cores`."""
    return f"{amount.normalize():f} core{'' if amount == 1 else 's'}"


def _remedy(
    name: str, pod: PodResources, container: str, resources: Resources, room: NodeRoom | None
) -> Remedy:
    after = pod.having(container, resources)
    crowded = _crowded(pod, after, room) if room else ""
    return Remedy(name, pod, after, container, obstacle(pod, after, container), crowded)


def _with_cpu(now: Resources, request: Decimal, limit: Decimal | None) -> Resources:
    others = {name: value for name, value in now.limits.items() if name != CPU}
    limits = others if limit is None else {**others, CPU: limit}
    asked = {**now.requests, CPU: request} if request else dict(now.requests)
    return Resources(asked, limits, now.sidecar)


def _crowded(before: PodResources, after: PodResources, room: NodeRoom) -> str:
    """What happens to a request that the node has no room for; empty where it has."""
    wanted = after.reserved(CPU)
    free = room.allocatable_cores - room.reserved_cores + before.reserved(CPU)
    if wanted <= max(free, before.reserved(CPU)):
        return ""
    if wanted > room.allocatable_cores:
        return f"more than the {cores(room.allocatable_cores)} of the node: it would never be done there"
    return f"the node has only {cores(free)} for it: it waits until there is room"
