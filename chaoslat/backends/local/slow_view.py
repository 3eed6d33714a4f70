"""A slow statement: the app's table of customers becomes a view that makes the server wait, and a table again.

As when a migration puts a view with an expensive part in a table's place: the app's statement stays what it was, to
the letter, and so does its digest. Both ways are one atomic RENAME, so that no statement of the app fails.
"""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pymysql

from chaoslat.backends.local.database import knock
from chaoslat.backends.local.promises import Promises
from chaoslat.errors import SystemLost
from chaoslat.parts.mysql_seed import DATABASE

NAME = "customers"
TABLE, KEPT, COPY, VIEW = (f"{DATABASE}.{NAME}{more}" for more in ("", "_table", "_rows", "_view"))
# Qualified everywhere, and no default database: what is done here must not count among the app's statements.
DEADLINE_S = 20
_TARGET = "view in a table's place"
_BACK = (
    (KEPT, f"RENAME TABLE {TABLE} TO {VIEW}, {KEPT} TO {TABLE}"),
    (VIEW, f"DROP VIEW {VIEW}"),
    (COPY, f"DROP TABLE {COPY}"),
)
_SLEEP = re.compile(r"sleep\(([0-9.]+)\)", re.IGNORECASE)


class SlowView:
    """The schema of one run's database; `socket` is its administrator's way in."""

    def __init__(self, socket: Path, promises: Promises) -> None:
        self._socket, self._promises = socket, promises

    def delay_ms(self) -> float:
        """What the view waits, as the schema says; 0 where there is a table."""
        rows = self._run(
            "SELECT view_definition FROM information_schema.views WHERE table_schema = %s AND table_name = %s",
            (DATABASE, NAME),
        )
        found = _SLEEP.search(str(rows[0][0])) if rows else None
        return float(found[1]) * 1000 if found else 0.0

    def set(self, delay_ms: float, every: int = 1) -> None:
        """A view that waits `delay_ms`, in place of the table or of the view there; for one customer in `every`."""
        self.restore()
        steps = [list(pair) for pair in _BACK]
        self._promises.keep(_TARGET, "mysql", socket=str(self._socket), steps=steps)  # type: ignore[arg-type]
        self._run(f"CREATE TABLE {COPY} LIKE {TABLE}")
        self._run(f"INSERT INTO {COPY} SELECT * FROM {TABLE}")
        rows = _slow_rows(f"SLEEP({delay_ms / 1000:.4f})", every)
        self._run(f"CREATE SQL SECURITY INVOKER VIEW {VIEW} AS {rows}")
        self._run(f"RENAME TABLE {TABLE} TO {KEPT}, {VIEW} TO {TABLE}")

    def restore(self) -> None:
        self._promises.fulfil(_TARGET)

    def _run(self, sql: str, args: tuple[object, ...] | None = None) -> tuple[tuple[Any, ...], ...]:
        """The rows of one statement. Raises `SystemLost` when the server does not answer, or refuses it."""
        try:
            knock(self._socket)
            connection = pymysql.connect(
                unix_socket=str(self._socket),
                user="root",
                autocommit=True,
                connect_timeout=5,
                read_timeout=DEADLINE_S,
            )
            with closing(connection), connection.cursor() as cursor:
                cursor.execute(sql, args)
                return tuple(cursor.fetchall())
        except (OSError, pymysql.MySQLError) as error:
            raise SystemLost("The database does not do this", where=sql[:120], why=str(error)) from error


def _slow_rows(wait: str, every: int) -> str:
    """The rows of the copy, behind a wait; or a wait only for the rows of one customer in `every`."""
    if every == 1:
        return f"SELECT c.* FROM {COPY} c JOIN (SELECT {wait} AS s) AS waited"
    return f"SELECT c.* FROM {COPY} c WHERE MOD(c.id, {every}) <> 0 OR {wait} = 0"
