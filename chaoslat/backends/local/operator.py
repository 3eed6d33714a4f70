"""What an on-call engineer can see and change on a local system: the probes, and four reversible changes.

Works from any process of the machine: everything it needs is in the state of the run. It sees no toxic, no fault and
no ledger of the saboteur's.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from chaoslat import probes
from chaoslat.backends.local.app import HOST
from chaoslat.backends.local.promises import Promises
from chaoslat.backends.local.state import State
from chaoslat.cgroup.base import CgroupTree
from chaoslat.errors import ChaoslatError, SystemLost
from chaoslat.load.log import LatencyLog, Requests
from chaoslat.model import (
    AppMetrics,
    CgroupCpu,
    DbProcess,
    FreshConnect,
    MemoryCgroups,
    NodeCpu,
    NoopSample,
    PoolState,
    ReclaimResult,
    SocketInfo,
    StatementStats,
    Volume,
)
from chaoslat.parts.mysql_seed import DATABASE
from chaoslat.probes.mysql import MysqlSession

T = TypeVar("T")
LOG_DELAY_S = 0.03  # the load generator's writer needs a moment
_POOL = "pool size"


class LocalOperator:
    """Implements `chaoslat.backends.base.Operator`. `log` gives the latency log of the load that runs."""

    def __init__(
        self,
        state: State,
        tree: CgroupTree,
        session: MysqlSession,
        promises: Promises,
        log: Callable[[], LatencyLog],
    ) -> None:
        self._state, self._layout = state, state.layout
        self._tree, self._session, self._promises, self._log = tree, session, promises, log
        self._app = state.app

    # time
    def now_s(self) -> float:
        return time.monotonic()

    async def sleep(self, duration_s: float) -> None:
        await asyncio.sleep(duration_s)

    # symptom
    async def requests(self, since_s: float, until_s: float) -> Requests:
        return self._log().between(since_s, until_s, self.now_s() - LOG_DELAY_S)

    # CPU limit
    async def app_cpu(self) -> tuple[CgroupCpu, ...]:
        return await self._blocking("app", probes.throttling, self._tree, self._pid("app"))

    async def set_cpu_quota(self, path: str, quota_us: int | None) -> None:
        self._check_own(path)
        await asyncio.to_thread(self._set_cpu_quota, path, quota_us)

    def _set_cpu_quota(self, path: str, quota_us: int | None) -> None:
        file, content = self._tree.cpu_quota_file(path)
        self._promises.keep(f"cpu quota of {path}", "file", path=file, content=content)
        self._tree.set_cpu_quota(path, quota_us)

    # connection pool
    async def pool(self) -> PoolState:
        return await self._asked("app", self._app.pool())

    async def set_pool_size(self, size: int) -> PoolState:
        if not await asyncio.to_thread(self._promises.kept, _POOL):
            before = await self.pool()
            await asyncio.to_thread(promise_pool_size, self._promises, self._state, _POOL, before.max)
        return await self._asked("app", self._app.resize(size))

    async def app_metrics(self) -> AppMetrics:
        return await self._asked("app", self._app.metrics())

    # network path
    async def sockets(self) -> tuple[SocketInfo, ...]:
        proxy_port = self._state.ports["proxy"]
        return await self._blocking("app", probes.sockets, (), HOST, proxy_port, self._pid("app"))

    async def fresh_connect(self) -> FreshConnect:
        return await self._blocking("toxiproxy", probes.fresh_connect, HOST, self._state.ports["proxy"])

    async def noop(self, count: int) -> NoopSample:
        return await self._asked("prober", probes.noop(self._layout.prober_socket, self._session, count))

    # database and node
    async def statements(self) -> tuple[StatementStats, ...]:
        return await self._blocking("mysqld", probes.statements, self._session, DATABASE)

    async def db_process(self) -> DbProcess:
        return await self._blocking("mysqld", probes.db_process, self._tree, self._pid("mysqld"))

    async def memory_cgroups(self) -> MemoryCgroups:
        return await asyncio.to_thread(probes.memory_cgroups, self._tree)

    async def node_cpu(self) -> NodeCpu:
        return probes.node_cpu()

    async def volumes(self) -> tuple[Volume, ...]:
        return await asyncio.to_thread(probes.volumes, self._layout.volumes, self._owner_alive)

    async def reclaim(self, path: str, bound_s: float) -> ReclaimResult:
        self._check_own(path)
        return await asyncio.to_thread(probes.reclaim, self._tree, path, bound_s)

    async def remove_volume(self, path: str) -> None:
        await asyncio.to_thread(self._remove_volume, Path(path))

    def _remove_volume(self, path: Path) -> None:
        if path.parent != self._layout.volumes or path.name in ("", ".", ".."):
            raise ChaoslatError(
                "Not a pod's volume of this run", where=str(path), why=f"those are in {self._layout.volumes}"
            )
        if self._owner_alive(path.name):
            raise ChaoslatError(
                "The volume belongs to a pod that is alive",
                where=str(path),
                why=f"the pod's cgroup {self._layout.kubepods}/{path.name} exists",
                fix="remove volumes only of pods that are gone",
            )
        if path.exists():
            shutil.rmtree(path)

    # taking it back
    async def undo_interventions(self) -> None:
        await asyncio.to_thread(self._promises.fulfil_all)

    def _owner_alive(self, pod: str) -> bool:
        return self._tree.exists(f"{self._layout.kubepods}/{pod}")

    def _check_own(self, path: str) -> None:
        normal = os.path.normpath(path.strip("/"))
        if normal != self._layout.cgroup and not normal.startswith(f"{self._layout.cgroup}/"):
            raise ChaoslatError(
                "Not a cgroup of this run",
                where=path,
                why=f"all of its cgroups are below {self._layout.cgroup}",
            )

    def _pid(self, part: str) -> int:
        return self._state.part(part).pid

    async def _blocking(self, part: str, probe: Callable[..., T], *args: Any) -> T:
        return await self._asked(part, asyncio.to_thread(probe, *args))

    async def _asked(self, part: str, question: Coroutine[Any, Any, T]) -> T:
        """The answer; when there is none because the part has died, the error says so, with the end of its log."""
        try:
            return await question
        except SystemLost as error:
            asked = self._state.part(part)
            if not asked.alive:
                raise asked.died() from error
            raise


def promise_pool_size(promises: Promises, state: State, target: str, size: int) -> None:
    """Promise that the pool's maximum will be `size` again."""
    url = f"{state.app.admin_url}/admin/pool"
    promises.keep(target, "http", method="PUT", url=url, body=f'{{"max": {size}}}')
