"""The demo application: started in its cgroup, and asked and changed over HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from chaoslat import paths
from chaoslat.backends.local.layout import Layout
from chaoslat.backends.local.parts import Children, NotYet, Part, wait_for
from chaoslat.cgroup.base import CgroupTree
from chaoslat.errors import SystemLost
from chaoslat.model import AppMetrics, PoolState
from chaoslat.parts.mysql_seed import APP, DATABASE, ROWS
from chaoslat.probes import pool as pool_probe
from chaoslat.probes.app_metrics import app_metrics
from chaoslat.probes.http import ask
from chaoslat.probes.pool import parse as parse_pool

POOL_SIZE = 10
HOT_ROWS = 4_000  # with the 50 rows of each request's window well within the buffer pool
START_S = 20.0
HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Ports:
    """Where the app listens, on loopback: for its users, and for operators."""

    port: int
    admin_port: int


def start(children: Children, tree: CgroupTree, layout: Layout, node: Path, db_port: int) -> Part:
    """Start the app against the database address 127.0.0.1:`db_port`. Raises ChaoslatError."""
    main = paths.fixtures() / "node-app" / "src" / "main.js"
    env = {
        "HOST": HOST,
        "PORT": "0",
        "ADMIN_PORT": "0",
        "DB_HOST": HOST,
        "DB_PORT": str(db_port),
        "DB_USER": APP.user,
        "DB_PASSWORD": APP.password,
        "DB_NAME": DATABASE,
        "POOL_SIZE": str(POOL_SIZE),
        "ROWS": str(ROWS),
        "HOT_ROWS": str(HOT_ROWS),
        "NODE_ENV": "production",
    }
    argv = [*tree.launcher(layout.app), str(node), str(main)]
    return children.start("app", argv, layout.log("app"), env, layout.folder)


def wait_until_ready(part: Part) -> Ports:
    """The ports that the app prints when it is ready. Raises `SystemLost`."""
    return wait_for(part, "its ready line", lambda: _ready(Path(part.log)), START_S)


def _ready(log: Path) -> Ports:
    for line in log.read_text(errors="replace").splitlines():
        if line.startswith("{"):
            ready = json.loads(line)
            return Ports(int(ready["port"]), int(ready["admin_port"]))
    raise NotYet("it has not printed its ports")


@dataclass(frozen=True, slots=True)
class App:
    """Asks the running app. A connection per call: nothing to keep open, and none that a restart could break."""

    url: str
    admin_url: str

    async def pool(self) -> PoolState:
        async with _session() as session:
            return await pool_probe(session, self.admin_url)

    async def metrics(self) -> AppMetrics:
        async with _session() as session:
            return await app_metrics(session, self.url)

    async def resize(self, size: int) -> PoolState:
        """Set the pool's maximum; the state that the app reads back. Raises `SystemLost` when that differs."""
        where = f"{self.admin_url}/admin/pool"
        async with _session() as session:
            state = parse_pool(await ask(session, "PUT", where, json={"max": size}), where)
        if state.max != size:
            raise SystemLost(f"The pool's maximum reads {state.max} after {size} was set", where=where)
        return state

    async def report(self) -> tuple[int, int]:
        """(block_ms, every_ms) of the report that it renders; zeros when it renders none. Raises `SystemLost`."""
        async with _session() as session:
            return _parse_report(await ask(session, "GET", self.report_url), self.report_url)

    async def set_report(self, block_ms: int, every_ms: int) -> None:
        """Raises `SystemLost` when the app reads back something else."""
        body = {"block_ms": block_ms, "every_ms": every_ms}
        async with _session() as session:
            got = _parse_report(await ask(session, "PUT", self.report_url, json=body), self.report_url)
        if got != (block_ms, every_ms):
            raise SystemLost(f"The app's report reads {got} after {body} was set", where=self.report_url)

    async def held(self) -> int:
        """Connections that a part of it holds and does not give back. Raises `SystemLost`."""
        async with _session() as session:
            return _parse_held(await ask(session, "GET", self.held_url), self.held_url)

    async def hold(self, connections: int) -> None:
        """Raises `SystemLost` when the app holds another number."""
        body = {"connections": connections}
        async with _session() as session:
            got = _parse_held(await ask(session, "PUT", self.held_url, json=body), self.held_url)
        if got != connections:
            raise SystemLost(f"The app holds {got} connections after {body} was set", where=self.held_url)

    @property
    def held_url(self) -> str:
        return f"{self.admin_url}/admin/held"

    @property
    def report_url(self) -> str:
        return f"{self.admin_url}/admin/report"

    async def unhealthy(self) -> str:
        """Why /healthz is not well; "" when it is."""
        try:
            async with _session() as session:
                await ask(session, "GET", f"{self.url}/healthz")
        except SystemLost as error:
            return str(error)
        return ""


def _parse_report(text: str, where: str) -> tuple[int, int]:
    try:
        state = json.loads(text)
        return int(state["block_ms"]), int(state["every_ms"])
    except (ValueError, TypeError, KeyError) as error:
        raise SystemLost("The app's report is no JSON of block_ms and every_ms", where=where) from error


def _parse_held(text: str, where: str) -> int:
    try:
        return int(json.loads(text)["connections"])
    except (ValueError, TypeError, KeyError) as error:
        raise SystemLost("The app's held connections are no JSON of connections", where=where) from error


@asynccontextmanager
async def _session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session:
        yield session
