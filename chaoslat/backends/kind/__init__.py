"""The real cluster: the same system as pods on a kind cluster that the run makes and removes."""

from chaoslat.backends.kind.backend import KindBackend

__all__ = ["KindBackend"]
