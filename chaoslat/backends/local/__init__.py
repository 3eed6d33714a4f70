"""The embedded default backend: real processes on this machine."""

from chaoslat.backends.local.backend import LocalBackend

__all__ = ["LocalBackend"]
