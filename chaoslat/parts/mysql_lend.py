"""Lend a private server with the shop in it to a test: `python -m chaoslat.parts with-mysql COMMAND...`."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from chaoslat.parts.base import need
from chaoslat.parts.disk import disk_folder
from chaoslat.parts.mysql import Mysql
from chaoslat.parts.mysql_process import Administrator, private_command, serving
from chaoslat.parts.mysql_seed import APP, CUSTOMERS, DATABASE, ROWS, MysqlSeed, config


@dataclass(frozen=True, slots=True)
class Lent:
    """Where the lent server listens: `host`:`port`, and the socket. `admin` is logged in as root."""

    host: str
    port: int
    socket: Path
    admin: Administrator

    def environment(self) -> dict[str, str]:
        """Variables that tell the app's tests where it is and how to log in."""
        return {
            "TEST_DB_HOST": self.host,
            "TEST_DB_PORT": str(self.port),
            "TEST_DB_USER": APP.user,
            "TEST_DB_PASSWORD": APP.password,
            "TEST_DB_NAME": DATABASE,
            "TEST_DB_ROWS": str(ROWS),
            "TEST_DB_CUSTOMERS": str(CUSTOMERS),
        }


@contextmanager
def lent(cache: Path) -> Iterator[Lent]:
    """A server on a copy of the seed, on a free port of 127.0.0.1, gone with its files when the block ends.

    Raises EnvironmentMissing when server or seed is not installed, or when it does not start.
    """
    need(MysqlSeed(cache).find())
    folder = Path(tempfile.mkdtemp(prefix="chaoslat-lent-", dir=disk_folder()))
    try:
        MysqlSeed(cache).copy(folder / "data")
        port, path = _free_port(), folder / "s"
        command = private_command(Mysql(cache).server(), config(), folder / "data", path, port=port)
        with serving(command, path, folder / "log") as admin:
            yield Lent("127.0.0.1", port, path, admin)
    finally:
        shutil.rmtree(folder)


def run_with_mysql(cache: Path, command: list[str]) -> int:
    """Run the command with `Lent.environment()`; its exit code, 128 + n when signal n ended it."""
    with lent(cache) as server:
        code = os.spawnvpe(os.P_WAIT, command[0], command, {**os.environ, **server.environment()})
    return code if code >= 0 else 128 - code


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
