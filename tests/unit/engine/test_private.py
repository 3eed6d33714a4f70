"""A private engine leaves the machine's firewall, forwarding and own engine alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chaoslat.engine import ground, private, runtime
from chaoslat.engine.docker import Docker, reachable
from chaoslat.engine.private import PrivateEngine, settings
from chaoslat.errors import EnvironmentMissing

ENGINE = PrivateEngine("0a1b2c3d", Path("/run/chaoslat-0a1b2c3d"), Path("/cache/engine"))


def no_promise(kind: str, **_: object) -> int:
    pytest.fail(f"{kind} was promised")


def test_it_touches_neither_firewall_nor_forwarding_and_has_no_bridge() -> None:
    chosen = settings(ENGINE, None)
    assert chosen["bridge"] == "none"
    assert [chosen[name] for name in ("iptables", "ip-forward", "ip-masq")] == [False] * 3


def test_all_its_files_are_its_own() -> None:
    chosen = settings(ENGINE, None)
    places = [str(chosen[name]) for name in ("data-root", "exec-root", "pidfile")]
    assert all(place.startswith(("/run/chaoslat-0a1b2c3d/", "/cache/engine")) for place in places)
    assert chosen["hosts"] == ["unix:///run/chaoslat-0a1b2c3d/docker.sock"]
    assert chosen["cgroup-parent"] == "/chaoslat-0a1b2c3d/nodes"


def test_it_asks_no_name_server_that_exists() -> None:
    assert settings(ENGINE, None)["dns"] == [private.NOWHERE]
    assert private.NOWHERE.startswith("203.0.113.")


def test_the_work_around_is_in_only_where_it_is_needed() -> None:
    assert "default-runtime" not in settings(ENGINE, None)
    chosen = settings(ENGINE, Path("/run/x/shim"))
    assert chosen["default-runtime"] == runtime.NAME
    assert chosen["runtimes"] == {runtime.NAME: {"path": "/run/x/shim"}}


def test_without_root_nothing_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(EnvironmentMissing, match="takes root"):
        private.start("0a1b2c3d", tmp_path / "engine", no_promise)
    with pytest.raises(EnvironmentMissing, match="takes root"):
        ground.lay("0a1b2c3d", no_promise, lambda _: None, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("host", ["tcp://10.1.2.3:2375", "ssh://me@example.invalid"])
def test_an_engine_on_another_machine_does_not_count(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    monkeypatch.setattr(Docker, "version", lambda _: "28.0")
    assert reachable() is None


def test_an_engine_that_does_not_answer_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    assert reachable() is None


def test_the_machine_s_own_engine_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr(Docker, "version", lambda _: "28.0")
    assert reachable() == Docker("unix:///var/run/docker.sock")
