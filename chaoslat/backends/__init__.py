"""The backends, in one tuple: where a system can run. `base.py` says how to add the next."""

from __future__ import annotations

import difflib
from importlib.metadata import entry_points

from chaoslat.backends.base import Backend
from chaoslat.backends.kind import KindBackend
from chaoslat.backends.kube import KubeBackend
from chaoslat.backends.local import LocalBackend
from chaoslat.errors import UsageError

__all__ = ["BACKENDS", "Backend", "catalogue", "get"]

BACKENDS: tuple[Backend, ...] = (LocalBackend(), KindBackend(), KubeBackend())


def catalogue() -> dict[str, Backend]:
    """Name -> backend: ours, and those that entry points `chaoslat.backends` offer (an object, or a class of one)."""
    theirs = (_made(entry.load()) for entry in entry_points(group="chaoslat.backends"))
    return {backend.name: backend for backend in (*BACKENDS, *theirs)}


def get(name: str) -> Backend:
    """The backend of that name. Raises UsageError with the names that exist."""
    known = catalogue()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise UsageError(f"no backend is called {name!r}", fix=f"{hint}known: {', '.join(sorted(known))}")


def _made(loaded: Backend | type[Backend]) -> Backend:
    return loaded() if isinstance(loaded, type) else loaded
