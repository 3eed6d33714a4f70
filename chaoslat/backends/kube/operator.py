"""What an on-call engineer sees and changes of somebody's workload through the cluster's API alone.

What cannot be seen so, or was not asked for, raises NotHere with the reason: the steps that need it are inconclusive.
Nothing is changed unless interventions were allowed; those are promised in the ledger first and undone at the end.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from chaoslat import probes
from chaoslat.backends.kube.lift import PodCpu
from chaoslat.backends.local.app import App
from chaoslat.backends.local.promises import Promises
from chaoslat.backends.pods.beside import Beside, Later
from chaoslat.errors import ChaoslatError, NotHere, SystemLost
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
from chaoslat.probes.mysql import MysqlSession

T = TypeVar("T")
LOG_DELAY_S = 0.03  # the load generator's writer needs a moment
NODE = "a node is not looked at from here: its {what} take a program on the node itself"
NOT_ALLOWED = "interventions were not allowed (--allow-interventions; --dry-run shows them)"
NO_ADMIN = "nobody said where the pool is seen and changed (--admin)"
_POOL = "pool size"


@dataclass(frozen=True, slots=True)
class Sources:
    """What was given to look at. Each may be missing; `schema`: of the app in its database."""

    app: App | None = None  # its admin_url empty: no pool endpoint; its url empty: no metrics
    beside: Later | None = None
    schema: str = ""
    session: MysqlSession | None = None  # another way to the database than from beside the app


class KubeOperator:
    """Implements `chaoslat.backends.base.Operator`. `obstacles`: intervention -> why it cannot be made."""

    def __init__(
        self,
        cpus: tuple[PodCpu, ...],
        sources: Sources,
        promises: Promises,
        log: Callable[[], LatencyLog],
        obstacles: dict[str, str],
    ) -> None:
        self._cpus, self._sources, self._promises, self._log = cpus, sources, promises, log
        self.obstacles = obstacles

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
        """One for each pod: the container's own, by the name POD/CONTAINER. Those above cannot be seen from inside."""
        return tuple(await asyncio.gather(*(asyncio.to_thread(cpu.read) for cpu in self._cpus)))

    async def set_cpu_quota(self, path: str, quota_us: int | None) -> None:
        self._allowed("set_cpu_quota")
        known = {cpu.place.path: cpu for cpu in self._cpus}
        if path not in known:
            raise ChaoslatError("Not a container of this workload", where=path, fix=", ".join(known))
        await known[path].set(quota_us)

    # connection pool
    async def pool(self) -> PoolState:
        return await self._pool_app().pool()

    async def set_pool_size(self, size: int) -> PoolState:
        self._allowed("set_pool_size")
        app = self._pool_app()
        if not await asyncio.to_thread(self._promises.kept, _POOL):
            before = await app.pool()
            url, body = f"{app.admin_url}/admin/pool", f'{{"max": {before.max}}}'
            keep = self._promises.keep
            await asyncio.to_thread(keep, _POOL, "http", method="PUT", url=url, body=body)
        return await app.resize(size)

    async def app_metrics(self) -> AppMetrics:
        app = self._sources.app
        if app is None or not app.url:
            raise NotHere("nobody said where the app's metrics are (--metrics)")
        return await _or_not_here(app.metrics(), "lack")

    # network path
    async def sockets(self) -> tuple[SocketInfo, ...]:
        return await asyncio.to_thread((await self._beside()).sockets)

    async def fresh_connect(self) -> FreshConnect:
        return await asyncio.to_thread((await self._beside()).fresh_connect)

    async def noop(self, count: int) -> NoopSample:
        return await asyncio.to_thread((await self._beside()).noop, count)

    # database and node
    async def statements(self) -> tuple[StatementStats, ...]:
        if not self._sources.schema:
            raise NotHere("nobody said which schema the app works in (--database HOST:PORT/SCHEMA)")
        session = self._sources.session or (await self._beside()).session
        return await asyncio.to_thread(probes.statements, session, self._sources.schema)

    async def db_process(self) -> DbProcess:
        self._no_node("processes")

    async def memory_cgroups(self) -> MemoryCgroups:
        self._no_node("memory cgroups")

    async def node_cpu(self) -> NodeCpu:
        self._no_node("CPU counters")

    async def volumes(self) -> tuple[Volume, ...]:
        self._no_node("memory-backed volumes")

    async def reclaim(self, path: str, bound_s: float) -> ReclaimResult:
        self._no_node("memory cgroups")

    async def remove_volume(self, path: str) -> None:
        self._no_node("memory-backed volumes")

    async def undo_interventions(self) -> None:
        """Put everything back, and see that it is so. Goes on after a failure, and raises the first."""
        failures: list[ChaoslatError] = []
        for undo in (*(cpu.restore for cpu in self._cpus), self._promises.fulfil_all):
            try:
                await asyncio.to_thread(undo)
            except ChaoslatError as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def close(self) -> None:
        """Drop what is held open; what runs beside the app ends."""
        for cpu in self._cpus:
            cpu.close()
        if self._sources.beside is not None:
            self._sources.beside.close()

    def _allowed(self, call: str) -> None:
        if call in self.obstacles:
            raise NotHere(self.obstacles[call])

    async def _beside(self) -> Beside:
        if self._sources.beside is None:
            raise NotHere("nothing looks from beside the app (--tools-image and --database)")
        return await asyncio.to_thread(self._sources.beside.get)

    def _pool_app(self) -> App:
        app = self._sources.app
        if app is None or not app.admin_url:
            raise NotHere(NO_ADMIN)
        return app

    def _no_node(self, what: str) -> NoReturn:
        raise NotHere(NODE.format(what=what))


async def _or_not_here(question: Coroutine[Any, Any, T], word: str) -> T:
    """The answer; an app whose figures have other names than ours is not lost, it only does not say them."""
    try:
        return await question
    except SystemLost as error:
        if word in error.what:
            raise NotHere(f"{error.what}, at {error.where}") from error
        raise
