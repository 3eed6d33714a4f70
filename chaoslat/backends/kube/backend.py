"""The kube backend: a system of ours in a namespace of a cluster that exists. Needs no root here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chaoslat.backends.base import Progress
from chaoslat.backends.local import state
from chaoslat.backends.local.making import ledger_of, make
from chaoslat.backends.local.parts import Children
from chaoslat.ledger import Ledger

if TYPE_CHECKING:  # the kubernetes client costs half a second
    from chaoslat.backends.kube.settings import Settings
    from chaoslat.backends.kube.system import KubeSystem


class KubeBackend:
    """Implements `chaoslat.backends.base.Backend`. `settings` None: those of the environment, when they are needed."""

    name = "kube"

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = settings

    @property
    def settings(self) -> Settings:
        from chaoslat.backends.kube.settings import Settings

        return self._settings or Settings.of()

    def at(self, context: str, namespace: str) -> KubeBackend:
        """The same on another cluster or in another namespace; empty: as it is."""
        now = self.settings
        return KubeBackend(replace(now, context=context or now.context, namespace=namespace or now.namespace))

    async def create(self, run_id: str, progress: Progress) -> KubeSystem:
        """Make a system; what a failure or a cancellation leaves behind is removed before it raises.

        Uses the run's ledger if there is one, else makes it. Raises EnvironmentMissing with what is not allowed,
        UsageError for a namespace that is not ours.
        """
        from chaoslat.backends.kube.building import KubeBuilder
        from chaoslat.backends.kube.no_cgroups import NO_CGROUPS
        from chaoslat.backends.kube.system import KubeSystem

        builder = KubeBuilder(ledger_of(run_id), NO_CGROUPS, Children(), progress, settings=self.settings)
        return await make(builder, KubeSystem)

    def attach(self, run_id: str) -> KubeSystem:
        """The system of a run that another process made and keeps. Raises UsageError when there is none."""
        from chaoslat.backends.kube.no_cgroups import NO_CGROUPS
        from chaoslat.backends.kube.state import KubeState
        from chaoslat.backends.kube.system import KubeSystem

        return KubeSystem(state.load(run_id, KubeState), NO_CGROUPS, Ledger.open(run_id), Children())
