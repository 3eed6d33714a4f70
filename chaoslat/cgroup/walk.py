"""Paths of cgroups, and the directories below one."""

from __future__ import annotations

import os
from pathlib import Path


def normal(path: str) -> str:
    """Without slashes at its ends; the top is "/"."""
    return path.strip("/") or "/"


def ancestors(path: str) -> tuple[str, ...]:
    """The path itself first, then every cgroup above it, the top last."""
    parts = [part for part in path.split("/") if part]
    return (*("/".join(parts[:length]) for length in range(len(parts), 0, -1)), "/")


def count_directories(directory: Path) -> int:
    """How many cgroups there are from this one down, itself included. One that goes meanwhile may or may not count."""
    return sum(1 for _ in os.walk(directory))
