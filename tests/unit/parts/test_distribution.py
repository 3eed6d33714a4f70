"""What is asked of which distribution."""

from __future__ import annotations

from pathlib import Path

from chaoslat.parts.apt_sources import Source
from chaoslat.parts.distribution import newest_sources, read_os_release
from chaoslat.parts.mysql_plans import plans

DEBIAN = {"ID": "debian", "VERSION_CODENAME": "bookworm"}
UBUNTU = {"ID": "ubuntu", "VERSION_CODENAME": "noble"}
MAIN = Source(("http://one.example/debian",), ("bookworm", "bookworm-updates"), ("main", "contrib"), "keys")
SECURITY = Source(("http://sec.example/debian-security",), ("bookworm-security",), ("main",), "keys")
NOBLE = Source(("http://one.example/ubuntu",), ("noble",), ("main", "universe"))


def test_debian_is_asked_for_sid_at_its_own_mirror_with_its_own_keys() -> None:
    sid = Source(("http://one.example/debian",), ("sid",), ("main",), "keys")
    assert newest_sources(DEBIAN, [SECURITY, MAIN]) == (sid,)


def test_one_mirror_named_twice_is_asked_once() -> None:
    updates = Source(MAIN.uris, ("bookworm", "bookworm-backports"), ("main",), "keys")
    assert len(newest_sources(DEBIAN, [MAIN, updates])) == 1


def test_ubuntu_is_asked_for_what_it_has() -> None:
    assert newest_sources(UBUNTU, [NOBLE]) == (NOBLE,)


def test_mysql_is_tried_before_mariadb() -> None:
    found = plans(DEBIAN, [SECURITY, MAIN])
    assert [str(plan) for plan in found] == [
        "mysql from sid",
        "mariadb from bookworm-security, bookworm, bookworm-updates",
    ]


def test_debian_without_its_main_archive_has_only_mariadb_to_try() -> None:
    assert [plan.flavour for plan in plans(DEBIAN, [SECURITY])] == ["mariadb"]


def test_nothing_to_try_without_sources() -> None:
    assert plans(UBUNTU, []) == ()


def test_os_release_with_quotes_and_comments(tmp_path: Path) -> None:
    path = tmp_path / "os-release"
    path.write_text("# c\nID=debian\nVERSION=\"12 (bookworm)\"\nVERSION_CODENAME='bookworm'\n\n")
    assert read_os_release(path) == {
        "ID": "debian",
        "VERSION": "12 (bookworm)",
        "VERSION_CODENAME": "bookworm",
    }
    assert read_os_release(tmp_path / "none") == {}
