"""What the decoys do to a real database and with real processes. Needs `make setup`, but no privileges."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pymysql
import pytest

from chaoslat import paths
from chaoslat.backends.local import burner, lock_holder
from chaoslat.backends.local.helpers import Helpers
from chaoslat.backends.local.promises import Promises
from chaoslat.backends.local.slow_view import SlowView
from chaoslat.errors import SystemLost
from chaoslat.ledger import Ledger, new_run_id, scoped
from chaoslat.ledger.undo import undo
from chaoslat.parts.base import Missing
from chaoslat.parts.mysql_lend import lent
from chaoslat.parts.mysql_seed import APP, CUSTOMERS, MysqlSeed

READ = "SELECT id, name, tier FROM customers WHERE id = %s"


@pytest.fixture(scope="module")
def server():
    found = MysqlSeed(paths.cache_root()).find()
    if isinstance(found, Missing):
        pytest.skip(f"{found.why}; {found.fix}")
    with lent(paths.cache_root()) as server:
        yield server


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.setenv("CHAOSLAT_STATE", str(tmp_path / "state"))
    return Ledger.create(new_run_id())


@pytest.fixture
def promises(ledger):
    return Promises(ledger, "saboteur", undo)


@pytest.fixture
def socket(server, ledger, tmp_path):
    """The server's socket by a path that carries the run's id, as every path of an undo must."""
    folder = tmp_path / scoped(ledger.run_id)
    folder.mkdir()
    (folder / "s").symlink_to(server.socket)
    return folder / "s"


@pytest.fixture
def view(socket, promises):
    made = SlowView(socket, promises)
    yield made
    made.restore()


@pytest.fixture
def app(server):
    with pymysql.connect(
        unix_socket=str(server.socket), user=APP.user, password=APP.password, database="shop", autocommit=True
    ) as connection:
        yield connection.cursor()


def tables(server):
    return server.admin.execute("SHOW FULL TABLES IN shop")


def read_ms(app, number=7):
    start_s = time.monotonic()
    app.execute(READ, (number,))
    assert app.fetchone()[0] == number
    return 1000 * (time.monotonic() - start_s)


def test_a_view_makes_the_server_wait_and_answers_the_same(server, view, app):
    before = tables(server)
    app.execute("SELECT * FROM customers ORDER BY id")
    rows = app.fetchall()
    for delay_ms in (20, 50):
        view.set(delay_ms)
        assert view.delay_ms() == delay_ms
        assert read_ms(app) >= delay_ms
        app.execute("SELECT * FROM customers ORDER BY id")
        assert app.fetchall() == rows
    assert len(rows) == CUSTOMERS
    view.restore()
    view.restore()
    assert (view.delay_ms(), tables(server)) == (0.0, before)


@pytest.mark.parametrize("done", [1, 2, 3, 4])
def test_a_change_that_broke_off_anywhere_is_undone(done, server, view, ledger, monkeypatch):
    """The promise is there before the first statement: what a killed run leaves is known."""
    before = tables(server)
    run, statements = SlowView._run, []

    def some(self, sql, args=None):
        if not sql.startswith("SELECT"):
            statements.append(sql)
            if len(statements) > done:
                raise KeyboardInterrupt
        return run(self, sql, args)

    monkeypatch.setattr(SlowView, "_run", some)
    if done < 4:
        with pytest.raises(KeyboardInterrupt):
            view.set(20)
    else:
        view.set(20)
    assert tables(server) != before
    (entry,) = ledger.pending()
    undo(entry)
    undo(entry)
    assert tables(server) == before


def test_no_statement_fails_while_a_view_takes_the_tables_place_and_leaves_it(view, app):
    done, reads = threading.Event(), []

    def read():
        while not done.is_set():
            reads.append(read_ms(app))
            time.sleep(0.0005)

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read)
        for _ in range(8):
            view.set(1)
            time.sleep(0.02)
            view.restore()
        done.set()
        reading.result()
    assert len(reads) > 50


def test_nothing_of_it_counts_among_the_apps_statements(server, view, app, promises, socket, tmp_path):
    """A runbook that reads the statements must not meet the fault's own."""
    read_ms(app)
    holders = Helpers("lock holders", Path(lock_holder.__file__), tmp_path / "log", promises)
    before = digests(server)
    view.set(5)
    view.delay_ms()
    holders.start([()], (str(socket), "shop.customers", "0.02", "0.02"))
    time.sleep(0.2)
    holders.stop()
    read_ms(app)
    view.restore()
    assert any("customers" in text for (text,) in before)
    assert digests(server) == before


def digests(server):
    sql = "SELECT digest_text FROM performance_schema.events_statements_summary_by_digest WHERE schema_name = 'shop'"
    return sorted(server.admin.execute(sql))


def test_where_the_server_is_gone_nothing_is_left_to_undo(ledger, promises, socket):
    socket.unlink()
    promises.keep("x", "mysql", socket=str(socket), steps=[["shop.customers", "DROP TABLE shop.customers"]])
    assert promises.fulfil("x")
    with pytest.raises(SystemLost):
        SlowView(socket, promises).delay_ms()
    assert list(ledger.pending()) == []


def test_a_lock_holds_the_apps_statement_up_until_the_holder_is_stopped(
    server, socket, promises, app, tmp_path
):
    holders = Helpers("lock holders", Path(lock_holder.__file__), tmp_path / "log", promises)
    holders.start([()], (str(socket), "shop.customers", "0.2", "0.05"))
    try:
        end_s = time.monotonic() + 5
        slowest_ms = 0.0
        while slowest_ms < 50 and time.monotonic() < end_s:
            slowest_ms = max(slowest_ms, read_ms(app))
        assert slowest_ms >= 50, (tmp_path / "log").read_text()
    finally:
        holders.stop()
    app.execute("SET lock_wait_timeout = 2")
    assert read_ms(app) < 2000
    assert holders.alive() == 0


def test_helpers_are_promised_counted_and_killed(ledger, promises, tmp_path):
    burners = Helpers("burners", Path(burner.__file__), tmp_path / "log", promises)
    assert burners.alive() == 0
    burners.start([(), ()], ("19", "0.01", "0.5"))
    assert (burners.alive(), len(list(ledger.pending()))) == (2, 2)
    burners.start([()], ("19", "0.01", "0.5"))
    assert (burners.alive(), len(list(ledger.pending()))) == (1, 1)
    burners.stop()
    burners.stop()
    assert (burners.alive(), list(ledger.pending())) == (0, [])


def test_a_helper_that_dies_at_once_is_an_error(promises, tmp_path):
    missing = Helpers("burners", tmp_path / "nothing.py", tmp_path / "log", promises)
    with pytest.raises(SystemLost, match="has died"):
        missing.start([()], ())
    missing.stop()
