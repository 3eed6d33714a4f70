"""Where something runs on a cluster."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A container of the pod `name`."""

    name: str
    container: str

    @property
    def path(self) -> str:
        """What its cgroup goes by: the real path cannot be seen from inside."""
        return f"{self.name}/{self.container}"
