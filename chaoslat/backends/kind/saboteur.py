"""What only a fault may do to a system on a kind cluster: as on the local backend, the CPU limit through the API."""

from __future__ import annotations

import asyncio

from chaoslat import probes
from chaoslat.backends.kind.cpu import AppCpu
from chaoslat.backends.kind.state import KindState
from chaoslat.backends.local.promises import Promises
from chaoslat.backends.local.saboteur import LocalSaboteur
from chaoslat.cgroup.base import CgroupTree
from chaoslat.kube.client import KubeClient
from chaoslat.kube.resize import PERIOD_US
from chaoslat.probes.mysql import MysqlSession

CPU_TARGET = "app's CPU limit"


class KindSaboteur(LocalSaboteur):
    """Implements `chaoslat.backends.base.Saboteur`."""

    def __init__(
        self, state: KindState, tree: CgroupTree, kube: KubeClient, session: MysqlSession, promises: Promises
    ) -> None:
        super().__init__(state, tree, session, promises)
        self._cpu = AppCpu(state, tree, kube, promises, CPU_TARGET)

    async def set_cpu_quota(self, quota_us: int | None) -> None:
        """None: all cores of the node."""
        whole_us = probes.node_cpu().cores * PERIOD_US
        await self._cpu.set(whole_us if quota_us is None else quota_us)

    async def restore_cpu_quota(self) -> None:
        await asyncio.to_thread(self._cpu.restore)

    def _make_decoys(self) -> None:
        """They are made of local parts; none is here yet."""
        return
