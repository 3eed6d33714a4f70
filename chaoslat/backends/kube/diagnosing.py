"""A diagnosis of somebody's workload: permissions first, then what may be seen, then what may be changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from chaoslat.backends.base import Progress
from chaoslat.backends.kube import lift, workload
from chaoslat.backends.kube.lift import PodCpu
from chaoslat.backends.kube.login import Login, enter
from chaoslat.backends.kube.operator import NO_ADMIN, NOT_ALLOWED, KubeOperator, Sources
from chaoslat.backends.kube.target import Target
from chaoslat.backends.local.app import App
from chaoslat.backends.local.promises import Promises
from chaoslat.backends.pods.beside import Beside, Later
from chaoslat.backends.pods.crosscheck import crosscheck
from chaoslat.errors import NotHere
from chaoslat.kube import access, qos
from chaoslat.kube.access import Mode
from chaoslat.kube.client import KubeClient
from chaoslat.kube.remedy import remedies
from chaoslat.ledger import Ledger
from chaoslat.ledger.undo import undo
from chaoslat.load.config import LoadConfig
from chaoslat.load.process import LoadProcess

WARM_S = 12.0
"""Load before the diagnosis: the first step looks back at the symptom."""


class Patient:
    """The workload under diagnosis. Made by `open_patient`."""

    def __init__(self, target: Target, login: Login, kube: KubeClient, cpus: tuple[PodCpu, ...]) -> None:
        self.target, self.login, self._kube, self._cpus = target, login, kube, cpus
        self.places = tuple(cpu.place for cpu in cpus)

    def plan(self) -> list[str]:
        """The interventions that the ladder could make, and those that are not here, a line each."""
        lines: list[str] = []
        try:
            lines += lift.plan(self._cpus)
        except NotHere as error:
            lines.append(f"not here: CPU limit: {error.what}")
        if self.target.admin:
            where = f"{self.target.base(self.target.admin)}/admin/pool"
            lines.append(f"enlarge the pool while blocks compare: PUT {where}, and put it back")
        else:
            lines.append(f"not here: pool size: {NO_ADMIN}")
        lines.append("not here: emptying memory cgroups and removing volumes: that takes the node")
        return lines

    def remedies(self) -> list[str]:
        """What could be done for good about a CPU limit, with what it does to QoS class and reservation."""
        found: list[str] = []
        for cpu in self._cpus:
            place, pod = cpu.place, cpu.resources()
            limit = pod.containers[place.container].limits.get(qos.CPU)
            if limit is not None:
                found += [
                    f"{place.path}: {way.sentence}" for way in remedies(pod, place.container, 2 * limit)
                ]
        return found

    def crosscheck(self) -> list[str]:
        """What the kubelets say of the same cgroups, a line a container; nothing unless the node may be asked."""
        if not self.target.allow_node:
            return []
        return [crosscheck(self._kube, cpu) for cpu in self._cpus]

    def obstacles(self) -> dict[str, str]:
        """Interventions that cannot be made -> why."""
        if not self.target.allow:
            return {"set_cpu_quota": NOT_ALLOWED, "set_pool_size": NOT_ALLOWED}
        found = {} if self.target.admin else {"set_pool_size": NO_ADMIN}
        try:
            lift.plan(self._cpus)
        except NotHere as error:
            found["set_cpu_quota"] = error.what
        return found

    @asynccontextmanager
    async def operator(
        self, promises: Promises, seed: int, folder: Path, progress: Progress
    ) -> AsyncIterator[KubeOperator]:
        """The operator, with requests under way; interventions are undone at the end. Raises ChaoslatError."""
        sources = await asyncio.to_thread(self._sources, progress)
        obstacles = await asyncio.to_thread(self.obstacles)
        parts = self.target.where()
        config = LoadConfig(parts.hostname or "", parts.port or 80, self.target.load(), seed)
        progress(f"asking {self.target.url} {self.target.rate_rps:g} times a second")
        async with await LoadProcess.start(config, (folder / "latencies.bin").absolute()) as load:
            made = KubeOperator(self._cpus, sources, promises, lambda: load.log, obstacles)
            try:
                await asyncio.sleep(WARM_S)
                yield made
            finally:
                progress("undoing the runbook's interventions")
                try:
                    await asyncio.shield(made.undo_interventions())
                finally:
                    await asyncio.to_thread(made.close)

    def close(self) -> None:
        self._kube.close()

    def _sources(self, progress: Progress) -> Sources:
        target, database = self.target, self.target.database_address()
        app = App(target.base(target.metrics), target.base(target.admin))
        tools = target.tools
        if database is None or tools is None:
            return Sources(app)
        first = self.places[0]
        progress(f"debug container beside {first.path}; it stays in the pod until that is replaced")
        beside = Later(lambda: Beside(self._kube, first, database, tools), stop=True)
        beside.get()  # what is wrong with it is told before the load begins
        return Sources(app, beside, target.schema)


def modes(target: Target) -> tuple[Mode, ...]:
    """What has to be allowed."""
    debug = (Mode.DEBUG,) if target.tools_image and target.database else ()
    intervene = (Mode.INTERVENE,) if target.allow else ()
    return (Mode.READ, *debug, *intervene, *((Mode.NODE,) if target.allow_node else ()))


def open_patient(target: Target, ledger: Ledger, progress: Progress) -> Patient:
    """Log in, ask for permissions, find the pods. Raises ChaoslatError; nothing was changed then."""
    target.check()
    login = enter(ledger.folder, target.context, target.kubeconfig)
    kube = login.client(target.namespace)
    try:
        progress("asking the cluster what is allowed")
        access.check(kube, modes(target))
        places = workload.find(kube, target.workload, target.container)
        progress(f"looking at {', '.join(place.path for place in places)}")
        promises = promises_of(ledger)
        return Patient(target, login, kube, tuple(PodCpu(kube, login, p, promises) for p in places))
    except BaseException:
        kube.close()
        raise


def promises_of(ledger: Ledger) -> Promises:
    return Promises(ledger, "operator", undo)
