"""Undo of a change to the schema of a run's own database, through the server's socket."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pymysql

from chaoslat.ledger.ledger import Entry

NO_SERVER = (2002, 2003, 2006, 2013)  # gone, and its data with it
DEADLINE_S = 20


def mysql(entry: Entry, socket: str) -> None:
    """Run the entry's `steps`, pairs (table, statement), in order: each only while that table or view exists.

    Raises ValueError with the server's words when it refuses one.
    """
    try:
        connection = pymysql.connect(
            unix_socket=socket, user="root", autocommit=True, connect_timeout=5, read_timeout=DEADLINE_S
        )
    except pymysql.OperationalError as error:
        if error.args[0] in NO_SERVER:
            return
        raise ValueError(str(error)) from error
    try:
        with connection.cursor() as cursor:
            _run(cursor, str(entry.args["database"]), entry.args["steps"])
    except pymysql.MySQLError as error:
        raise ValueError(str(error)) from error
    finally:
        connection.close()


def _run(cursor: Any, database: str, steps: Any) -> None:
    if not isinstance(steps, Sequence):
        raise TypeError("steps is not a list")
    cursor.execute(f"USE {database}")
    for table, statement in steps:
        cursor.execute("SHOW TABLES LIKE %s", (table,))
        if cursor.fetchall():
            cursor.execute(statement)
