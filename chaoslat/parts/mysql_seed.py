"""A data directory with the shop in it, made once and copied for each run.

The SQL and the server's configuration are in `fixtures/mysql/`. Logins: `APP` reads the shop, `PROBE` is the
on-call engineer's. The administrator `root` has no password and can log in only through the server's socket:
keep that in a folder that only the server's user can enter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Template

from chaoslat import paths
from chaoslat.errors import ChaoslatError
from chaoslat.parts.base import Found, Missing, Progress, install_command, need
from chaoslat.parts.disk import copy_tree
from chaoslat.parts.mysql import Mysql
from chaoslat.parts.mysql_process import Administrator
from chaoslat.parts.mysql_run import filling, initialise
from chaoslat.parts.mysql_server import MysqlServer, run_as_ids
from chaoslat.parts.store import build_once, keep_newest, key

DATABASE = "shop"
ROWS = 300_000
CUSTOMERS = 1_000

_RECIPE = "2"  # raise it to have every machine fill its seed again
_CHUNK_ROWS = 10_000
_KEPT = 3  # seeds of other checkouts and servers; each takes 400 MB
_FULL = re.compile(r";\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Account:
    """A login of the demo database, from any host. Not a secret: the server is private to one run."""

    user: str
    password: str


APP = Account("app", "app-demo-only")
PROBE = Account("probe", "probe-demo-only")


def config() -> Path:
    """The server's configuration, for seed and runs. Raises EnvironmentMissing without a checkout."""
    return paths.fixtures() / "mysql" / "my.cnf"


@dataclass(frozen=True, slots=True)
class MysqlSeed:
    """Finds or fills the seed for the server that `Mysql(cache, system=system)` finds; `rows` orders in it."""

    cache: Path
    rows: int = ROWS
    name: str = "mysql-seed"
    system: bool = True

    def find(self) -> Found | Missing:
        """The seed that fits the server, the SQL and the configuration as they are now."""
        server = self._mysql().find()
        if isinstance(server, Missing):
            return Missing(
                self.name, f"it needs the server first: {server.why}", install_command("mysql mysql-seed")
            )
        path = self._path(self._mysql().server())
        if not path.exists():
            return Missing(
                self.name, "no seed was filled yet for this server and schema", install_command(self.name)
            )
        return Found(self.name, path, f"{self.rows} orders")

    def install(self, progress: Progress) -> Found:
        """Fill the seed, after the server if need be. Raises ChaoslatError when that does not work."""
        self._mysql().install(progress)
        server = self._mysql().server()
        build_once(self._path(server), lambda into: _fill(server, into, self.rows, progress), progress)
        keep_newest(self.cache, "mysql-seed-*", _KEPT)
        return need(self.find())

    def copy(self, datadir: Path) -> None:
        """Copy the seed to the new directory `datadir`, owned by the user that the server runs as.

        Its name must not begin with a dot: InnoDB overlooks hidden folders. No page of it stays in the page
        cache. Raises EnvironmentMissing when there is no seed, or when `datadir` is in memory.
        """
        copy_tree(need(self.find()).path, datadir, owner=run_as_ids())

    def _mysql(self) -> Mysql:
        return Mysql(self.cache, system=self.system)

    def _path(self, server: MysqlServer) -> Path:
        sql = [
            (paths.fixtures() / "mysql" / name).read_bytes() for name in ("my.cnf", "schema.sql", "fill.sql")
        ]
        made_of = key(
            _RECIPE, server.flavour, server.version, str(self.rows), repr((CUSTOMERS, APP, PROBE)), *sql
        )
        return self.cache / f"mysql-seed-{made_of}"


def statements(sql: str, **values: object) -> Iterator[str]:
    """The statements of an SQL file, comments left out and $names filled in."""
    text = "\n".join(line for line in sql.splitlines() if not line.startswith("--"))
    for statement in _FULL.split(Template(text).substitute(values)):
        if statement.strip():
            yield statement.strip()


def _fill(server: MysqlServer, datadir: Path, rows: int, progress: Progress) -> None:
    progress(f"making an empty data directory ({server.flavour} {server.version})")
    initialise(server, config(), datadir)
    with filling(server, config(), datadir) as admin:
        _apply(admin, "schema.sql", app_password=APP.password, probe_password=PROBE.password)
        progress(f"filling {rows} orders")
        for first in range(1, rows + 1, _CHUNK_ROWS):
            _apply(
                admin, "fill.sql", first=first, last=min(first + _CHUNK_ROWS - 1, rows), customers=CUSTOMERS
            )
        # The statistics of an empty table would be copied along: the optimizer then scans 300,000 rows to read 50.
        admin.execute("ANALYZE TABLE shop.orders, shop.customers")
        _check(admin, rows)
        progress("shutting down cleanly")


def _apply(admin: Administrator, name: str, **values: object) -> None:
    for statement in statements((paths.fixtures() / "mysql" / name).read_text(), **values):
        admin.execute(statement)


def _check(admin: Administrator, rows: int) -> None:
    counted = admin.execute(
        "SELECT (SELECT COUNT(*) FROM shop.orders), (SELECT COUNT(*) FROM shop.customers)"
    )
    if counted != ((rows, CUSTOMERS),):
        raise ChaoslatError(
            "The seed was not filled as asked",
            why=f"orders, customers: {counted}, wanted {rows}, {CUSTOMERS}",
        )
