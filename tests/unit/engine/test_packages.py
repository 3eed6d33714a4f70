"""Installing what a cluster needs starts no service and takes nothing that is there already."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chaoslat.engine import __main__, packages
from chaoslat.errors import EnvironmentMissing


class Apt:
    """Stands in for the system: programs appear once their package was installed."""

    def __init__(self, present: set[str], client_in: str = "docker.io") -> None:
        self.present, self.client_in = present, client_in
        self.commands: list[list[str]] = []

    def tool(self, name: str) -> str | None:
        return f"/usr/bin/{name}" if name in self.present else None

    def run(self, argv: list[str], **_: object) -> str:
        self.commands.append(list(argv))
        for program, package in packages.PACKAGE_OF.items():
            if package in argv:
                self.present.add(program)
        if self.client_in in argv:
            self.present.add("docker")
        return ""


def machine(apt: Apt, monkeypatch: pytest.MonkeyPatch, policy: Path) -> Apt:
    monkeypatch.setattr(packages, "tool", apt.tool)
    monkeypatch.setattr(packages, "run", apt.run)
    monkeypatch.setattr(packages, "services_kept_stopped", lambda: packages_policy(policy))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return apt


packages_policy = packages.services_kept_stopped


def test_nothing_missing_means_nothing_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    apt = machine(Apt({*packages.PACKAGE_OF, "docker"}), monkeypatch, tmp_path / "policy")
    packages.install(lambda _: None)
    assert apt.commands == []


@pytest.mark.parametrize("client_in", ["docker.io", "docker-cli"])
def test_what_is_missing_is_installed(
    client_in: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apt = machine(Apt({"ip", "setsid", "systemctl"}, client_in), monkeypatch, tmp_path / "policy")
    packages.install(lambda _: None)
    assert packages.missing() == {}
    assert apt.commands[-1][:3] == ["systemctl", "--quiet", "disable"]
    asked = [word for command in apt.commands for word in command]
    assert "iproute2" not in asked
    assert ("docker-cli" in asked) is (client_in == "docker-cli")


def test_an_engine_that_was_there_is_not_disabled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    present = {*packages.PACKAGE_OF, "docker", "systemctl"} - {"nft"}
    apt = machine(Apt(present), monkeypatch, tmp_path / "policy")
    packages.install(lambda _: None)
    assert len(apt.commands) == 1
    assert apt.commands[0][-1] == "nftables"


def test_without_root_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "tool", lambda _: None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(EnvironmentMissing) as raised:
        packages.install(lambda _: None)
    assert "sudo apt-get install docker.io" in raised.value.fix


def test_services_are_denied_only_meanwhile(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    with packages.services_kept_stopped(policy):
        assert os.access(policy, os.X_OK)
        assert "exit 101" in policy.read_text()
    assert not policy.exists()


def test_a_policy_of_the_machine_stays(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    policy.write_text("theirs")
    with packages.services_kept_stopped(policy):
        assert policy.read_text() == "theirs"
    assert policy.read_text() == "theirs"


def test_the_command_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(__main__, "missing", lambda: {"nft": "nftables"})
    assert __main__.main(["check"]) == 3
    assert "apt-get install nftables" in capsys.readouterr().out
    monkeypatch.setattr(__main__, "missing", dict)
    assert __main__.main(["check"]) == 0
