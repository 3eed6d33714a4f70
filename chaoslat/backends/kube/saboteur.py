"""What only a fault may do to a system of ours on a cluster that exists: nothing that takes a node."""

from __future__ import annotations

import asyncio

from chaoslat.backends.kube.lift import PodCpu
from chaoslat.backends.kube.no_cgroups import NO_CGROUPS
from chaoslat.backends.kube.state import KubeState
from chaoslat.backends.local.promises import Promises
from chaoslat.backends.local.saboteur import LocalSaboteur
from chaoslat.errors import NotHere
from chaoslat.kube.client import KubeClient
from chaoslat.probes.mysql import MysqlSession

TARGET = "app's CPU limit"
NO_LEAK = "dying memory cgroups are made on the database's node, and the kube backend runs nothing there"


class KubeSaboteur(LocalSaboteur):
    """Implements `chaoslat.backends.base.Saboteur`; leaking memory cgroups raises NotHere."""

    def __init__(self, state: KubeState, kube: KubeClient, session: MysqlSession, promises: Promises) -> None:
        super().__init__(state, NO_CGROUPS, session, promises)
        self._cpu = PodCpu(kube, state.login, state.app_place, promises, TARGET)

    async def cpu_quota_us(self) -> int | None:
        return (await asyncio.to_thread(self._cpu.read)).quota_us

    async def set_cpu_quota(self, quota_us: int | None) -> None:
        """In whole millicores; None: far more than a node has."""
        await self._cpu.set(quota_us)

    async def restore_cpu_quota(self) -> None:
        await asyncio.to_thread(self._cpu.restore)

    async def cpu_usage_s(self) -> float:
        return (await asyncio.to_thread(self._cpu.read)).usage_s

    async def leaked_cgroups(self) -> int:
        return 0

    async def leak_cgroups(self, count: int) -> None:
        raise NotHere(NO_LEAK)

    async def unleak_cgroups(self) -> None:
        return

    async def warm(self) -> None:
        """Comes first in the fault that leaks. A page cache that is full up to a limit takes the node, too."""
        raise NotHere(NO_LEAK)

    async def snapshot(self) -> dict[str, str]:
        return {
            "CPU quota of the app": str(await self.cpu_quota_us()),
            "pool size": str(await self.pool_size()),
            "toxics": repr(sorted((await self.toxics()).items())),
        }

    def close(self) -> None:
        self._cpu.close()

    def _make_decoys(self) -> None:
        """They are made of local parts; none is here yet."""
        return
