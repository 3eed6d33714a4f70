"""The memory limit of the database's pod: measured as on the local backend, set by in-place resize."""

from __future__ import annotations

from chaoslat.backends.kind.reach import DEADLINE_S, PAUSE_S
from chaoslat.backends.kind.state import KindLayout
from chaoslat.backends.local import database, memory
from chaoslat.backends.local.parts import NotYet, Part
from chaoslat.cgroup.base import CgroupTree
from chaoslat.errors import SystemLost
from chaoslat.kube.client import KubeClient
from chaoslat.kube.resize import resize
from chaoslat.ledger.owner import start_ticks
from chaoslat.parts.mysql_seed import PROBE
from chaoslat.probes.mysql import MysqlAddress, MysqlSession
from chaoslat.waiting import retrying

RECLAIM_S = 10.0
CONTAINER = "mysql"


def fill_and_limit(kube: KubeClient, tree: CgroupTree, layout: KindLayout, pod: str, port: int) -> int:
    """Fill the caches, measure, limit the pod, and fill them again. Returns what a leaked cgroup charges, in bytes.

    The kubelet does not set a limit below what is in use, page cache included; so that is dropped in between.
    """
    server = Part("mysqld", layout.database_pid, start_ticks(layout.database_pid) or -1, "")
    database.wait_until_ready(server, layout)
    session = MysqlSession(MysqlAddress("127.0.0.1", port, PROBE.user, PROBE.password))
    try:
        retrying(SystemLost, DEADLINE_S, PAUSE_S)(session.rows, "SELECT 1")
        database.scan(session)
        cost_bytes = memory.cgroup_cost_bytes(tree, layout)
        limit_bytes = memory.choose_limit_bytes(tree.memory(layout.db), cost_bytes)
        tree.reclaim(layout.db, RECLAIM_S)
        _limit(kube, tree, layout, pod, limit_bytes)
        database.scan(session)
    finally:
        session.close()
    return cost_bytes


def _limit(kube: KubeClient, tree: CgroupTree, layout: KindLayout, pod: str, limit_bytes: int) -> None:
    resize(kube, pod, CONTAINER, memory=str(limit_bytes))
    try:
        retrying(NotYet, DEADLINE_S, PAUSE_S)(_limited, tree, layout, limit_bytes)
    except NotYet as last:
        raise SystemLost(
            "The memory limit was not resized in place", where=layout.db, why=str(last)
        ) from last


def _limited(tree: CgroupTree, layout: KindLayout, limit_bytes: int) -> None:
    """The kernel rounds down to pages."""
    now = tree.memory(layout.db)
    if now.limit_bytes is None or now.limit_bytes > limit_bytes:
        raise NotYet(f"limit {now.limit_bytes}, wanted {limit_bytes}, in use {now.usage_bytes}")
