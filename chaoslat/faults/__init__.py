"""The faults, in one tuple. One fault is one file; `base.py` says how to add the next."""

from __future__ import annotations

import difflib
from importlib.metadata import entry_points

from chaoslat.errors import UsageError
from chaoslat.faults import (
    cgroup_leak,
    connection_leak,
    cpu_limit,
    cpu_neighbour,
    database_cpu,
    event_loop_block,
    harmless_throttling,
    l3_delay,
    load_spike,
    network_latency,
    parent_quota,
    pool_size,
    slow_statement,
    table_lock,
)
from chaoslat.faults.base import Fault

__all__ = ["FAULTS", "Fault", "catalogue", "get"]

FAULTS: tuple[Fault, ...] = (
    cpu_limit.FAULT,
    pool_size.FAULT,
    network_latency.FAULT,
    cgroup_leak.FAULT,
    database_cpu.FAULT,
    slow_statement.FAULT,
    table_lock.FAULT,
    parent_quota.FAULT,
    harmless_throttling.FAULT,
    cpu_neighbour.FAULT,
    event_loop_block.FAULT,
    load_spike.FAULT,
    connection_leak.FAULT,
    l3_delay.FAULT,
)


def catalogue() -> dict[str, Fault]:
    """Name -> fault: ours, and those that entry points `chaoslat.faults` offer."""
    theirs = (entry.load() for entry in entry_points(group="chaoslat.faults"))
    return {fault.name: fault for fault in (*FAULTS, *theirs)}


def get(name: str) -> Fault:
    """The fault of that name. Raises UsageError with the names that exist."""
    known = catalogue()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise UsageError(f"no fault is called {name!r}", fix=f"{hint}known: {', '.join(sorted(known))}")
