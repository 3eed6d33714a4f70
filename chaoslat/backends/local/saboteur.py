"""What only a fault may do to a local system. Each change is promised in the ledger before it is made."""

from __future__ import annotations

import asyncio
from pathlib import Path

from chaoslat.backends.local import database, memory, proxy_part
from chaoslat.backends.local.decoys import Ends, LocalDecoys
from chaoslat.backends.local.operator import promise_pool_size
from chaoslat.backends.local.promises import Promises
from chaoslat.backends.local.proxy import LATENCY, Toxiproxy
from chaoslat.backends.local.state import State
from chaoslat.cgroup.base import CgroupTree
from chaoslat.cgroup.leak import leak, leaked, unleak
from chaoslat.errors import SystemLost
from chaoslat.probes.mysql import MysqlSession

ORPHAN = "batch-7c41"
"""The pod that is gone and left its volume behind. Named like any other pod."""
_QUOTA, _POOL, _LATENCY, _LEAK = "app's cpu quota", "app's pool size", "latency toxic", "leaked cgroups"


class LocalSaboteur:
    """Implements `chaoslat.backends.base.Saboteur`."""

    def __init__(self, state: State, tree: CgroupTree, session: MysqlSession, promises: Promises) -> None:
        self._state, self._layout = state, state.layout
        self._tree, self._session, self._promises = tree, session, promises
        self._app = state.app
        self._toxiproxy = Toxiproxy(state.ports["toxiproxy"])
        self.decoys = self._make_decoys()

    def _make_decoys(self) -> LocalDecoys | None:
        """None on a backend that is made of this one's parts and has no decoys."""
        state = self._state
        ends = Ends(state.host_address, state.db_address, state.ports["mysql"])
        return LocalDecoys(self._layout, self._tree, self._promises, self._app, ends)

    # CPU quota
    async def cpu_quota_us(self) -> int | None:
        return (await asyncio.to_thread(self._tree.cpu, self._layout.app)).quota_us

    async def set_cpu_quota(self, quota_us: int | None) -> None:
        await asyncio.to_thread(self._set_cpu_quota, quota_us)

    def _set_cpu_quota(self, quota_us: int | None) -> None:
        file, content = self._tree.cpu_quota_file(self._layout.app)
        self._promises.keep(_QUOTA, "file", path=file, content=content)
        self._tree.set_cpu_quota(self._layout.app, quota_us)

    async def restore_cpu_quota(self) -> None:
        await asyncio.to_thread(self._promises.fulfil, _QUOTA)

    async def cpu_usage_s(self) -> float:
        return (await asyncio.to_thread(self._tree.cpu, self._layout.app)).usage_s

    # pool
    async def pool_size(self) -> int:
        return (await self._app.pool()).max

    async def set_pool_size(self, size: int) -> None:
        before = await self.pool_size()
        await asyncio.to_thread(promise_pool_size, self._promises, self._state, _POOL, before)
        await self._app.resize(size)

    async def restore_pool_size(self) -> None:
        await asyncio.to_thread(self._promises.fulfil, _POOL)

    # network path
    async def toxics(self) -> dict[str, dict[str, float]]:
        return await asyncio.to_thread(self._toxiproxy.toxics, proxy_part.NAME)

    async def set_latency(self, latency_ms: float, jitter_ms: float = 0.0) -> None:
        await asyncio.to_thread(self._set_latency, round(latency_ms), round(jitter_ms))

    def _set_latency(self, latency_ms: int, jitter_ms: int) -> None:
        if latency_ms > 0:
            toxic = f"http://{proxy_part.HOST}:{self._state.ports['toxiproxy']}/proxies/{proxy_part.NAME}/toxics/{LATENCY}"
            self._promises.keep(_LATENCY, "http", method="DELETE", url=toxic, body=None, gone=[404])
            self._toxiproxy.set_latency(proxy_part.NAME, latency_ms, jitter_ms)
        else:
            self._toxiproxy.remove_latency(proxy_part.NAME)
            self._promises.release(_LATENCY)

    # memory cgroups
    async def leaked_cgroups(self) -> int:
        return await asyncio.to_thread(self._leaked)

    async def leak_cgroups(self, count: int) -> None:
        await asyncio.to_thread(self._leak, count)

    def _leak(self, count: int) -> None:
        memory.check_room(self._tree.memory(self._layout.db), count, self._state.cgroup_cost_bytes)
        self._promises.keep(_LEAK, "tree", path=str(self._orphan))
        self._orphan.mkdir(exist_ok=True)
        before = self._leaked()
        got = leak(self._tree, self._layout.db, count, self._orphan)
        if got != before + count:
            raise SystemLost(f"{got} cgroups are pinned instead of {before + count}", where=str(self._orphan))

    async def unleak_cgroups(self) -> None:
        await asyncio.to_thread(self._unleak)

    def _unleak(self) -> None:
        if self._orphan.exists():
            unleak(self._orphan)
            self._orphan.rmdir()
        self._promises.release(_LEAK)

    async def warm(self) -> None:
        await asyncio.to_thread(database.scan, self._session)
        await asyncio.to_thread(database.fill_up, self._session, lambda: self._tree.memory(self._layout.db))

    @property
    def _orphan(self) -> Path:
        return self._layout.volumes / ORPHAN

    def _leaked(self) -> int:
        return leaked(self._orphan) if self._orphan.exists() else 0

    # all of it
    async def snapshot(self) -> dict[str, str]:
        toxics = await self.toxics()
        return {
            **await asyncio.to_thread(self._cgroup_settings),
            "pool size": str(await self.pool_size()),
            "toxics": repr(sorted(toxics.items())),
            "leaked cgroups": str(await self.leaked_cgroups()),
            **(await self.decoys.snapshot() if self.decoys else {}),
        }

    def _cgroup_settings(self) -> dict[str, str]:
        layout = self._layout
        quotas = (layout.app, layout.proxy, layout.mysqld, layout.db, layout.kubepods, layout.cgroup)
        limits = (layout.mysqld, layout.db, layout.kubepods, layout.cgroup)
        return {
            **{f"cpu quota of {path}": self._tree.cpu_quota_file(path)[1] for path in quotas},
            **{f"memory limit of {path}": str(self._tree.memory(path).limit_bytes) for path in limits},
            "pod volumes": ", ".join(sorted(entry.name for entry in layout.volumes.iterdir())),
        }
