"""The kind backend: a cluster of the run's own on this machine, fenced, removed with the run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from chaoslat.backends.base import Progress
from chaoslat.backends.local import state
from chaoslat.backends.local.backend import in_thread, ledger_of, need_root
from chaoslat.backends.local.parts import Children
from chaoslat.backends.local.undoing import undo_run
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
        from chaoslat.backends.kind.building import Builder
        from chaoslat.backends.kind.system import KindSystem

        need_root(self.name, "it runs a container engine and fences its network")
        ledger = ledger_of(run_id)
        builder = Builder(ledger, detect(), Children(), progress)
        try:
            made = await in_thread(builder)
            fresh = KindSystem(made, builder.tree, ledger, builder.children)
            rested = made.with_rest(await fresh.saboteur.snapshot())
            state.save(rested)
            return KindSystem(rested, builder.tree, ledger, builder.children)
        except BaseException:
            await asyncio.shield(asyncio.to_thread(undo_run, ledger, builder.children))
            raise

    def attach(self, run_id: str) -> KindSystem:
        """The system of a run that another process made and keeps. Raises UsageError when there is none."""
        from chaoslat.backends.kind.state import KindState
        from chaoslat.backends.kind.system import KindSystem

        need_root(self.name, "its nodes are looked at from this machine")
        return KindSystem(state.load(run_id, KindState), detect(), Ledger.open(run_id), Children())
