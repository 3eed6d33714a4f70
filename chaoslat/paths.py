"""Where the project's files and its cache are."""

from __future__ import annotations

import os
from pathlib import Path

from chaoslat.errors import EnvironmentMissing


def repo_root() -> Path:
    """The checkout that this package runs from. Raises EnvironmentMissing when there is none."""
    root = Path(__file__).resolve().parent.parent
    if not (root / "fixtures").is_dir():
        raise EnvironmentMissing(
            "The demo application and the database's seed are not here",
            where=str(root / "fixtures"),
            why="chaoslat runs its local backend from a checkout, and this is not one",
            fix="clone the repository and run `make setup` in it",
        )
    return root


def fixtures() -> Path:
    """The folder with the parts that the project brings along. Raises EnvironmentMissing without one."""
    return repo_root() / "fixtures"


def cache_root() -> Path:
    """Where installed parts are kept: $CHAOSLAT_CACHE, else ~/.cache/chaoslat. It may not exist yet."""
    named = os.environ.get("CHAOSLAT_CACHE")
    return Path(named).expanduser().absolute() if named else Path.home() / ".cache" / "chaoslat"
