"""What an experiment is: a workload, an SLO, faults, a runbook, and the causes that the runbook should find.

Written as a YAML file; `load` reads one and `experiment_file.py` checks it. An experiment is a frozen value
that a trial takes; reading one injects nothing.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaoslat.errors import EnvironmentMissing, ExperimentError
from chaoslat.load.schedule import Shape, Workload
from chaoslat.model import NONE, Cause

DEFAULT_SLO_MS = 30.0
DEFAULT_RUNBOOK = "ladder"
DEFAULT_FOLDER = "experiments"
SUFFIXES = (".yaml", ".yml")
SYMPTOMS: Mapping[str, str] = {
    "classic": "P95 within the SLO and P99 over it",
    "broken": "P99 over the SLO",
    "none": "P99 within the SLO",
}
CAUSES: tuple[Cause, ...] = (
    "cpu-throttling",
    "pool-wait",
    "network-path",
    "database",
    "node-memory-cgroups",
    "app-event-loop",
    "node-cpu-contention",
    "load",
)
"""Causes that a runbook of ours may conclude; the causes of installed faults are allowed as well."""

ROWS = 300_000
HOT_ROWS = 4_000
DEFAULT_WORKLOAD = Workload(
    rate_rps=60.0,
    shapes=(
        Shape("hot", 76, "/query?id={hot}"),
        Shape("any", 20, "/query?id={any}"),
        Shape("report", 4, "/query?id={hot}&related=10"),
    ),
    rows=ROWS,
    hot_rows=HOT_ROWS,
)
"""60 requests/s: most read a hot row, a fifth any row (they keep the page cache turning over), and 4 % ten random
rows, one after another: what slows a round trip or a cold read hits those first, and P95 stays fine."""


@dataclass(frozen=True, slots=True)
class Injection:
    """A fault to inject. `params` were checked against the fault; empty: the fault calibrates itself."""

    fault: str
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment. `expect` is empty when the runbook should find nothing."""

    name: str
    expect: tuple[Cause, ...]
    faults: tuple[Injection, ...] = ()
    description: str = ""
    slo_ms: float = DEFAULT_SLO_MS
    workload: Workload = DEFAULT_WORKLOAD
    symptom: str = "classic"  # one of SYMPTOMS
    runbook: str = DEFAULT_RUNBOOK
    needs: tuple[str, ...] = ()
    busy_connections: float | None = None  # not None: the rate is set so that so many connections are busy
    path: str = ""

    @property
    def expect_label(self) -> str:
        """`cpu-throttling + pool-wait`, or `none`."""
        return " + ".join(self.expect) or NONE


def load(path: Path | str) -> Experiment:
    """The experiment in a file. Raises ExperimentError that names file, line and key of all that is wrong."""
    from chaoslat.experiment_file import read

    return read(Path(path))


def resolve(name_or_path: str, folder: Path | None = None) -> Path:
    """The file of an experiment that is given as a path or as a name (`cpu-limit`, `decoys/harmless-leak`).

    A name is looked for in `folder` (default: ./experiments), then among those that chaoslat brings along.
    Raises ExperimentError with the names that exist.
    """
    if name_or_path.endswith(SUFFIXES) or Path(name_or_path).exists():
        return Path(name_or_path)
    known = named(folder)
    if name_or_path in known:
        return known[name_or_path]
    near = difflib.get_close_matches(name_or_path, known, n=1)
    raise ExperimentError(
        f"There is no experiment {name_or_path!r}",
        where=str(folder or DEFAULT_FOLDER),
        why=f"known: {', '.join(known) or 'none'}",
        fix=f"did you mean {near[0]}?" if near else "`chaoslat list` shows them; a file is given by its path",
    )


def named(folder: Path | None = None) -> dict[str, Path]:
    """Name -> file of the experiments in `folder` (default: ./experiments), and of those brought along."""
    folders = [folder or Path(DEFAULT_FOLDER), *_own_folder()]
    found: dict[str, Path] = {}
    for base in folders:
        for path in sorted(p for p in base.rglob("*") if p.suffix in SUFFIXES and p.is_file()):
            found.setdefault(path.relative_to(base).with_suffix("").as_posix(), path)
    return found


def _own_folder() -> list[Path]:
    from chaoslat.paths import repo_root

    try:
        return [repo_root() / DEFAULT_FOLDER]
    except EnvironmentMissing:
        return []
