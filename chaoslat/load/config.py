"""What the generator's process is told: one JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from chaoslat.errors import ChaoslatError
from chaoslat.load.priority import WANTED
from chaoslat.load.schedule import Workload

ENGINES = ("uvloop", "asyncio")
TIMERS = ("timerfd", "loop")


@dataclass(frozen=True, slots=True)
class LoadConfig:
    """One run of the generator against `host`:`port`. Raises `ChaoslatError` where a value makes no sense.

    `duration_s` None: until it is told to stop. `priority`: the best scheduling to try for (`realtime`,
    `nice`, `normal`). `engine` and `timer` other than the defaults are there to measure what the defaults
    gain.
    """

    host: str
    port: int
    workload: Workload
    seed: int
    duration_s: float | None = None
    deadline_s: float = 10.0
    max_sockets: int = 1000
    priority: str = "realtime"
    engine: str = "uvloop"
    timer: str = "timerfd"

    def __post_init__(self) -> None:
        _check_one_of("priority", self.priority, WANTED)
        _check_one_of("engine", self.engine, ENGINES)
        _check_one_of("timer", self.timer, TIMERS)
        _check_positive("port", self.port)
        _check_positive("deadline_s", self.deadline_s)
        _check_positive("max_sockets", self.max_sockets)
        _check_positive("duration_s", 1 if self.duration_s is None else self.duration_s)

    @property
    def target(self) -> str:
        return f"{self.host}:{self.port}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"workload": self.workload.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LoadConfig:
        """The inverse of `to_json`. Raises `ChaoslatError` on missing, foreign or mistyped keys."""
        try:
            return cls(**{**data, "workload": Workload.from_json(data["workload"])})
        except (KeyError, TypeError) as error:
            raise ChaoslatError("not a load configuration", where="load", why=str(error)) from error


@dataclass(frozen=True, slots=True)
class LoadJob:
    """The whole file: the configuration and where the log goes."""

    config: LoadConfig
    log: Path

    def write(self, path: Path) -> None:
        path.write_text(json.dumps({"config": self.config.to_json(), "log": str(self.log)}, indent=1) + "\n")

    @classmethod
    def read(cls, path: Path) -> LoadJob:
        """Raises `ChaoslatError` when the file cannot be read or is not a job."""
        try:
            data = json.loads(path.read_text())
            return cls(LoadConfig.from_json(data["config"]), Path(data["log"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ChaoslatError("not a load job", where=str(path), why=str(error)) from error


def _check_one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ChaoslatError(
            f"{name} {value!r} is unknown", where="load", fix=f"use one of {', '.join(allowed)}"
        )


def _check_positive(name: str, value: float) -> None:
    if not 0 < value < float("inf"):
        raise ChaoslatError(f"{name} {value} is not a positive number", where="load")
