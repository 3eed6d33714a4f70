"""Statement statistics of the database by digest: how often each ran, and how long the server took."""

from __future__ import annotations

import pymysql

from chaoslat.model import StatementStats
from chaoslat.probes.mysql import MysqlSession, Row

_UNKNOWN_COLUMN = 1054
_SQL = """
SELECT DIGEST_TEXT, COUNT_STAR, SUM_TIMER_WAIT / 1e9, SUM_LOCK_TIME / 1e9, {cpu} / 1e9, SUM_ERRORS
FROM performance_schema.events_statements_summary_by_digest WHERE SCHEMA_NAME <=> %s"""


def statements(session: MysqlSession, schema: str | None) -> tuple[StatementStats, ...]:
    """Cumulative statistics of all statements whose default database is `schema` (None: none).

    Take the difference of two readings. The server's time holds row locks, stalls of the server and a slow
    reader of the result, too. CPU time needs MySQL >= 8.0.28 and the consumer events_statements_cpu, else it
    is 0. By hand: select from performance_schema.events_statements_summary_by_digest. Raises `SystemLost`.
    """
    return tuple(_stats(row) for row in _rows(session, schema))


def _rows(session: MysqlSession, schema: str | None) -> list[Row]:
    try:
        return session.rows(_SQL.format(cpu="SUM_CPU_TIME"), (schema,))
    except pymysql.OperationalError as error:
        if error.args[0] != _UNKNOWN_COLUMN:  # MariaDB does not have it
            raise
        return session.rows(_SQL.format(cpu="0"), (schema,))


def _stats(row: Row) -> StatementStats:
    text, count, wait_ms, lock_ms, cpu_ms, errors = row
    return StatementStats(text or "", int(count), float(wait_ms), float(lock_ms), float(cpu_ms), int(errors))
