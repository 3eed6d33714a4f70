"""The run's own MySQL: started in its namespace and cgroup, and given the memory limit that a pod has."""

from __future__ import annotations

import pymysql

from chaoslat import paths
from chaoslat.backends.local.layout import Layout
from chaoslat.backends.local.parts import Children, NotYet, Part, wait_for
from chaoslat.cgroup.base import CgroupTree
from chaoslat.parts.mysql import Mysql
from chaoslat.parts.mysql_seed import APP, DATABASE, PROBE, Account, config
from chaoslat.probes.mysql import MysqlSession

PORT = 3306  # in a namespace of its own it is always free
START_S = 30.0
SCAN_S = 180.0
HEADROOM_BYTES = 24 * 1024**2  # connections, sort buffers, kernel memory that grow with use
PAGE_CACHE_BYTES = 80 * 1024**2
"""What is left for page cache: about a quarter of the table, so that cold rows go through reclaim."""

_SCAN = f"SELECT SUM(LENGTH(note)) FROM {DATABASE}.orders"
# Off by default; without it SUM_CPU_TIME of every digest is 0.
_STATEMENT_CPU = "--loose-performance-schema-consumer-events-statements-cpu=ON"


def start(children: Children, tree: CgroupTree, layout: Layout, address: str) -> Part:
    """Start the server on its copy of the seed, listening on `address`. Raises ChaoslatError."""
    server = Mysql(paths.cache_root()).server()
    command = server.command(
        config=config(),
        datadir=layout.db_data,
        socket=layout.db_socket,
        port=PORT,
        bind=address,
        extra=[_STATEMENT_CPU],
    )
    argv = [*tree.launcher(layout.mysqld), *layout.netns_argv, *command]
    return children.start("mysqld", argv, layout.log("mysqld"), {}, layout.folder)


def wait_until_ready(part: Part, layout: Layout) -> None:
    """Until both accounts can log in. Raises `SystemLost`.

    The first login of an account after a start needs TLS or the socket; the server remembers it for later ones.
    """
    for account in (APP, PROBE):
        wait_for(part, f"login of {account.user}", lambda account=account: _log_in(layout, account), START_S)  # type: ignore[misc]


def _log_in(layout: Layout, account: Account) -> None:
    try:
        pymysql.connect(
            unix_socket=str(layout.db_socket), user=account.user, password=account.password, connect_timeout=5
        ).close()
    except pymysql.OperationalError as error:
        raise NotYet(str(error)) from error


def scan(session: MysqlSession) -> None:
    """Read every row once: fills buffer pool and page cache. Not one of the app's statements."""
    session.rows(_SCAN, deadline_s=SCAN_S)


def limit_memory(tree: CgroupTree, layout: Layout) -> int:
    """Limit the database's pod to what the server uses now plus `PAGE_CACHE_BYTES` of page cache; in bytes.

    Call it after a scan, when the buffer pool is filled. The kernel drops the cache that is over the limit.
    """
    reading = tree.memory(layout.db)
    limit_bytes = reading.usage_bytes - reading.cache_bytes + HEADROOM_BYTES + PAGE_CACHE_BYTES
    tree.set_memory_limit(layout.db, limit_bytes)
    return limit_bytes
