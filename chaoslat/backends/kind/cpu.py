"""The CPU limit of the app: changed by in-place resize of its pod, done when the node's kernel shows it."""

from __future__ import annotations

import asyncio
import json
import threading
import time

from chaoslat.backends.kind.state import NAMESPACE, KindState
from chaoslat.backends.local.promises import Promises
from chaoslat.backends.pods.view import PodView
from chaoslat.cgroup.base import CgroupTree
from chaoslat.errors import SystemLost
from chaoslat.kube import resize
from chaoslat.kube.client import KubeClient
from chaoslat.kube.remedy import pending

SETTLE_S = 10.0
POLL_S = 0.02
CONTAINER = "app"
RESOURCE = "cpu"


class AppCpu:
    """One hand's access to the limit, an operator's or a saboteur's: each promises its own undo."""

    def __init__(
        self,
        state: KindState,
        tree: CgroupTree,
        kube: KubeClient,
        promises: Promises,
        target: str,
        view: PodView | None = None,
    ) -> None:
        """`view`: reads inside the pod, too, once for each quota: a program there costs the app its CPU."""
        self._state, self._tree, self._kube = state, tree, kube
        self._promises, self._target = promises, target
        self._view, self._read_inside = view, set[int]()
        self._lock = threading.Lock()

    @property
    def limit_before_us(self) -> int | None:
        """The quota that this hand found; None where it changed nothing."""
        return self._before() or None

    @property
    def quota_us(self) -> int | None:
        """The container's CFS quota as the node's kernel has it."""
        return self._tree.cpu(self._state.layout.app).quota_us

    async def set(self, quota_us: int) -> None:
        """Have the limit that gives this quota (whole millicores), and wait until it is in force.

        Nothing is asked of the cluster when it is in force already. Raises SystemLost.
        """
        await asyncio.to_thread(self._set, quota_us)

    def _set(self, quota_us: int) -> None:
        with self._lock:
            wanted = resize.millicores(quota_us)
            if self._in_force(wanted * resize.MILLI_US):
                return
            self._promise()
            resize.resize(self._kube, self._pod, CONTAINER, cpu=f"{wanted}m")
            self._await(wanted * resize.MILLI_US)

    def restore(self) -> None:
        """The limit before this hand's first change; nothing where it changed nothing. In force when this returns."""
        before = self._before()
        if self._promises.fulfil(self._target):
            self._await(before)

    @property
    def _pod(self) -> str:
        return self._state.pods["app"]

    def _promise(self) -> None:
        if self._promises.kept(self._target):
            return
        limit = resize.limit_of(self._kube, self._pod, CONTAINER, RESOURCE) or "0"
        patch = json.dumps(resize.body(CONTAINER, cpu=limit))
        argv = [
            "patch",
            "pod",
            self._pod,
            f"--namespace={NAMESPACE}",
            "--subresource=resize",
            f"--patch={patch}",
        ]
        self._promises.keep(
            self._target,
            "kube",
            kubectl=self._state.kubectl,
            kubeconfig=self._state.kubeconfig,
            argv=list(argv),
            quota_us=self.quota_us,
        )

    def _before(self) -> int:
        found = self._promises.argument(self._target, "quota_us")
        return int(str(found)) if found is not None else 0

    def _pending(self) -> str:
        """What the cluster says of a resize that it took and has not done."""
        try:
            return pending(self._kube.call(self._kube.core.read_namespaced_pod, self._pod, NAMESPACE)) or ""
        except SystemLost as error:
            return str(error)

    def _in_force(self, quota_us: int) -> bool:
        """In the container's cgroup and in the pod's: either alone throttles."""
        container = self._state.layout.app
        return all(
            self._tree.cpu(path).quota_us == quota_us for path in (container, container.rpartition("/")[0])
        )

    def _await(self, quota_us: int) -> None:
        until_s = time.monotonic() + SETTLE_S
        while not self._in_force(quota_us):
            if time.monotonic() > until_s:
                raise self._not_done(self.quota_us, quota_us)
            time.sleep(POLL_S)
        self._check_inside(quota_us)

    def _check_inside(self, quota_us: int) -> None:
        """The container itself shows what the node does. Raises SystemLost."""
        if self._view is None or quota_us in self._read_inside:
            return
        inside_us = self._view.read().quota_us
        if inside_us != quota_us:
            raise self._not_done(inside_us, quota_us)
        self._read_inside.add(quota_us)

    def _not_done(self, found_us: int | None, wanted_us: int) -> SystemLost:
        return SystemLost(
            f"The CPU limit was not resized in place within {SETTLE_S:.0f} s",
            where=self._pod,
            why=f"quota {found_us} us, wanted {wanted_us} us. {self._pending()}".strip(),
        )
