"""Proxy, Node.js, the app's packages and the network tools: found, missing, too old."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chaoslat import paths
from chaoslat.errors import EnvironmentMissing
from chaoslat.parts import PARTS, all_parts, check_all, iproute2
from chaoslat.parts.base import Found, Missing
from chaoslat.parts.go_toolchain import Go, find_go
from chaoslat.parts.iproute2 import Iproute2
from chaoslat.parts.node import Node
from chaoslat.parts.node_app import NodeApp
from chaoslat.parts.store import key
from chaoslat.parts.toxiproxy import Toxiproxy


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH, empty at first."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def says(program: Path, output: str) -> None:
    program.write_text(f"#!/bin/sh\necho '{output}'\n")
    program.chmod(0o755)


def test_every_part_has_a_name_of_its_own_and_answers_find(tmp_path: Path) -> None:
    assert len({part.name for part in all_parts(tmp_path)}) == len(PARTS)
    answers = check_all(tmp_path)
    assert [answer.name for answer in answers] == [part.name for part in all_parts(tmp_path)]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("output", "version"),
    [("toxiproxy-server version 2.12.0", "2.12.0"), ("toxiproxy-server version 2.4.0", ""), ("git", "")],
)
def test_a_proxy_on_path_counts_when_new_enough(
    tmp_path: Path, programs: Path, output: str, version: str
) -> None:
    says(programs / "toxiproxy-server", output)
    found = Toxiproxy(tmp_path / "cache").find()
    assert (found.version if isinstance(found, Found) else "") == version


@pytest.mark.parametrize(
    ("output", "usable"),
    [
        ("go version go1.19.8 linux/amd64", False),
        ("go version go1.21.0 linux/amd64", True),
        ("gibberish", False),
    ],
)
def test_go_counts_from_the_version_that_fetches_newer_ones(
    programs: Path, output: str, usable: bool
) -> None:
    says(programs / "go", output)
    assert find_go() == (Go(programs / "go") if usable else None)


def test_node_needs_its_version_and_npm(tmp_path: Path, programs: Path) -> None:
    says(programs / "node", "v18.20.4")
    says(programs / "npm", "10")
    assert isinstance(Node(tmp_path).find(), Missing)
    says(programs / "node", "v20.1.0")
    assert Node(tmp_path).runtime().version == "v20.1.0"
    (programs / "npm").unlink()
    assert isinstance(Node(tmp_path).find(), Missing)


def test_the_apps_packages_are_stale_when_the_lock_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "fixtures", lambda: tmp_path)
    app = tmp_path / "node-app"
    (app / "node_modules").mkdir(parents=True)
    answers = [NodeApp(tmp_path).find()]
    (app / "package-lock.json").write_text("{}")
    answers.append(NodeApp(tmp_path).find())
    (app / "node_modules/.chaoslat-stamp").write_text(key(b"{}"))
    answers.append(NodeApp(tmp_path).find())
    (app / "package-lock.json").write_text("{ }")
    answers.append(NodeApp(tmp_path).find())
    assert [isinstance(answer, Found) for answer in answers] == [False, False, True, False]
    assert "package-lock.json changed" in str(answers[3])


def test_network_tools_that_are_missing_are_named_with_their_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    part = Iproute2(tmp_path, look=lambda name: "/bin/true" if name == "ip" else None)
    found = part.find()
    assert isinstance(found, Missing)
    assert found.why == "not found: ss, nsenter"
    assert "sudo make setup" in found.fix
    assert "iproute2 util-linux" in found.fix
    monkeypatch.setattr(iproute2, "_apt_install", lambda packages: pytest.fail("apt without root"))
    with pytest.raises(EnvironmentMissing, match="iproute2 is missing"):
        part.install(lambda message: None)
