"""One running system of ours in a namespace of a cluster that exists."""

from __future__ import annotations

import asyncio

from chaoslat.backends.kind.health import lost_pods
from chaoslat.backends.kube.lift import PodCpu
from chaoslat.backends.kube.operator import KubeOperator, Sources
from chaoslat.backends.kube.saboteur import KubeSaboteur
from chaoslat.backends.kube.state import KubeState
from chaoslat.backends.local.parts import Children
from chaoslat.backends.local.promises import Promises
from chaoslat.backends.local.system import LocalSystem
from chaoslat.backends.pods.advice import advice
from chaoslat.backends.pods.beside import Beside, Later, Tools
from chaoslat.cgroup.base import CgroupTree
from chaoslat.ledger import Ledger
from chaoslat.model import Cause
from chaoslat.parts.mysql_seed import DATABASE, PROBE
from chaoslat.probes.mysql import MysqlAddress


class KubeSystem(LocalSystem):
    """Implements `chaoslat.backends.base.System`."""

    def __init__(self, made: KubeState, tree: CgroupTree, ledger: Ledger, children: Children) -> None:
        self._made, self._kube = made, made.login.client(made.namespace)
        super().__init__(made, tree, ledger, children)

    def _make_operator(self, promises: Promises) -> KubeOperator:
        made = self._made
        address = MysqlAddress(made.address, made.ports["proxy"], PROBE.user, PROBE.password)
        tools = Tools(made.tools_image)
        beside = Later(lambda: Beside(self._kube, made.app_place, address, tools, self._session), stop=False)
        sources = Sources(made.app, beside, DATABASE, self._session)
        cpu = PodCpu(self._kube, made.login, made.app_place, promises)
        self._cpu = cpu
        self._looking = KubeOperator((cpu,), sources, promises, lambda: self.log, {})
        return self._looking

    def _make_saboteur(self, promises: Promises) -> KubeSaboteur:
        self._breaking = KubeSaboteur(self._made, self._kube, self._session, promises)
        return self._breaking

    def _launcher(self) -> list[str]:
        return []

    async def check(self) -> tuple[str, ...]:
        return await self.lost() or await super().check()

    async def lost(self) -> tuple[str, ...]:
        """Port-forwards that died, each with what the cluster says; else what the cluster says alone."""
        dead, said = await super().lost(), await asyncio.to_thread(self._lost_pods)
        return tuple("; ".join((sentence, *said)) for sentence in dead) or said

    def _lost_pods(self) -> tuple[str, ...]:
        made = self._made
        return lost_pods(made.login.client(made.namespace), made.namespace, made.pods.values())

    async def advice(self, causes: tuple[Cause, ...]) -> tuple[str, ...]:
        return await asyncio.to_thread(advice, self._cpu, causes, self._cpu.limit_before_us)

    async def close(self) -> None:
        await asyncio.to_thread(self._looking.close)
        await asyncio.to_thread(self._breaking.close)
        self._kube.close()
        await super().close()
