"""The kind backend: a cluster of the run's own on this machine, fenced, removed with the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaoslat.backends.base import Progress
from chaoslat.backends.local import state
from chaoslat.backends.local.making import ledger_of, make, need_root
from chaoslat.backends.local.parts import Children
from chaoslat.cgroup import detect
from chaoslat.ledger import Ledger

if TYPE_CHECKING:  # the kubernetes client costs half a second
    from chaoslat.backends.kind.system import KindSystem


class KindBackend:
    """Implements `chaoslat.backends.base.Backend`."""

    name = "kind"

    async def create(self, run_id: str, progress: Progress) -> KindSystem:
        """Make cluster and system; what a failure or a cancellation leaves behind is removed before it raises.

        Uses the run's ledger if there is one, else makes it. Raises EnvironmentMissing when this machine cannot.
        """
        from chaoslat.backends.kind.building import KindBuilder
        from chaoslat.backends.kind.system import KindSystem

        need_root(self.name, "it runs a container engine and fences its network")
        builder = KindBuilder(ledger_of(run_id), detect(), Children(), progress)
        return await make(builder, KindSystem)

    def attach(self, run_id: str) -> KindSystem:
        """The system of a run that another process made and keeps. Raises UsageError when there is none."""
        from chaoslat.backends.kind.state import KindState
        from chaoslat.backends.kind.system import KindSystem

        need_root(self.name, "its nodes are looked at from this machine")
        return KindSystem(state.load(run_id, KindState), detect(), Ledger.open(run_id), Children())
