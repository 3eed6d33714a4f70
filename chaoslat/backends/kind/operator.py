"""What an on-call engineer can see and change on a kind cluster: as on the local backend, through pods and nodes.

The network path is looked at from a debug container in the app's pod, whose own image has no tools. A kind node is a
container of this machine, so what a privileged pod on the node would read is read from here: the node's cgroups. What
is changed is changed through the API: the CPU limit by in-place resize, the pool through the app's own endpoint.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from chaoslat.backends.kind.cpu import AppCpu
from chaoslat.backends.kind.state import KindState
from chaoslat.backends.local.operator import LocalOperator
from chaoslat.backends.local.promises import Promises
from chaoslat.backends.pods.advice import advice
from chaoslat.backends.pods.beside import Later
from chaoslat.backends.pods.crosscheck import crosscheck
from chaoslat.backends.pods.view import PodView
from chaoslat.cgroup.base import CgroupTree
from chaoslat.errors import ChaoslatError
from chaoslat.kube.client import KubeClient
from chaoslat.kube.resize import PERIOD_US
from chaoslat.load.log import LatencyLog
from chaoslat.model import Cause, FreshConnect, NoopSample, SocketInfo
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
        self._beside = Later(lambda: state.looking(kube, session), stop=False)

    async def get_ready(self) -> None:
        """Have what looks from beside the app started: its start is charged to the pod, and would be seen in a tail.

        Raises SystemLost.
        """
        await asyncio.to_thread(lambda: self._beside.get().noop(1))

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
        return await self._blocking("app", lambda: self._beside.get().sockets())

    async def fresh_connect(self) -> FreshConnect:
        return await self._blocking("toxiproxy", lambda: self._beside.get().fresh_connect())

    async def noop(self, count: int) -> NoopSample:
        return await self._blocking("toxiproxy", lambda: self._beside.get().noop(count))

    async def undo_interventions(self) -> None:
        await asyncio.to_thread(self._cpu.restore)
        await super().undo_interventions()

    def close(self) -> None:
        """Drop what is held open to the pod."""
        self._beside.close()
        self._view.close()
