"""A runbook file: ordered steps by name, each with its parameters. Read with the line of every key.

Raises ExperimentError with FILE:LINE, the key, what was found and what is allowed.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from chaoslat.errors import ExperimentError
from chaoslat.runbooks.base import Step
from chaoslat.runbooks.engine import Planned, Runbook
from chaoslat.yaml_lines import BadFile, Unreadable, parse, read_text

API_VERSION = "chaoslat/v1"
KEYS = ("apiVersion", "kind", "name", "description", "closing_look", "steps")


def read(path: Path, steps: Mapping[str, Step]) -> Runbook:
    """The runbook in that file, with steps out of `steps`."""
    data = _parse(path)
    for key in data:
        if key not in KEYS:
            raise _error(path, data, key, f"unknown key {key!r}", KEYS)
    if data.get("kind") != "Runbook" or data.get("apiVersion") != API_VERSION:
        raise ExperimentError(
            "not a runbook", where=str(path), fix="it needs apiVersion: chaoslat/v1, kind: Runbook"
        )
    if not isinstance(data.get("steps"), list) or not data["steps"]:
        raise _error(path, data, "steps", "steps must be a list with at least one step", sorted(steps))
    planned = tuple(_plan(path, data["steps"], i, steps) for i in range(len(data["steps"])))
    return Runbook(
        str(data.get("name", path.stem)),
        str(data.get("description", "")).strip(),
        planned,
        bool(data.get("closing_look", True)),
    )


def _parse(path: Path) -> Any:
    text = read_text(path, "runbook")
    try:
        parse(
            text
        )  # refuses what no file of ours needs: depth, aliases, tags, escapes that are no characters
        data = YAML(typ="rt").load(text)
    except Unreadable as error:
        raise BadFile(str(path), [error.problem], kind="runbook") from error
    except (YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise ExperimentError(
            "the runbook is not YAML", where=str(path), why=" ".join(str(error).split())
        ) from error
    if not isinstance(data, dict):
        raise ExperimentError("the runbook is not a mapping", where=str(path))
    return data


def _plan(path: Path, items: Any, index: int, steps: Mapping[str, Step]) -> Planned:
    item = items[index]
    line = items.lc.item(index)[0] + 1
    name, values = next(iter(item.items())) if isinstance(item, dict) and len(item) == 1 else (item, {})
    if not isinstance(name, str) or name not in steps:
        near = difflib.get_close_matches(str(name), steps, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ExperimentError(
            f"unknown step {name!r}",
            where=f"{path}:{line}, steps",
            fix=f"{hint}known: {', '.join(sorted(steps))}",
        )
    return Planned(steps[name], _params(path, line, steps[name], values or {}))


def _params(path: Path, line: int, step: Step, values: Any) -> Any:
    try:
        given = dict(values) if isinstance(values, dict) else values
        return step.params.model_validate(given, context={"folder": path.parent})
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        allowed = ", ".join(step.params.model_fields) or "none"
        raise ExperimentError(
            f"step {step.name}: {key}: {first['msg']}",
            where=f"{path}:{line}, steps",
            fix=f"parameters of {step.name}: {allowed}",
        ) from error


def _error(path: Path, data: Any, key: str, what: str, allowed: Any) -> ExperimentError:
    line = data.lc.key(key)[0] + 1 if key in data else 1
    return ExperimentError(what, where=f"{path}:{line}, {key}", fix=f"allowed: {', '.join(allowed)}")
