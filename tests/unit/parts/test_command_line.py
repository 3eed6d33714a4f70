"""`python -m chaoslat.parts`: what it prints and how it exits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from chaoslat.errors import EnvironmentMissing
from chaoslat.parts import __main__ as command_line
from chaoslat.parts.base import Found, Missing, Progress


@dataclass
class Thing:
    """A part in a test: there, or absent until installed, or never to be had."""

    name: str
    here: bool = True
    available: bool = True

    def find(self) -> Found | Missing:
        """Here or not."""
        if self.here:
            return Found(self.name, Path("/opt") / self.name, "1.0")
        return Missing(self.name, "not unpacked", "make setup")

    def install(self, progress: Progress) -> Found:
        """Works when it is available."""
        progress("unpacking")
        if not self.available:
            raise EnvironmentMissing(f"{self.name} is not to be had", fix="wait")
        return Found(self.name, Path("/opt") / self.name, "1.0")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Give the machine these parts."""
    return lambda *things: monkeypatch.setattr(command_line, "all_parts", lambda: things)


def test_check_is_0_when_all_are_here(
    machine: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    machine(Thing("proxy"))
    assert command_line.main(["check"]) == 0
    assert capsys.readouterr().out == "proxy        1.0  /opt/proxy\n"


def test_check_is_3_and_says_the_fix(
    machine: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    machine(Thing("proxy"), Thing("server", here=False))
    assert command_line.main(["check"]) == 3
    assert "missing: not unpacked\n             fix: make setup" in capsys.readouterr().out


def test_install_goes_on_after_a_failure(
    machine: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    machine(Thing("server", available=False), Thing("proxy"))
    assert command_line.main(["install"]) == 3
    said = capsys.readouterr()
    assert "server is not to be had\n  fix:   wait" in said.err
    assert said.out.splitlines()[-1].endswith("1.0  /opt/proxy")


def test_install_of_named_parts_only(
    machine: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    machine(Thing("server", available=False), Thing("proxy"))
    assert command_line.main(["install", "proxy"]) == 0
    assert "server" not in capsys.readouterr().out


@pytest.mark.parametrize("words", [["install", "nothing"], ["path", "nothing"], ["with-mysql"]])
def test_usage_errors_are_2(
    machine: Callable[..., None], capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    machine(Thing("proxy"))
    assert command_line.main(words) == 2
    assert capsys.readouterr().err


def test_the_path_of_a_part(machine: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    machine(Thing("proxy"), Thing("server", here=False))
    assert command_line.main(["path", "proxy"]) == 0
    assert capsys.readouterr().out == "/opt/proxy\n"
    assert command_line.main(["path", "server"]) == 3
