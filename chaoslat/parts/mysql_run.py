"""Make an empty database, and run a server alone to fill it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chaoslat.parts.mysql_process import Administrator, private_command, serving
from chaoslat.parts.mysql_server import MysqlServer
from chaoslat.parts.run import run

# For the fill only. Memory is plenty at that time, and a seed that is cut off is thrown away.
_FAST = (
    "--innodb-buffer-pool-size=256M",
    "--innodb-flush-log-at-trx-commit=0",
    "--skip-networking",
    "--loose-cte-max-recursion-depth=1000000",
    "--loose-max-recursive-iterations=1000000",
)
_BIG_LOG = {"mysql": "--innodb-redo-log-capacity=256M", "mariadb": "--innodb-log-file-size=256M"}
_SMALL_LOG = {"mysql": "SET GLOBAL innodb_redo_log_capacity = 16777216"}
_SYSTEM_TABLES = ("mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql")


def initialise(server: MysqlServer, config: Path, datadir: Path) -> None:
    """Make an empty database in the empty directory. Raises EnvironmentMissing with the server's words."""
    command = private_command(server, config, datadir, datadir / "unused.sock")
    if server.flavour == "mysql":
        run([*command, "--initialize-insecure"])
    else:
        run([*command, "--bootstrap"], stdin=_system_tables(server.share))


@contextmanager
def filling(server: MysqlServer, config: Path, datadir: Path) -> Iterator[Administrator]:
    """The server, quick rather than safe, until the block ends; then it shuts down cleanly.

    It listens on a socket in a private folder only. Raises EnvironmentMissing when it does not start or stop.
    """
    with tempfile.TemporaryDirectory(prefix="chaoslat-seed-") as private:
        socket = Path(private) / "s"
        extra = (*_FAST, _BIG_LOG[server.flavour])
        command = private_command(server, config, datadir, socket, extra=extra)
        with serving(command, socket, Path(private) / "log") as admin:
            yield admin
            if server.flavour in _SMALL_LOG:
                admin.execute(_SMALL_LOG[server.flavour])


def _system_tables(share: Path) -> str:
    scripts = [(share / name).read_text() for name in _SYSTEM_TABLES if (share / name).exists()]
    preamble = (
        "CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\nSET @skip_auth_anonymous = 1;\n"
    )
    return preamble + "\n".join(scripts)
