"""A session that locks a table in turns: `lock_holder.py SOCKET TABLE HELD_S FREE_S`.

Starts when it reads a line, ends without one. The server frees the lock when the process dies.
No default database: it must not count among the app's statements.
"""

from __future__ import annotations

import sys
import time

import pymysql


def hold(socket: str, table: str, held_s: float, free_s: float) -> None:
    """Never returns."""
    connection = pymysql.connect(unix_socket=socket, user="root")
    print("ready", flush=True)
    with connection.cursor() as cursor:
        while True:
            cursor.execute(f"LOCK TABLES {table} WRITE")
            time.sleep(held_s)
            cursor.execute("UNLOCK TABLES")
            time.sleep(free_s)


if __name__ == "__main__" and sys.stdin.readline():
    hold(sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))
