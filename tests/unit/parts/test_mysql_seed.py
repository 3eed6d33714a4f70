"""The seed's SQL, and when a seed is the right one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chaoslat import paths
from chaoslat.parts import mysql
from chaoslat.parts.base import Found, Missing
from chaoslat.parts.mysql import Mysql
from chaoslat.parts.mysql_seed import APP, PROBE, MysqlSeed, config, statements


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with an unpacked server that is only looked at."""
    monkeypatch.setattr(mysql, "_on_path", list)
    prefix = Mysql(tmp_path).prefix("mysql")
    prefix.mkdir()
    (prefix / "server.json").write_text(json.dumps({"version": "9.7.4"}))
    return tmp_path


def sql(name: str) -> str:
    return (paths.fixtures() / "mysql" / name).read_text()


def test_statements_end_at_the_end_of_a_line_and_names_are_filled_in() -> None:
    text = "-- a comment;\nSELECT 'a;b',\n  $n;\n\nSELECT 2;\n"
    assert list(statements(text, n=1)) == ["SELECT 'a;b',\n  1", "SELECT 2"]


def test_a_name_without_a_value_is_an_error() -> None:
    with pytest.raises(KeyError, match="n"):
        list(statements("SELECT $n;"))


def test_the_schema_gives_both_logins_their_passwords_and_no_right_to_write() -> None:
    made = list(statements(sql("schema.sql"), app_password=APP.password, probe_password=PROBE.password))
    users = [line for line in made if line.startswith("CREATE USER")]
    assert users == [f"CREATE USER '{who.user}'@'%' IDENTIFIED BY '{who.password}'" for who in (APP, PROBE)]
    granted = {line.split(" ON ")[0] for line in made if line.startswith("GRANT")}
    assert granted == {"GRANT SELECT", "GRANT PROCESS"}


def test_no_seed_without_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mysql, "_on_path", list)
    found = MysqlSeed(tmp_path).find()
    assert isinstance(found, Missing)
    assert "server first" in found.why


def test_a_seed_fits_one_server_one_size_and_one_schema(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = MysqlSeed(cache)
    assert isinstance(seed.find(), Missing)
    seed._path(Mysql(cache).server()).mkdir()
    assert isinstance(seed.find(), Found)
    assert isinstance(MysqlSeed(cache, rows=10).find(), Missing)
    changed = tmp_path / "checkout/fixtures"
    (changed / "mysql").mkdir(parents=True)
    for name in ("my.cnf", "schema.sql", "fill.sql"):
        (changed / "mysql" / name).write_text(sql(name) + "\n")
    monkeypatch.setattr(paths, "fixtures", lambda: changed)
    assert isinstance(seed.find(), Missing)


def test_the_configuration_keeps_reads_in_the_page_cache_and_the_pool_small() -> None:
    settings = config().read_text()
    assert "innodb_buffer_pool_size = 32M" in settings
    assert "innodb_flush_method = fsync" in settings
    assert "skip-name-resolve" in settings
