"""One running system on a kind cluster."""

from __future__ import annotations

import asyncio
from pathlib import Path

from chaoslat.backends.kind import health
from chaoslat.backends.kind.operator import KindOperator
from chaoslat.backends.kind.saboteur import KindSaboteur
from chaoslat.backends.kind.state import NAMESPACE, KindState
from chaoslat.backends.local.parts import Children
from chaoslat.backends.local.promises import Promises
from chaoslat.backends.local.system import LocalSystem
from chaoslat.cgroup.base import CgroupTree
from chaoslat.kube.client import KubeClient
from chaoslat.ledger import Ledger
from chaoslat.model import Cause


class KindSystem(LocalSystem):
    """Implements `chaoslat.backends.base.System`."""

    def __init__(self, made: KindState, tree: CgroupTree, ledger: Ledger, children: Children) -> None:
        self._kind, self._kube = made, KubeClient(Path(made.kubeconfig), NAMESPACE)
        super().__init__(made, tree, ledger, children)

    def _make_operator(self, promises: Promises) -> KindOperator:
        self._looking = KindOperator(
            self._kind, self._tree, self._kube, self._session, promises, lambda: self.log
        )
        return self._looking

    def _make_saboteur(self, promises: Promises) -> KindSaboteur:
        return KindSaboteur(self._kind, self._tree, self._kube, self._session, promises)

    async def check(self) -> tuple[str, ...]:
        return await self.lost() or await super().check()

    async def lost(self) -> tuple[str, ...]:
        """Processes that died, each with what the cluster says of it; else what the cluster says alone."""
        dead, said = await super().lost(), await self._lost_pods()
        return tuple("; ".join((sentence, *said)) for sentence in dead) or said

    async def _lost_pods(self) -> tuple[str, ...]:
        return await asyncio.to_thread(health.lost, self._kind)

    async def advice(self, causes: tuple[Cause, ...]) -> tuple[str, ...]:
        return await self._looking.advice(causes)

    async def close(self) -> None:
        await asyncio.to_thread(self._looking.close)
        self._kube.close()
        await super().close()
