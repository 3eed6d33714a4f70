"""What is known of a running system, as one JSON file, so that another process can attach to it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeVar

from chaoslat.backends.base import SystemInfo
from chaoslat.backends.local.app import HOST, App
from chaoslat.backends.local.layout import Layout
from chaoslat.backends.local.parts import Part
from chaoslat.errors import UsageError
from chaoslat.ledger import run_folder
from chaoslat.parts.mysql_seed import PROBE
from chaoslat.probes.mysql import MysqlAddress

_FILE = "system.json"


@dataclass(frozen=True, slots=True)
class State:
    """A system as it was made. `ports`: app, admin, proxy, toxiproxy, mysql. `log`: of the load, "" when none ran.

    `cgroup_cost_bytes`: what one leaked memory cgroup charges to the database's pod.
    """

    run_id: str
    folder: str
    parts: tuple[Part, ...]
    ports: dict[str, int]
    host_address: str
    db_address: str
    versions: dict[str, str]
    cgroup_cost_bytes: int
    at_rest: dict[str, str]
    load: Part | None = None
    log: str = ""

    @property
    def backend(self) -> str:
        return "local"

    @property
    def layout(self) -> Layout:
        return Layout(self.run_id, Path(self.folder))

    @property
    def app(self) -> App:
        return App(f"http://{HOST}:{self.ports['app']}", f"http://{HOST}:{self.ports['admin']}")

    @property
    def database(self) -> MysqlAddress:
        """Past the proxy, over the veth link."""
        return MysqlAddress(self.db_address, self.ports["mysql"], PROBE.user, PROBE.password)

    def part(self, name: str) -> Part:
        return next(part for part in self.parts if part.name == name)

    def with_rest(self, at_rest: dict[str, str]) -> Self:
        return replace(self, at_rest=at_rest)

    def with_load(self, load: Part | None, log: str) -> Self:
        return replace(self, load=load, log=log)

    def info(self) -> SystemInfo:
        """The same for a reader: pids, cgroups, ports, namespaces, versions."""
        layout = self.layout
        running = (*self.parts, *([self.load] if self.load else []))
        return SystemInfo(
            run_id=self.run_id,
            backend=self.backend,
            folder=self.folder,
            url=self.app.url,
            pids={part.name: part.pid for part in running},
            cgroups={
                "app": layout.app,
                "proxy": layout.proxy,
                "db": layout.db,
                "mysqld": layout.mysqld,
                "load": layout.load,
                "probe": layout.probe,
            },
            ports=dict(self.ports),
            namespaces={"app": "host", "proxy": "host", "db": layout.netns},
            versions=dict(self.versions),
        )


def save(state: State) -> None:
    """Write it into the run's folder, whole or not at all."""
    folder = run_folder(state.run_id)
    fresh = folder / f"{_FILE}.fresh"
    fresh.write_text(json.dumps(asdict(state)) + "\n")
    fresh.replace(folder / _FILE)


S = TypeVar("S", bound=State)


def load(run_id: str, kind: type[S]) -> S:
    """Read it. Raises UsageError when the run has no system, or not one of that kind."""
    path = run_folder(run_id) / _FILE
    try:
        return _from_json(json.loads(path.read_text()), kind)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"Run {run_id} has no system to attach to", where=str(path), why=str(error), fix="chaoslat status"
        ) from error


def _from_json(data: dict[str, Any], kind: type[S]) -> S:
    parts = tuple(Part(**part) for part in data["parts"])
    load_part = Part(**data["load"]) if data["load"] else None
    return kind(**{**data, "parts": parts, "load": load_part})
