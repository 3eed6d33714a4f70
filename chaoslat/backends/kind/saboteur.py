"""What only a fault may do to a system on a kind cluster: as on the local backend, the CPU limit through the API."""

from __future__ import annotations

import asyncio

from chaoslat import probes
from chaoslat.backends.kind.cpu import AppCpu
from chaoslat.backends.kind.state import KindState
from chaoslat.backends.local.promises import Promises
from chaoslat.backends.local.saboteur import LocalSaboteur
from chaoslat.cgroup.base import CgroupTree
from chaoslat.kube.resize import PERIOD_US
from chaoslat.probes.mysql import MysqlSession

CPU_TARGET = "app's CPU limit"


class KindSaboteur(LocalSaboteur):
    """Implements `chaoslat.backends.base.Saboteur`."""

    def __init__(self, state: KindState, tree: CgroupTree, session: MysqlSession, promises: Promises) -> None:
        super().__init__(state, tree, session, promises)
        self._cpu = AppCpu(state, tree, promises, CPU_TARGET)

    async def set_cpu_quota(self, quota_us: int | None) -> None:
        """None: all cores of the node."""
        whole_us = probes.node_cpu().cores * PERIOD_US
        await self._cpu.set(whole_us if quota_us is None else quota_us)

    async def restore_cpu_quota(self) -> None:
        await asyncio.to_thread(self._cpu.restore)

    def close(self) -> None:
        """Drop the connections to the cluster."""
        self._cpu.close()
