"""What an on-call engineer can see and change on a kind cluster: as on the local backend, through pods and nodes.

A kind node is a container of this machine, so what a debug container in the app's pod, or a privileged one on the
node, would read is read from here: the pod's network namespace, the node's cgroups. What is
changed is changed through the API: the CPU limit by in-place resize, the pool through the app's own endpoint.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from chaoslat import probes
from chaoslat.backends.kind.cpu import AppCpu
from chaoslat.backends.kind.netns import fresh_connect_in
from chaoslat.backends.kind.state import KindState
from chaoslat.backends.local.operator import LocalOperator
from chaoslat.backends.local.promises import Promises
from chaoslat.backends.pods.advice import advice
from chaoslat.backends.pods.crosscheck import crosscheck
from chaoslat.backends.pods.view import PodView
from chaoslat.cgroup.base import CgroupTree
from chaoslat.errors import ChaoslatError
from chaoslat.kube.client import KubeClient
from chaoslat.kube.resize import PERIOD_US
from chaoslat.load.log import LatencyLog
from chaoslat.model import Cause, FreshConnect, SocketInfo
from chaoslat.probes.mysql import MysqlSession

CPU_TARGET = "CPU limit"


class KindOperator(LocalOperator):
    """Implements `chaoslat.backends.base.Operator`."""

    def __init__(
        self,
        state: KindState,
        tree: CgroupTree,
        kube: KubeClient,
        session: MysqlSession,
        promises: Promises,
        log: Callable[[], LatencyLog],
    ) -> None:
        super().__init__(state, tree, session, promises, log)
        self._kube, self._view = kube, PodView(kube, state.app_place)
        self._cpu = AppCpu(state, tree, kube, promises, CPU_TARGET, self._view)
        self._address = state.address

    async def advice(self, causes: tuple[Cause, ...]) -> tuple[str, ...]:
        """What the kubelet's own figures say of throttling, and what could be done about it."""
        ways = await asyncio.to_thread(advice, self._view, causes, self._cpu.limit_before_us)
        return (await asyncio.to_thread(crosscheck, self._kube, self._view), *ways) if ways else ()

    async def set_cpu_quota(self, path: str, quota_us: int | None) -> None:
        """`path` is the container's cgroup or its pod's: the kubelet sets both from one limit.

        None raises the limit to all cores of the node, which keeps the pod Burstable: no restart.
        """
        container = self._layout.app
        if path.strip("/") not in (container, container.rpartition("/")[0]):
            raise ChaoslatError(
                "Not a cgroup of this run's app",
                where=path,
                why=f"its cgroups are {container} and its parent",
            )
        whole_us = (await self.node_cpu()).cores * PERIOD_US
        await self._cpu.set(whole_us if quota_us is None else quota_us)

    async def sockets(self) -> tuple[SocketInfo, ...]:
        pid = self._pid("app")
        enter = ("nsenter", f"--net=/proc/{pid}/ns/net")
        port = self._state.ports["proxy"]
        return await self._blocking("app", probes.sockets, enter, self._address, port, pid)

    async def fresh_connect(self) -> FreshConnect:
        port = self._state.ports["proxy"]
        return await self._blocking("toxiproxy", fresh_connect_in, self._pid("app"), self._address, port)

    async def undo_interventions(self) -> None:
        await asyncio.to_thread(self._cpu.restore)
        await super().undo_interventions()

    def close(self) -> None:
        """Drop what is held open to the pod."""
        self._view.close()
