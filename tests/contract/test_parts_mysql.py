"""The real database server, run privately from a copy of the seed. Needs `make setup`, but no privileges."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from typing import Any

import pymysql
import pytest

from chaoslat import paths
from chaoslat.parts.base import Missing
from chaoslat.parts.mysql_lend import Lent, lent
from chaoslat.parts.mysql_seed import APP, CUSTOMERS, PROBE, ROWS, Account, MysqlSeed


@pytest.fixture(scope="module")
def server() -> Iterator[Lent]:
    """One server for the module; skipped with the reason where there is none."""
    found = MysqlSeed(paths.cache_root()).find()
    if isinstance(found, Missing):
        pytest.skip(f"{found.why}; {found.fix}")
    with lent(paths.cache_root()) as server:
        yield server


def login(server: Lent, account: Account, **how: Any) -> pymysql.Connection[Any]:
    return pymysql.connect(user=account.user, password=account.password, database="shop", **how)


def ask(server: Lent, account: Account, sql: str) -> tuple[tuple[Any, ...], ...]:
    """Over TCP. The first login of a user goes through the socket: without TLS the full handshake needs RSA."""
    login(server, account, unix_socket=str(server.socket)).close()
    with (
        login(server, account, host=server.host, port=server.port) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(sql)
        return tuple(cursor.fetchall())


def test_the_shop_is_whole(server: Lent) -> None:
    counted = ask(
        server, APP, "SELECT COUNT(*), MIN(id), MAX(id), MIN(customer_id), MAX(customer_id) FROM orders"
    )
    assert counted == ((ROWS, 1, ROWS, 1, CUSTOMERS),)
    assert ask(server, APP, "SELECT COUNT(*), MIN(id), MAX(id) FROM customers") == (
        (CUSTOMERS, 1, CUSTOMERS),
    )


def test_notes_are_long_and_differ(server: Lent) -> None:
    sql = "SELECT MIN(LENGTH(note)), MAX(LENGTH(note)), COUNT(DISTINCT note) FROM orders WHERE id <= 1000"
    ((shortest, longest, different),) = ask(server, APP, sql)
    assert 850 <= shortest <= longest <= 1000
    assert different == 1000


def test_the_app_cannot_write_nor_see_the_server(server: Lent) -> None:
    for sql in ("UPDATE orders SET status = 'x' WHERE id = 1", "DROP TABLE orders"):
        with pytest.raises(pymysql.OperationalError, match="denied"):
            ask(server, APP, sql)


def test_the_engineer_reads_the_statement_statistics(server: Lent) -> None:
    for order in (1, 2, 3):
        ask(server, APP, f"SELECT total_cents FROM orders WHERE id = {order}")
    sql = (
        "SELECT SUM(COUNT_STAR), SUM(SUM_TIMER_WAIT) > 0 FROM performance_schema.events_statements_summary_by_digest"
        " WHERE SCHEMA_NAME = 'shop' AND DIGEST_TEXT LIKE 'SELECT `total_cents` FROM `orders` WHERE %'"
    )
    assert ask(server, PROBE, sql) == ((3, 1),)


def test_a_short_range_of_orders_is_not_read_by_a_scan(server: Lent) -> None:
    plan = str(ask(server, APP, "EXPLAIN SELECT SUM(total_cents) FROM orders WHERE id BETWEEN 101 AND 150"))
    assert "range" in plan
    assert "PRIMARY" in plan


def test_the_buffer_pool_is_a_tenth_of_the_table(server: Lent) -> None:
    ((pool_bytes,),) = server.admin.execute("SELECT @@innodb_buffer_pool_size")
    ((table_bytes,),) = server.admin.execute(
        "SELECT data_length FROM information_schema.tables WHERE table_schema = 'shop' AND table_name = 'orders'"
    )
    assert pool_bytes == 32 << 20
    assert table_bytes > 8 * pool_bytes


def test_the_lent_server_leaves_nothing_behind() -> None:
    if isinstance(found := MysqlSeed(paths.cache_root()).find(), Missing):
        pytest.skip(f"{found.why}; {found.fix}")
    with lent(paths.cache_root()) as server:
        folder, environment = server.socket.parent, server.environment()
        assert environment["TEST_DB_PORT"] == str(server.port)
        assert (folder / "data").is_dir()
    assert not folder.exists()
    with socket.socket() as probe:
        assert probe.connect_ex((server.host, server.port)) == errno.ECONNREFUSED
