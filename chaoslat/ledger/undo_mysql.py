"""Undo of a change to the schema of a run's own database, through the server's socket."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pymysql

from chaoslat.ledger.ledger import Entry

DEADLINE_S = 20
_EXISTS = "SELECT 1 FROM information_schema.tables WHERE table_schema = %s AND table_name = %s"


def mysql(entry: Entry, path: str) -> None:
    """Run the entry's `steps`, pairs (database.table, statement), in order: each only while that table or view
    exists.

    Raises ValueError with the server's words when it refuses one, OSError when it does not answer.
    """
    if not _listens(path):
        return  # the server is gone, and its data with it
    try:
        connection = pymysql.connect(
            unix_socket=path, user="root", autocommit=True, connect_timeout=5, read_timeout=DEADLINE_S
        )
        with closing(connection), connection.cursor() as cursor:
            _run(cursor, entry.args["steps"])
    except pymysql.MySQLError as error:
        raise ValueError(str(error)) from error


def _listens(path: str) -> bool:
    """PyMySQL would leave its socket open where nobody does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knocking:
        knocking.settimeout(5.0)
        try:
            knocking.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            return False
    return True


def _run(cursor: Any, steps: Any) -> None:
    if not isinstance(steps, Sequence):
        raise TypeError("steps is not a list")
    for table, statement in steps:
        cursor.execute(_EXISTS, table.split("."))
        if cursor.fetchall():
            cursor.execute(statement)
