"""The local backend: real processes, cgroups and a network namespace on this machine; no container engine.

It is the one to read before writing another: `create` makes a system, `LocalSystem` is one, and `tests/contract`
runs over every backend. Add yours to the tuple in `chaoslat/backends/__init__.py`, or offer it as an entry point
`chaoslat.backends`.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import Protocol, TypeVar

from chaoslat.backends.base import Progress
from chaoslat.backends.local import state
from chaoslat.backends.local.building import Builder, Cancelled
from chaoslat.backends.local.parts import Children
from chaoslat.backends.local.system import LocalSystem
from chaoslat.backends.local.undoing import undo_run
from chaoslat.cgroup import detect
from chaoslat.errors import EnvironmentMissing, UsageError
from chaoslat.ledger import Ledger

S = TypeVar("S", covariant=True)
_WHY_ROOT = "it makes cgroups, a network namespace and a tmpfs mount"


class LocalBackend:
    """Implements `chaoslat.backends.base.Backend`."""

    name = "local"

    async def create(self, run_id: str, progress: Progress) -> LocalSystem:
        """Make a system; what a failure or a cancellation leaves behind is removed before it raises.

        Uses the run's ledger if there is one, else makes it. Raises EnvironmentMissing when this machine cannot.
        """
        need_root(self.name, _WHY_ROOT)
        ledger = ledger_of(run_id)
        builder = Builder(ledger, detect(), Children(), progress)
        try:
            made = await in_thread(builder)
            return await _at_rest(made, builder)
        except BaseException:
            await asyncio.shield(asyncio.to_thread(undo_run, ledger, builder.children))
            raise

    def attach(self, run_id: str) -> LocalSystem:
        """The system of a run that another process made and keeps. Raises UsageError when there is none."""
        need_root(self.name, _WHY_ROOT)
        return LocalSystem(state.load(run_id, state.State), detect(), Ledger.open(run_id), Children())


class Builds(Protocol[S]):
    """Makes a system's parts in the thread that calls `build`."""

    def build(self) -> S: ...
    def cancel(self) -> None: ...


async def in_thread(builder: Builds[S]) -> S:
    """Build in a thread. A cancellation waits until the thread has stopped: only then can all of it be undone."""
    building = asyncio.ensure_future(asyncio.to_thread(builder.build))
    try:
        return await asyncio.shield(building)
    except asyncio.CancelledError:
        builder.cancel()
        with suppress(Cancelled, Exception):
            await building
        raise


async def _at_rest(made: state.State, builder: Builder) -> LocalSystem:
    """The system, with its settings at rest remembered."""
    fresh = LocalSystem(made, builder.tree, builder.ledger, builder.children)
    rested = made.with_rest(await fresh.saboteur.snapshot())
    state.save(rested)
    return LocalSystem(rested, builder.tree, builder.ledger, builder.children)


def ledger_of(run_id: str) -> Ledger:
    """The run's ledger, made if there is none."""
    try:
        return Ledger.open(run_id)
    except UsageError:
        return Ledger.create(run_id)


def need_root(backend: str, why: str) -> None:
    """Raises EnvironmentMissing without root."""
    if os.geteuid() != 0:
        raise EnvironmentMissing(
            f"The {backend} backend needs root",
            why=why,
            fix="run it with sudo, or take another backend with --backend",
        )
