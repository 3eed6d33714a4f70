"""Run a server for a moment, alone, to fill a data directory."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql

from chaoslat.errors import EnvironmentMissing
from chaoslat.parts.mysql_server import MysqlServer, run_as
from chaoslat.parts.run import run

START_S = 60.0
STOP_S = 120.0
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
_PR_SET_PDEATHSIG = 1
_SYSTEM_TABLES = ("mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql")


class Administrator:
    """A login as root through the server's socket."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, sql: str) -> tuple[tuple[Any, ...], ...]:
        """Rows of the answer; the change is committed. Raises EnvironmentMissing with the server's words."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(sql)
                return tuple(cursor.fetchall())
        except pymysql.MySQLError as error:
            raise EnvironmentMissing(
                "The database refused a statement", where=sql[:200], why=str(error)
            ) from error


def initialise(server: MysqlServer, config: Path, datadir: Path) -> None:
    """Make an empty database in the empty directory. Raises EnvironmentMissing with the server's words."""
    command = _command(server, config, datadir, datadir / "unused.sock")
    if server.flavour == "mysql":
        run([*command, "--initialize-insecure"])
    else:
        run([*command, "--bootstrap"], stdin=_system_tables(server.share))


@contextmanager
def running(server: MysqlServer, config: Path, datadir: Path) -> Iterator[Administrator]:
    """The server, quick rather than safe, until the block ends; then it shuts down cleanly.

    It listens on a socket in a private folder only, and dies with us. Raises EnvironmentMissing, with the end
    of its log, when it does not start or stop. When the block fails it is killed: the directory is of no use.
    """
    with tempfile.TemporaryDirectory(prefix="chaoslat-seed-") as private:
        socket, log = Path(private) / "s", Path(private) / "log"
        with log.open("wb") as output:
            command = _command(server, config, datadir, socket, *_FAST, _BIG_LOG[server.flavour])
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, preexec_fn=_die_with_parent
            )
        try:
            with _login(socket, process, log) as connection:
                admin = Administrator(connection)
                yield admin
                if server.flavour in _SMALL_LOG:
                    admin.execute(_SMALL_LOG[server.flavour])
            _shut_down(process, log)
        finally:
            process.kill()
            process.wait()


def _command(server: MysqlServer, config: Path, datadir: Path, socket: Path, *extra: str) -> list[str]:
    # As root, not as the unprivileged user: the cache may be in a home that only root can enter.
    user = "root" if os.geteuid() == 0 else run_as()
    return server.command(config=config, datadir=datadir, socket=socket, port=0, user=user, extra=extra)


def _system_tables(share: Path) -> str:
    scripts = [(share / name).read_text() for name in _SYSTEM_TABLES if (share / name).exists()]
    preamble = (
        "CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\nSET @skip_auth_anonymous = 1;\n"
    )
    return preamble + "\n".join(scripts)


def _login(socket: Path, process: subprocess.Popen[bytes], log: Path) -> pymysql.Connection[Any]:
    deadline_s = time.monotonic() + START_S
    while time.monotonic() < deadline_s and process.poll() is None:
        try:
            return pymysql.connect(unix_socket=str(socket), user="root", autocommit=True)
        except pymysql.OperationalError:
            time.sleep(0.05)
    raise _failure("The database server did not start", process, log)


def _shut_down(process: subprocess.Popen[bytes], log: Path) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        raise _failure("The database server did not shut down", process, log) from None
    if process.returncode != 0:
        raise _failure("The database server did not shut down cleanly", process, log)


def _failure(what: str, process: subprocess.Popen[bytes], log: Path) -> EnvironmentMissing:
    state = "still running" if process.poll() is None else f"exit code {process.returncode}"
    tail = "\n         ".join(log.read_text(errors="replace").splitlines()[-8:])
    return EnvironmentMissing(
        what, where=str(process.args)[:200], why=f"{state}; its log ends:\n         {tail}"
    )


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
