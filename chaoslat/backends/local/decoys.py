"""What only a decoy may do to a local system. Each change is promised in the ledger before it is made."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

from chaoslat import probes
from chaoslat.backends.local import burner, lock_holder, relay
from chaoslat.backends.local.app import App
from chaoslat.backends.local.helpers import Helpers
from chaoslat.backends.local.layout import Layout
from chaoslat.backends.local.promises import Promises
from chaoslat.backends.local.slow_view import TABLE, SlowView
from chaoslat.cgroup.base import CgroupTree
from chaoslat.errors import ChaoslatError


@dataclass(frozen=True, slots=True)
class Ends:
    """The addresses of the way from proxy to database, and the database's port."""

    proxy: str
    database: str
    port: int


class LocalDecoys:
    """Implements `chaoslat.backends.base.Decoys`."""

    def __init__(self, layout: Layout, tree: CgroupTree, promises: Promises, app: App, ends: Ends) -> None:
        self._layout, self._tree, self._promises, self._app = layout, tree, promises, app
        self._burners = Helpers("burners", Path(burner.__file__), layout.log("burner"), promises)
        self._holders = Helpers("lock holders", Path(lock_holder.__file__), layout.log("lock"), promises)
        self._relays = Helpers("relays", Path(relay.__file__), layout.log("relay"), promises)
        self._ends = ends
        self._view = SlowView(layout.db_socket, promises)

    # CPU quotas
    async def quota_us(self, place: str) -> int | None:
        return (await asyncio.to_thread(self._tree.cpu, self._path(place))).quota_us

    async def usage_s(self, place: str) -> float:
        return (await asyncio.to_thread(self._tree.cpu, self._path(place))).usage_s

    async def set_quota(self, place: str, quota_us: int | None) -> None:
        await asyncio.to_thread(self._set_quota, place, quota_us)

    def _set_quota(self, place: str, quota_us: int | None) -> None:
        path = self._path(place)
        file, content = self._tree.cpu_quota_file(path)
        self._promises.keep(_quota(place), "file", path=file, content=content)
        self._tree.set_cpu_quota(path, quota_us)

    async def restore_quota(self, place: str) -> None:
        await asyncio.to_thread(self._promises.fulfil, _quota(place))

    def _path(self, place: str) -> str:
        layout = self._layout
        paths = {"app": layout.app, "database": layout.mysqld, "pods": layout.kubepods}
        if place not in paths:
            raise ChaoslatError(f"No cgroup is called {place!r}", fix=f"known: {', '.join(paths)}")
        return paths[place]

    # CPU burners
    async def burners(self) -> int:
        return await asyncio.to_thread(self._burners.alive)

    async def start_burners(
        self, count: int, *, beside_app: bool, nice: int, on_s: float, off_s: float
    ) -> None:
        paths = [self._layout.app] * count if beside_app else [self._neighbour(n) for n in range(count)]
        await asyncio.to_thread(self._start_burners, paths, (str(nice), str(on_s), str(off_s)))

    def _start_burners(self, paths: list[str], args: tuple[str, ...]) -> None:
        self._stop_burners()
        if pods := [path for path in paths if path != self._layout.app]:
            directories = [directory for path in pods for directory in self._tree.directories(path)]
            self._promises.keep(_NEIGHBOURS, "cgroup", paths=directories)  # type: ignore[arg-type]
            for path in pods:
                self._tree.create(path)
        self._burners.start([self._tree.launcher(path) for path in paths], args)

    async def stop_burners(self) -> None:
        await asyncio.to_thread(self._stop_burners)

    def _stop_burners(self) -> None:
        self._burners.stop()
        self._promises.fulfil(_NEIGHBOURS)

    def _neighbour(self, number: int) -> str:
        """A pod like any other."""
        return f"{self._layout.kubepods}/batch-5e17-{number}"

    # the database
    async def statement_delay_ms(self) -> float:
        return await asyncio.to_thread(self._view.delay_ms)

    async def set_statement_delay(self, delay_ms: float, every: int = 1) -> None:
        await asyncio.to_thread(self._view.set, delay_ms, every)

    async def restore_statement(self) -> None:
        await asyncio.to_thread(self._view.restore)

    async def lock_holders(self) -> int:
        return await asyncio.to_thread(self._holders.alive)

    async def start_lock(self, held_ms: float, free_ms: float) -> None:
        args = (str(self._layout.db_socket), TABLE, str(held_ms / 1000), str(free_ms / 1000))
        await asyncio.to_thread(self._holders.start, [self._tree.launcher(self._layout.probe)], args)

    async def stop_lock(self) -> None:
        await asyncio.to_thread(self._holders.stop)

    # the app
    async def report(self) -> tuple[int, int]:
        return await self._app.report()

    async def set_report(self, block_ms: int, every_ms: int) -> None:
        body = json.dumps({"block_ms": 0})
        url = self._app.report_url
        await asyncio.to_thread(self._promises.keep, _REPORT, "http", method="PUT", url=url, body=body)
        await self._app.set_report(block_ms, every_ms)

    async def stop_report(self) -> None:
        await asyncio.to_thread(self._promises.fulfil, _REPORT)

    async def held(self) -> int:
        return await self._app.held()

    async def hold(self, connections: int) -> None:
        body = json.dumps({"connections": 0})
        await asyncio.to_thread(
            self._promises.keep, _HELD, "http", method="PUT", url=self._app.held_url, body=body
        )
        await self._app.hold(connections)

    async def let_go(self) -> None:
        await asyncio.to_thread(self._promises.fulfil, _HELD)

    # the way from proxy to database
    async def detours(self) -> int:
        return await asyncio.to_thread(self._relays.alive)

    async def set_detour(self, delay_ms: float) -> None:
        layout, ends = self._layout, self._ends
        devices = (layout.host_relay, layout.db_relay)
        args = (layout.netns, ends.proxy, ends.database, *devices, f"{delay_ms:g}")
        await asyncio.to_thread(self._relays.start, [self._tree.launcher(layout.probe)], args)

    async def end_detour(self) -> None:
        await asyncio.to_thread(self._relays.stop)

    async def handshake_ms(self) -> float:
        return (
            await asyncio.to_thread(probes.fresh_connect, self._ends.database, self._ends.port)
        ).connect_ms

    # all of it; the quotas are among the saboteur's
    async def snapshot(self) -> dict[str, str]:
        return {
            "burners": str(await self.burners()),
            "lock holders": str(await self.lock_holders()),
            "statement delay": f"{await self.statement_delay_ms():g} ms",
            "detours": str(await self.detours()),
            "held connections": str(await self.held()),
            "report": "{} of {} ms".format(*await self.report()),
        }


_NEIGHBOURS = "neighbours' cgroups"
_REPORT = "app's report"
_HELD = "app's held connections"


def _quota(place: str) -> str:
    return "app's cpu quota" if place == "app" else f"{place}: cpu quota"
