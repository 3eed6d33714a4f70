"""A server process that lives for one block of code, and dies with us whatever happens."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql

from chaoslat.errors import EnvironmentMissing
from chaoslat.parts.mysql_server import MysqlServer, run_as

START_S = 60.0
STOP_S = 120.0
_PR_SET_PDEATHSIG = 1


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


def private_command(
    server: MysqlServer,
    config: Path,
    datadir: Path,
    listen: Path,
    *,
    port: int = 0,
    extra: Sequence[str] = (),
) -> list[str]:
    """The command of a server for our own use.

    As root it stays root: the cache may be in a home that only root can enter, and a process that changes its user
    no longer dies with its parent.
    """
    user = "root" if os.geteuid() == 0 else run_as()
    return server.command(config=config, datadir=datadir, socket=listen, port=port, user=user, extra=extra)


@contextmanager
def serving(command: Sequence[str], listen: Path, log: Path) -> Iterator[Administrator]:
    """Run the command until the block ends, then shut it down cleanly; when the block fails, kill it.

    Raises EnvironmentMissing, with the end of its log, when it does not start or does not stop.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, preexec_fn=_die_with_parent
        )
    try:
        with _login(listen, process, log) as connection:
            yield Administrator(connection)
        _shut_down(process, log)
    finally:
        process.kill()
        process.wait()


def _login(path: Path, process: subprocess.Popen[bytes], log: Path) -> pymysql.Connection[Any]:
    deadline_s = time.monotonic() + START_S
    while time.monotonic() < deadline_s and process.poll() is None:
        if _accepts(path):
            return pymysql.connect(unix_socket=str(path), user="root", autocommit=True)
        time.sleep(0.02)
    raise _failure("The database server did not start", process, log)


def _accepts(path: Path) -> bool:
    # Asked with a socket of our own: PyMySQL leaves one open when it cannot connect.
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


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
