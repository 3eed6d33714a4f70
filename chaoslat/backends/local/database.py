"""The run's own MySQL: started in its namespace and cgroup, and read until its caches are full."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pymysql

from chaoslat import paths
from chaoslat.backends.local.layout import Layout
from chaoslat.backends.local.parts import Children, NotYet, Part, wait_for
from chaoslat.cgroup.base import CgroupTree, MemoryReading
from chaoslat.parts.mysql import Mysql
from chaoslat.parts.mysql_seed import APP, DATABASE, PROBE, ROWS, Account, config
from chaoslat.probes.mysql import MysqlSession

PORT = 3306  # in a namespace of its own it is always free
START_S = 30.0
SCAN_S = 180.0
AT_LIMIT_BYTES = 512 * 1024
FILL_ROWS = 500  # about 600 KB
FILL_TRIES = 200
GOLDEN = 0.6180339887498949  # its multiples modulo 1 spread evenly over the table
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
        knock(layout.db_socket)
        pymysql.connect(
            unix_socket=str(layout.db_socket), user=account.user, password=account.password, connect_timeout=5
        ).close()
    except (OSError, pymysql.OperationalError) as error:
        raise NotYet(str(error)) from error


def knock(path: Path) -> None:
    """Raises OSError until somebody listens. PyMySQL would leave its socket open each time that nobody does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knocking:
        knocking.settimeout(5.0)
        knocking.connect(str(path))


def scan(session: MysqlSession) -> None:
    """Read every row once: fills buffer pool and page cache. Not one of the app's statements."""
    session.rows(_SCAN, deadline_s=SCAN_S)


def fill_up(session: MysqlSession, reading: Callable[[], MemoryReading]) -> None:
    """Read rows here and there until the pod is at its memory limit: a reclaim may have freed more than was needed."""
    for number in range(FILL_TRIES):
        now = reading()
        if now.limit_bytes is None or now.limit_bytes - now.usage_bytes < AT_LIMIT_BYTES:
            return
        first = 1 + int(number * GOLDEN % 1.0 * (ROWS - FILL_ROWS))
        session.rows(f"{_SCAN} WHERE id BETWEEN %s AND %s", (first, first + FILL_ROWS), SCAN_S)
