"""A session that locks a table in turns: `lock_holder.py SOCKET DATABASE TABLE HELD_S FREE_S`.

Starts when it reads a line, ends without one. The server frees the lock when the process dies.
"""

from __future__ import annotations

import sys
import time

import pymysql


def hold(socket: str, database: str, table: str, held_s: float, free_s: float) -> None:
    """Never returns."""
    connection = pymysql.connect(unix_socket=socket, user="root", database=database)
    print("ready", flush=True)
    with connection.cursor() as cursor:
        while True:
            cursor.execute(f"LOCK TABLES {table} WRITE")
            time.sleep(held_s)
            cursor.execute("UNLOCK TABLES")
            time.sleep(free_s)


if __name__ == "__main__" and sys.stdin.readline():
    hold(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]), float(sys.argv[5]))
