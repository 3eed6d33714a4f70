"""The local backend: real processes, cgroups and a network namespace on this machine; no container engine.

It is the one to read before writing another: `create` makes a system, `LocalSystem` is one, and `tests/contract`
runs over every backend. Add yours to the tuple in `chaoslat/backends/__init__.py`, or offer it as an entry point
`chaoslat.backends`.
"""

from __future__ import annotations

from chaoslat.backends.base import Progress
from chaoslat.backends.local import state
from chaoslat.backends.local.building import LocalBuilder
from chaoslat.backends.local.making import ledger_of, make, need_root
from chaoslat.backends.local.parts import Children
from chaoslat.backends.local.system import LocalSystem
from chaoslat.cgroup import detect
from chaoslat.ledger import Ledger

_WHY_ROOT = "it makes cgroups, a network namespace and a tmpfs mount"


class LocalBackend:
    """Implements `chaoslat.backends.base.Backend`."""

    name = "local"

    async def create(self, run_id: str, progress: Progress) -> LocalSystem:
        """Make a system; what a failure or a cancellation leaves behind is removed before it raises.

        Uses the run's ledger if there is one, else makes it. Raises EnvironmentMissing when this machine cannot.
        """
        need_root(self.name, _WHY_ROOT)
        builder = LocalBuilder(ledger_of(run_id), detect(), Children(), progress)
        return await make(builder, LocalSystem)

    def attach(self, run_id: str) -> LocalSystem:
        """The system of a run that another process made and keeps. Raises UsageError when there is none."""
        need_root(self.name, _WHY_ROOT)
        return LocalSystem(state.load(run_id, state.State), detect(), Ledger.open(run_id), Children())
