"""What a part is: something real that the local backend starts, and how it is found and installed.

To add a part: write one file with a class that has `name`, `find` and `install`, and add it to `PARTS` in
`chaoslat/parts/__init__.py`. `install` builds with `store.build_once`, so that a killed install leaves
nothing that looks finished.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from chaoslat.errors import EnvironmentMissing

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Found:
    """A part that is here: `path` is what to run or read."""

    name: str
    path: Path
    version: str


@dataclass(frozen=True, slots=True)
class Missing:
    """A part that is not here: why, and the command that fixes it."""

    name: str
    why: str
    fix: str

    def error(self) -> EnvironmentMissing:
        """The same as an error that a caller can raise."""
        return EnvironmentMissing(f"{self.name} is missing", why=self.why, fix=self.fix)


class Part(Protocol):
    """Finds and installs one part below a cache root given at construction."""

    @property
    def name(self) -> str:
        """Unique among the parts; used on the command line."""

    def find(self) -> Found | Missing:
        """Look, in well under a second, without network and without changing anything."""

    def install(self, progress: Progress) -> Found:
        """Make it be here; does nothing when it is. Raises ChaoslatError when it cannot be."""


def install_command(name: str) -> str:
    """The command that installs one part."""
    return f"make setup (or: .venv/bin/python -m chaoslat.parts install {name})"


def need(found: Found | Missing) -> Found:
    """The found part; raises EnvironmentMissing when it is missing."""
    if isinstance(found, Missing):
        raise found.error()
    return found
