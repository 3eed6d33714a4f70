"""All that can be built, by name, and where it is kept."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from chaoslat import paths
from chaoslat.errors import EnvironmentMissing, UsageError
from chaoslat.nodeimage.artefact import Artefact, Report, make
from chaoslat.nodeimage.go_programs import KIND, KUBEALL
from chaoslat.nodeimage.images import ARCHIVE, PREFIX, reference
from chaoslat.nodeimage.node import node
from chaoslat.nodeimage.workloads import app, mysql, tools, toxiproxy

BUILD = "make node-image (or: .venv/bin/python -m chaoslat.nodeimage build)"


def store(cache: Path | None = None) -> Path:
    """The folder with every artefact."""
    return (cache or paths.cache_root()) / "node-image"


def catalogue() -> dict[str, Artefact]:
    """What a cluster takes: kind, the node image, and the images that run on it.

    Raises EnvironmentMissing without a checkout.
    """
    artefacts = (KIND.artefact(), KUBEALL.artefact(), node(), app(), mysql(), toxiproxy(), tools())
    return {artefact.name.removeprefix(PREFIX): artefact for artefact in artefacts}


def build(names: Iterable[str], report: Report, cache: Path | None = None) -> dict[str, Path]:
    """Build what is missing of `names` (all, if none); the folders. Raises UsageError for an unknown name."""
    known = catalogue()
    wanted = list(names) or list(known)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise UsageError(f"There is no image called {', '.join(unknown)}", fix=f"one of: {', '.join(known)}")
    return {name: make(known[name], store(cache), report) for name in wanted}


def program(name: str, cache: Path | None = None) -> Path:
    """The program `kind` or `kubeall`. Raises EnvironmentMissing when it is not built."""
    return _ready(name, cache) / name


def image(name: str, cache: Path | None = None) -> tuple[str, Path]:
    """An image's name and its compressed archive. Raises EnvironmentMissing when it is not built."""
    folder = _ready(name, cache)
    return reference(catalogue()[name]), folder / ARCHIVE


def _ready(name: str, cache: Path | None) -> Path:
    artefact = catalogue()[name]
    if not artefact.ready(store(cache)):
        raise EnvironmentMissing(
            f"{artefact.name} is not built", where=str(artefact.folder(store(cache))), fix=BUILD
        )
    return artefact.folder(store(cache))
