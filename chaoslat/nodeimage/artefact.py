"""One thing that is built and cached: a folder whose name carries a hash of all that it is made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from chaoslat.parts.base import Progress
from chaoslat.parts.store import build_once, keep_newest, key

WAIT_S = 3600.0
"""How long to wait for another process that builds the same: a cold build of Kubernetes on busy cores."""

KEPT = 2
"""How many versions of an artefact stay in the cache: this one, and the one of the branch before."""

Made = dict[str, Path]
"""Where the artefacts that this one needs are, by their names."""
Build = Callable[[Path, Made, Progress], None]
Report = Callable[[str, str], None]
"""(name of the artefact, what happens)."""


@dataclass(frozen=True, slots=True)
class Artefact:
    """`inputs` is the key of its own inputs; `needs` are built first, and their keys go into its own.

    `build(scratch, made, progress)` fills the folder `scratch`, which then becomes the artefact, or fails.
    """

    name: str
    inputs: str
    build: Build
    needs: tuple[Artefact, ...] = field(default=())

    @property
    def key(self) -> str:
        return key(self.name, self.inputs, *(need.key for need in self.needs))

    def folder(self, store: Path) -> Path:
        """Where it is, once it is built."""
        return store / f"{self.name}-{self.key}"

    def ready(self, store: Path) -> bool:
        return self.folder(store).is_dir()


def make(artefact: Artefact, store: Path, report: Report) -> Path:
    """Build it and what it needs, unless it is there; its folder.

    Two processes build it once. Raises what the build raises, and Busy when another one takes over an hour.
    """
    if not artefact.ready(store):
        made = {need.name: make(need, store, report) for need in artefact.needs}

        def progress(message: str) -> None:
            report(artefact.name, message)

        build_once(
            artefact.folder(store), lambda into: artefact.build(into, made, progress), progress, wait_s=WAIT_S
        )
        keep_newest(store, f"{artefact.name}-*", KEPT)
    return artefact.folder(store)


def all_of(artefacts: tuple[Artefact, ...]) -> Iterator[Artefact]:
    """Every artefact and what it needs, each once, needs first."""
    seen: dict[str, Artefact] = {}
    for artefact in artefacts:
        for one in (*all_of(artefact.needs), artefact):
            seen.setdefault(one.key, one)
    yield from seen.values()
