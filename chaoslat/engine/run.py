"""The system's tools that the engine is made with: finding them, and running them to their end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from chaoslat.errors import EnvironmentMissing
from chaoslat.parts.iproute2 import tool
from chaoslat.parts.run import run

INSTALL = "sudo .venv/bin/python -m chaoslat.engine install"


def find(name: str) -> str:
    """The path of a tool, also where an ordinary PATH does not look. Raises EnvironmentMissing."""
    found = tool(name)
    if found is None:
        raise EnvironmentMissing(f"{name} is not installed", why="a cluster needs it", fix=INSTALL)
    return found


def run_tool(
    name: str,
    *args: str | Path,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    timeout_s: float = 20.0,
) -> str:
    """What the tool printed. Raises EnvironmentMissing when it is missing or fails."""
    return run([find(name), *args], stdin=stdin, env=env, timeout_s=timeout_s)
