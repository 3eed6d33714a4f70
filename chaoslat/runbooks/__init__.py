"""Runbooks are data: ordered steps by name. The steps are listed here; `base.py` says how to add the next."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

from chaoslat.errors import UsageError
from chaoslat.runbooks import (
    app_event_loop,
    classic,
    command,
    cpu_limit,
    database,
    load_rise,
    memory_cgroups,
    network_path,
    node_cpu_contention,
    pool_wait,
    symptom,
)
from chaoslat.runbooks.base import Case, Step, StepDef, StepParams
from chaoslat.runbooks.engine import Runbook, diagnose
from chaoslat.runbooks.loading import read

__all__ = [
    "STEPS",
    "Case",
    "Runbook",
    "Step",
    "StepDef",
    "StepParams",
    "catalogue",
    "diagnose",
    "load",
    "names",
]

STEPS: tuple[Step, ...] = (
    symptom.STEP,
    cpu_limit.STEP,
    pool_wait.STEP,
    network_path.STEP,
    memory_cgroups.STEP,
    node_cpu_contention.STEP,
    app_event_loop.STEP,
    load_rise.STEP,
    database.STEP,
    classic.CPU,
    classic.POOL,
    classic.SRTT,
    command.STEP,
)
DATA = Path(__file__).parent / "data"


def catalogue() -> dict[str, Step]:
    """Name -> step: ours, and those that entry points `chaoslat.steps` offer."""
    theirs = (entry.load() for entry in entry_points(group="chaoslat.steps"))
    return {step.name: step for step in (*STEPS, *theirs)}


def names() -> tuple[str, ...]:
    """The runbooks that come with chaoslat."""
    return tuple(sorted(path.stem for path in DATA.glob("*.yaml")))


def load(name_or_path: str) -> Runbook:
    """`ladder`, `classic`, or a path to a file. Raises UsageError and ExperimentError."""
    if name_or_path in names():
        return read(DATA / f"{name_or_path}.yaml", catalogue())
    path = Path(name_or_path)
    if path.suffix in (".yaml", ".yml") or path.exists():
        return read(path, catalogue())
    raise UsageError(
        f"no runbook is called {name_or_path!r}", fix=f"known: {', '.join(names())}, or a path to a file"
    )
