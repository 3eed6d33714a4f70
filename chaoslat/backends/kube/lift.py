"""The CPU limit of a container: read inside it, changed by in-place resize of its pod, and put back.

How a limit is lifted: it rises far above what a node has, so that it does not throttle, and the request stays, so that
the node reserves no more. Where that would change the QoS class, which no resize can, the request rises with it to
twice the limit. Where both are refused it takes new pods, which is not here.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from chaoslat.backends.kube.login import Login
from chaoslat.backends.local.promises import Promises
from chaoslat.backends.pods.place import Place
from chaoslat.backends.pods.view import PodView
from chaoslat.errors import ChaoslatError, NotHere, SystemLost
from chaoslat.kube import inside, qos
from chaoslat.kube.client import KubeClient
from chaoslat.kube.remedy import Remedy, pending, remedies
from chaoslat.kube.resize import PERIOD_US, millicores

LIFTED_CORES = Decimal(64)
SETTLE_S = 15.0
POLL_S = 0.2  # each look runs a program in the pod, which its CPU limit pays for
Body = dict[str, Any]


class PodCpu(PodView):
    """One hand's access to the CPU cgroup of a container, an operator's or a saboteur's: each promises its own undo."""

    def __init__(
        self, kube: KubeClient, login: Login, place: Place, promises: Promises, target: str = "CPU limit"
    ) -> None:
        super().__init__(kube, place)
        self._target = f"{target} of {place.path}"
        self._login, self._promises = login, promises
        self._lock = threading.Lock()

    @property
    def limit_before_us(self) -> int | None:
        """The quota that this hand found; None where it changed nothing."""
        before = self._before()
        return None if before is None else quota_of(before)

    def remedy(self) -> Remedy:
        """How its limit would be lifted. Raises NotHere when it cannot be in place, or there is none."""
        return lifting(self.resources(), self.place)

    def rehearse(self) -> Remedy:
        """Have the API server judge the lifting without doing it. Raises NotHere with its reason, and as `remedy`."""
        remedy = self.remedy()
        try:
            self._resize(_body_of(remedy), dry_run="All")
        except SystemLost as error:
            raise NotHere(f"the CPU limit of {self.place.path} cannot be changed: {error.why}") from error
        return remedy

    async def set(self, quota_us: int | None) -> None:
        """None lifts; the quota of the limit that it had puts exactly that back. In force when this returns."""
        await asyncio.to_thread(self._set, quota_us)

    def _set(self, quota_us: int | None) -> None:
        with self._lock:
            before = self._before() or body(self.place.container, self._own())
            wanted = self._wanted(quota_us, before)
            if quota_of(wanted) == inside.cpu_limit(self._shell).quota_us:
                return
            self._promise(before)
            self._resize(wanted)
            self._await(wanted)

    def restore(self) -> None:
        """As it was before this hand's first change; nothing where it changed nothing. In force when this returns."""
        with self._lock:
            before = self._before()
            if self._promises.fulfil(self._target) and before is not None:
                self._await(before)

    def _wanted(self, quota_us: int | None, before: Body) -> Body:
        if quota_us is None:
            return _body_of(self.remedy())
        if quota_us == quota_of(before):
            return before
        limit = Decimal(millicores(quota_us)) / 1000
        return body(self.place.container, qos.Resources({}, {qos.CPU: limit}))

    def _own(self) -> qos.Resources:
        return self.resources().containers[self.place.container]

    def _before(self) -> Body | None:
        """The patch back, out of the ledger; None before the first change."""
        found = self._promises.argument(self._target, "before")
        return None if found is None else dict(json.loads(str(found)))

    def _promise(self, before: Body) -> None:
        text = json.dumps(before)
        argv = ("patch", "pod", self.place.name, f"--namespace={self._kube.namespace}")
        undo = self._login.undo(*argv, "--subresource=resize", f"--patch={text}")
        self._promises.keep(self._target, "kube", **undo, before=text)

    def _resize(self, wanted: Body, **options: str) -> None:
        resize = self._kube.core.patch_namespaced_pod_resize
        self._kube.call(resize, self.place.name, self._kube.namespace, wanted, **options)

    def _await(self, wanted: Body) -> None:
        """Until the container's own cgroup shows it."""
        until_s = time.monotonic() + SETTLE_S
        while (found := inside.cpu_limit(self._shell).quota_us) != quota_of(wanted):
            if time.monotonic() > until_s:
                raise SystemLost(
                    f"The CPU limit was not resized in place within {SETTLE_S:.0f} s",
                    where=self.place.path,
                    why=f"quota {found} us, wanted {quota_of(wanted)} us. {self._pending()}".strip(),
                )
            time.sleep(POLL_S)

    def _pending(self) -> str:
        try:
            return pending(self._pod())
        except ChaoslatError as error:
            return str(error)


def lifting(pod: qos.PodResources, place: Place) -> Remedy:
    """The gentlest way to lift the limit in place. Raises NotHere when there is none."""
    limit = pod.containers[place.container].limits.get(qos.CPU)
    if limit is None:
        raise NotHere(f"{place.path} has no CPU limit of its own that could be lifted")
    stays = next(way for way in remedies(pod, place.container, LIFTED_CORES) if "request stays" in way.name)
    rises = next(way for way in remedies(pod, place.container, 2 * limit) if "request =" in way.name)
    found = next((way for way in (stays, rises) if way.in_place), None)
    if found is None:
        raise NotHere(f"lifting the CPU limit of {place.path} takes a new pod: {rises.obstacle}")
    return found


def body(container: str, wanted: qos.Resources) -> Body:
    """The patch that gives the container this CPU limit and request, and no other resource."""
    resources = {
        kind: {qos.CPU: f"{int(amounts[qos.CPU] * 1000)}m"}
        for kind, amounts in (("limits", wanted.limits), ("requests", wanted.requests))
        if qos.CPU in amounts
    }
    return {"spec": {"containers": [{"name": container, "resources": resources}]}}


def quota_of(wanted: Body) -> int | None:
    """The CFS quota in 100 ms that a patch comes to."""
    limit = wanted["spec"]["containers"][0]["resources"].get("limits", {}).get(qos.CPU)
    return None if limit is None else int(qos.amount(limit) * PERIOD_US)


def plan(cpus: Sequence[PodCpu]) -> list[str]:
    """What lifting would do, a line a container; each was judged by the API server. Raises NotHere."""
    return [
        f"lift the CPU limit of {cpu.place.path} while blocks compare: {cpu.rehearse().sentence}"
        for cpu in cpus
    ]


def _body_of(remedy: Remedy) -> Body:
    return body(remedy.container, remedy.after.containers[remedy.container])
