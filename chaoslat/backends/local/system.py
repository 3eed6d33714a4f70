"""One running local system: its operator, its saboteur, its load, its health and its end."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from chaoslat.backends.base import Operator, SystemInfo
from chaoslat.backends.local import health, state
from chaoslat.backends.local.app import HOST
from chaoslat.backends.local.operator import LocalOperator
from chaoslat.backends.local.parts import Children, Part
from chaoslat.backends.local.promises import Promises
from chaoslat.backends.local.saboteur import LocalSaboteur
from chaoslat.backends.local.state import State
from chaoslat.backends.local.undoing import undo_run
from chaoslat.cgroup.base import CgroupTree
from chaoslat.errors import ChaoslatError
from chaoslat.ledger import Ledger
from chaoslat.ledger.owner import start_ticks
from chaoslat.ledger.undo import undo
from chaoslat.load.config import LoadConfig
from chaoslat.load.log import LatencyLog
from chaoslat.load.process import LoadProcess
from chaoslat.load.schedule import Workload
from chaoslat.model import Cause
from chaoslat.probes.mysql import MysqlSession


class LocalSystem:
    """Implements `chaoslat.backends.base.System`, in the process that made the system or in one that attached."""

    def __init__(self, made: State, tree: CgroupTree, ledger: Ledger, children: Children) -> None:
        self._state, self._tree, self._ledger, self._children = made, tree, ledger, children
        self._session = MysqlSession(made.database)
        self._load: LoadProcess | None = None
        self._log: LatencyLog | None = None
        self._operator = self._make_operator(Promises(ledger, "operator", undo))
        self._saboteur = self._make_saboteur(Promises(ledger, "saboteur", undo))

    def _make_operator(self, promises: Promises) -> Operator:
        return LocalOperator(self._state, self._tree, self._session, promises, lambda: self.log)

    def _make_saboteur(self, promises: Promises) -> LocalSaboteur:
        return LocalSaboteur(self._state, self._tree, self._session, promises)

    def _now(self) -> state.State:
        """The state as it is on disk: another process may have started a load."""
        return state.load(self._state.run_id, type(self._state))

    @property
    def info(self) -> SystemInfo:
        return self._state.info()

    @property
    def operator(self) -> Operator:
        return self._operator

    @property
    def saboteur(self) -> LocalSaboteur:
        return self._saboteur

    # load
    @property
    def log(self) -> LatencyLog:
        """The log of the load that runs, or ran last. Raises ChaoslatError when there was none."""
        path = self._now().log
        if not path:
            raise ChaoslatError(
                "No load was started", where=f"run {self._state.run_id}", fix="start a load first"
            )
        if self._log is None or str(self._log.path) != path:
            self._log = LatencyLog(Path(path))
        return self._log

    async def start_load(self, workload: Workload, seed: int, out: Path) -> None:
        await self.stop_load()
        config = LoadConfig(HOST, self._state.ports["app"], workload, seed)
        self._load = await LoadProcess.start(config, out.absolute(), self._launcher())
        pid = self._load.pid
        self._remember_load(Part("load", pid, start_ticks(pid) or -1, ""), str(out.absolute()))

    def _launcher(self) -> list[str]:
        """What puts the load generator in its cgroup."""
        return self._tree.launcher(self._state.layout.load)

    async def set_rate(self, rate_rps: float) -> None:
        if self._load is None:
            raise ChaoslatError(
                "There is no load whose rate could be changed", where=f"run {self._state.run_id}"
            )
        await self._load.set_rate(rate_rps)

    async def stop_load(self) -> None:
        if self._load is not None:
            load, self._load = self._load, None
            self._remember_load(None, self._state.log)
            await load.stop()

    def _remember_load(self, load: Part | None, log: str) -> None:
        self._state = self._state.with_load(load, log)
        state.save(self._state)

    # health and end
    async def check(self) -> tuple[str, ...]:
        return await health.check(self._now(), self._saboteur)

    async def lost(self) -> tuple[str, ...]:
        return health.lost(self._now())

    async def advice(self, causes: tuple[Cause, ...]) -> tuple[str, ...]:
        """Nothing beyond what the runbook says: the limits here are of our own making."""
        return ()

    async def close(self) -> None:
        """Drop what this process holds open, and leave the system as it is: the end of an attached one."""
        await asyncio.to_thread(self._session.close)

    async def destroy(self) -> None:
        with suppress(ChaoslatError):  # a load that has died is no reason to leave the rest standing
            await self.stop_load()
        await self.close()
        await asyncio.to_thread(undo_run, self._ledger, self._children)
