"""The priority is taken from the best that is allowed, and what is said is what was had."""

from __future__ import annotations

import os

import pytest

from chaoslat.load import priority
from chaoslat.load.priority import raise_priority


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Records what the system is asked for; nothing is allowed that `refused` names."""
    calls: list[str] = []
    monkeypatch.setattr(os, "sched_setscheduler", lambda *_: calls.append("realtime"))
    monkeypatch.setattr(os, "setpriority", lambda *_: calls.append("nice"))
    monkeypatch.setattr(priority, "_sharpen_timers", lambda: None)
    monkeypatch.setattr(priority.Path, "write_text", lambda *_: calls.append("autogroup"))
    return calls


def refuse(*_: object) -> None:
    raise PermissionError


@pytest.mark.parametrize(
    ("wanted", "had", "calls"),
    [
        ("realtime", "SCHED_RR 1", ["realtime"]),
        ("nice", "nice -10", ["nice", "autogroup"]),
        ("normal", "normal", []),
    ],
)
def test_takes_what_is_wanted(asked: list[str], wanted: str, had: str, calls: list[str]) -> None:
    assert raise_priority(wanted) == had
    assert asked == calls


def test_takes_the_next_where_it_is_not_allowed(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    assert raise_priority("realtime") == "nice -10"
    monkeypatch.setattr(os, "setpriority", refuse)
    assert raise_priority("realtime") == "normal"
    assert asked == ["nice", "autogroup"]
