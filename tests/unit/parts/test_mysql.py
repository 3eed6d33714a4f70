"""Which server is taken, and how it is started."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chaoslat.errors import EnvironmentMissing
from chaoslat.parts import mysql
from chaoslat.parts.base import Found, Missing
from chaoslat.parts.mysql import Mysql
from chaoslat.parts.mysql_server import Flavour, MysqlServer, from_program, read_version

MYSQL = "/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))"
MARIADB = "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)"


def script(path: Path, output: str) -> Path:
    path.write_text(f"#!/bin/sh\necho '{output}'\n")
    path.chmod(0o755)
    return path


def unpacked(cache: Path, flavour: Flavour, version: str) -> None:
    prefix = Mysql(cache).prefix(flavour)
    prefix.mkdir(parents=True)
    (prefix / "server.json").write_text(json.dumps({"version": version}))


def on_path(*found: tuple[Flavour, str]) -> list[MysqlServer]:
    return [MysqlServer(flavour, version, (f"/bin/{flavour}",), (), Path("/")) for flavour, version in found]


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine without a server on PATH and without apt sources."""
    monkeypatch.setattr(mysql, "_on_path", list)
    monkeypatch.setattr(mysql, "machine_sources", tuple)
    return monkeypatch


def test_versions_of_both_flavours_and_of_something_else() -> None:
    assert read_version(MYSQL) == ("mysql", "9.7.4")
    assert read_version(MARIADB) == ("mariadb", "10.11.19")
    with pytest.raises(EnvironmentMissing, match="Not a MySQL"):
        read_version("postgres (PostgreSQL) 15.1")


def test_a_server_that_is_too_old_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentMissing, match=r"mysql 5\.7\.44"):
        from_program(script(tmp_path / "mysqld", "mysqld  Ver 5.7.44 for Linux on x86_64"))
    assert from_program(script(tmp_path / "mariadbd", MARIADB)).flavour == "mariadb"


def test_missing_says_what_to_do(tmp_path: Path, bare: pytest.MonkeyPatch) -> None:
    found = Mysql(tmp_path).find()
    assert isinstance(found, Missing)
    assert "install mysql" in found.fix
    with pytest.raises(EnvironmentMissing, match="mysql is missing"):
        Mysql(tmp_path).server()


def test_an_install_without_sources_says_so(tmp_path: Path, bare: pytest.MonkeyPatch) -> None:
    with pytest.raises(EnvironmentMissing, match="could be installed") as caught:
        Mysql(tmp_path).install(lambda message: None)
    assert "no apt sources" in caught.value.why


def test_mysql_on_path_then_cached_then_mariadb(tmp_path: Path, bare: pytest.MonkeyPatch) -> None:
    bare.setattr(mysql, "_on_path", lambda: on_path(("mariadb", "11.8.2")))
    assert Mysql(tmp_path).server().version == "11.8.2"
    unpacked(tmp_path, "mariadb", "10.11.19")
    assert Mysql(tmp_path).server().version == "10.11.19"
    unpacked(tmp_path, "mysql", "9.7.4")
    assert Mysql(tmp_path).server().version == "9.7.4"
    bare.setattr(mysql, "_on_path", lambda: on_path(("mariadb", "11.8.2"), ("mysql", "8.0.40")))
    assert Mysql(tmp_path).server().version == "8.0.40"


def test_what_is_in_the_cache_is_not_installed_again(tmp_path: Path, bare: pytest.MonkeyPatch) -> None:
    unpacked(tmp_path, "mysql", "9.7.4")
    found = Mysql(tmp_path).install(lambda message: pytest.fail(message))
    assert found == Found("mysql", Mysql(tmp_path).prefix("mysql") / "libexec/mysqld", "mysql 9.7.4")


def test_a_program_that_apparmor_confines_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profiles = tmp_path / "profiles"
    profiles.write_text("/usr/sbin/mysqld (enforce)\n/usr/bin/man (enforce)\n")
    monkeypatch.setattr(mysql, "_CONFINED", profiles)
    assert mysql._is_confined("/usr/sbin/mysqld")
    assert not mysql._is_confined("/opt/mysqld")


@pytest.mark.parametrize(("uid", "user"), [(0, ["--user=nobody"]), (1000, [])])
def test_the_command_reads_our_configuration_first_and_extra_last(
    monkeypatch: pytest.MonkeyPatch, uid: int, user: list[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: uid)
    server = MysqlServer("mysql", "9.7.4", ("loader", "mysqld"), ("--basedir=/p",), Path("/p/share"))
    command = server.command(
        config=Path("/my.cnf"), datadir=Path("/d"), socket=Path("/s"), port=3306, extra=["--x=1"]
    )
    assert command[:4] == ["loader", "mysqld", "--defaults-file=/my.cnf", "--basedir=/p"]
    assert [word for word in command if word.startswith("--user")] == user
    assert command[-1] == "--x=1"
    assert {"--datadir=/d", "--socket=/s", "--port=3306", "--bind-address=127.0.0.1"} <= set(command)
