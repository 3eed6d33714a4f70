"""From a builder to a system at rest: what a failure or a cancellation leaves behind is removed before it raises."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from chaoslat.backends.local import state
from chaoslat.backends.local.builder import Builder, Cancelled, S
from chaoslat.backends.local.parts import Children
from chaoslat.backends.local.system import LocalSystem
from chaoslat.backends.local.undoing import undo_run
from chaoslat.cgroup.base import CgroupTree
from chaoslat.errors import EnvironmentMissing, UsageError
from chaoslat.ledger import Ledger

Made = TypeVar("Made", bound=LocalSystem)


async def make(builder: Builder[S], system: Callable[[S, CgroupTree, Ledger, Children], Made]) -> Made:
    """The system that `system` makes of what the builder built, with its settings at rest remembered."""
    try:
        return await _at_rest(await _in_thread(builder), builder, system)
    except BaseException:
        await asyncio.shield(asyncio.to_thread(undo_run, builder.ledger, builder.children))
        raise


async def _in_thread(builder: Builder[S]) -> S:
    """Build in a thread. A cancellation waits until the thread has stopped: only then can all of it be undone."""
    building = asyncio.ensure_future(asyncio.to_thread(builder.build))
    try:
        return await asyncio.shield(building)
    except asyncio.CancelledError:
        builder.cancel()
        with suppress(Cancelled, Exception):
            await building
        raise


async def _at_rest(
    made: S, builder: Builder[S], system: Callable[[S, CgroupTree, Ledger, Children], Made]
) -> Made:
    fresh = system(made, builder.tree, builder.ledger, builder.children)
    rested = made.with_rest(await fresh.saboteur.snapshot())
    await fresh.close()
    state.save(rested)
    return system(rested, builder.tree, builder.ledger, builder.children)


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
