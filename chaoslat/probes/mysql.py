"""One persistent connection of the on-call engineer to the database; opened again when it was lost."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pymysql

from chaoslat.errors import SystemLost

CONNECT_DEADLINE_S = 5.0
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class MysqlAddress:
    """Where to log in, and as whom. No default database: probes do not count among the app's statements."""

    host: str
    port: int
    user: str
    password: str


class MysqlSession:
    """Runs statements one at a time, from any thread."""

    def __init__(self, address: MysqlAddress) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._connection: pymysql.Connection | None = None

    def rows(self, sql: str, args: Sequence[object] = (), deadline_s: float = 10.0) -> list[Row]:
        """The rows of one statement. Tried again once on a new connection.

        Raises `SystemLost` when the database does not answer, and pymysql's ProgrammingError or
        OperationalError for a statement that it refuses.
        """
        with self._lock:
            try:
                try:
                    return self._run(sql, args, deadline_s)
                except (pymysql.InterfaceError, pymysql.OperationalError, OSError) as error:
                    _raise_if_refused(error)
                    self._drop()
                    return self._run(sql, args, deadline_s)
            except (pymysql.InterfaceError, pymysql.OperationalError, OSError) as error:
                _raise_if_refused(error)
                self._drop()
                raise self._lost(error) from error

    def close(self) -> None:
        """Drop the connection; the next statement opens one."""
        with self._lock:
            self._drop()

    def _run(self, sql: str, args: Sequence[object], deadline_s: float) -> list[Row]:
        connection = self._connection = self._connection or self._connect()
        _set_deadline(connection, deadline_s)
        with connection.cursor() as cursor:
            cursor.execute(sql, args or None)
            return list(cursor.fetchall())

    def _connect(self) -> pymysql.Connection:
        at = self._address
        return pymysql.connect(
            host=at.host,
            port=at.port,
            user=at.user,
            password=at.password,
            connect_timeout=int(CONNECT_DEADLINE_S),
            autocommit=True,
        )

    def _drop(self) -> None:
        if self._connection is not None:
            with suppress(Exception):
                self._connection.close()
        self._connection = None

    def _lost(self, error: Exception) -> SystemLost:
        where = f"{self._address.host}:{self._address.port} as {self._address.user}"
        return SystemLost("The database does not answer", where=where, why=str(error))


def _set_deadline(connection: pymysql.Connection, deadline_s: float) -> None:
    # PyMySQL takes it only at connect; it is what the next read waits at most.
    connection._read_timeout = deadline_s  # type: ignore[attr-defined]


def _raise_if_refused(error: Exception) -> None:
    """Errors from 1000 to 1999 are the server's answer; from 2000 on they mean that there is none."""
    code = error.args[0] if error.args else None
    if (
        isinstance(code, int) and 1000 <= code < 2000 and code not in (1053, 1040)
    ):  # shutdown, too many connections
        raise error
