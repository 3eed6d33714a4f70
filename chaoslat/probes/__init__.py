"""The probes: read-only measurements that an on-call engineer could make. One file, one function, one probe.

Each docstring says what an engineer would type to get the same. A probe knows no backend: it gets what it
needs (a pid, a cgroup tree, an address, a session) by argument, returns a frozen value of `chaoslat.model`,
and raises `SystemLost` when the thing it asks does not answer.

To add the next one: write `chaoslat/probes/NAME.py` with one function, its value in `chaoslat/model.py`,
list it in `PROBES`, and give `Operator` (chaoslat/backends/base.py) a method that calls it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chaoslat.probes.app_metrics import app_metrics
from chaoslat.probes.db_process import db_process
from chaoslat.probes.fresh_connect import fresh_connect
from chaoslat.probes.memory_cgroups import memory_cgroups
from chaoslat.probes.node_cpu import node_cpu
from chaoslat.probes.noop import noop
from chaoslat.probes.pool import pool
from chaoslat.probes.reclaim import reclaim
from chaoslat.probes.sockets import sockets
from chaoslat.probes.statements import statements
from chaoslat.probes.throttling import throttling
from chaoslat.probes.volumes import volumes

PROBES: tuple[Callable[..., Any], ...] = (
    throttling,
    pool,
    app_metrics,
    sockets,
    fresh_connect,
    noop,
    statements,
    db_process,
    memory_cgroups,
    node_cpu,
    volumes,
    reclaim,
)
"""In the order in which a ladder asks them. `reclaim` is the one that changes something."""

__all__ = [
    "PROBES",
    "app_metrics",
    "db_process",
    "fresh_connect",
    "memory_cgroups",
    "node_cpu",
    "noop",
    "pool",
    "reclaim",
    "sockets",
    "statements",
    "throttling",
    "volumes",
]
