"""`chaoslat list` and `chaoslat schema`: what there is, and what an experiment file may hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chaoslat.capabilities import CAPABILITIES
from chaoslat.cli import app as frame
from chaoslat.cli import exits
from chaoslat.cli.output import print_result
from chaoslat.errors import ExperimentError
from chaoslat.experiment import load, named


@frame.command(frame.app, "list")
def list_all(as_json: frame.Json = False) -> int:
    """Show the experiments, faults, runbooks, steps, backends and capabilities that there are."""
    data = inventory()
    text = "\n\n".join(_section(title, rows) for title, rows in data.items())
    print_result(data, text, as_json=as_json)
    return exits.AS_EXPECTED


@frame.command(frame.app, "schema")
def schema(as_json: frame.Json = False) -> int:
    """Print the JSON schema of experiment files, for editors (with or without --json)."""
    from chaoslat.experiment_schema import experiment_schema

    print(json.dumps(experiment_schema(), indent=2), flush=True)
    return exits.AS_EXPECTED


def inventory() -> dict[str, list[dict[str, Any]]]:
    """Everything that has a name, by kind."""
    from chaoslat import backends, faults, runbooks

    return {
        "experiments": [_experiment(name, path) for name, path in named().items()],
        "faults": [
            {"name": f.name, "cause": f.cause, "parameters": list(f.params.model_fields), "doc": f.doc}
            for f in faults.catalogue().values()
        ],
        "runbooks": [_runbook(name) for name in runbooks.names()],
        "steps": [
            {"name": s.name, "cause": s.cause or "-", "hypothesis": s.hypothesis}
            for s in runbooks.catalogue().values()
        ],
        "backends": [{"name": name} for name in backends.catalogue()],
        "capabilities": [{"name": name, "doc": found.doc} for name, found in CAPABILITIES.items()],
    }


def _experiment(name: str, path: Path) -> dict[str, Any]:
    try:
        found = load(path)
    except ExperimentError as error:
        return {"name": name, "path": str(path), "problem": str(error)}
    faults = [injection.fault for injection in found.faults]
    return {"name": name, "path": str(path), "faults": faults, "expect": found.expect_label}


def _runbook(name: str) -> dict[str, Any]:
    from chaoslat import runbooks

    found = runbooks.load(name)
    steps = [planned.step.name for planned in found.steps]
    return {"name": name, "steps": steps, "description": found.description}


def _section(title: str, rows: list[dict[str, Any]]) -> str:
    width = max((len(row["name"]) for row in rows), default=0)
    return "\n".join([title, *(f"  {row['name']:{width}}  {_about(row)}".rstrip() for row in rows)])


def _about(row: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in row.items() if key not in ("name", "path")}
    shown = {key: ", ".join(value) if isinstance(value, list) else str(value) for key, value in rest.items()}
    return "; ".join(f"{key} {' '.join(value.split())}" for key, value in shown.items() if value)
