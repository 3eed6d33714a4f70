"""A long step is seen to be alive, and the command line says what is there."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path

import pytest

from chaoslat.nodeimage import __main__ as command
from chaoslat.nodeimage.progress import Reporter


def test_a_line_has_seconds_name_and_message() -> None:
    out = io.StringIO()
    Reporter(out)("kubeall", "go build kube")
    seconds, unit, name, *message = out.getvalue().split()
    assert float(seconds) >= 0
    assert (unit, name, " ".join(message)) == ("s", "kubeall", "go build kube")


def test_a_step_that_goes_on_is_repeated() -> None:
    out = io.StringIO()
    report = Reporter(out, every_s=0.005)
    with report.alive():
        report("kubeall", "go build kube")
        deadline_s = time.monotonic() + 10
        while "so far" not in out.getvalue() and time.monotonic() < deadline_s:
            time.sleep(0.005)
    assert "go build kube (0 s so far)" in out.getvalue()


def test_nothing_is_printed_after_the_block_or_before_a_step() -> None:
    out = io.StringIO()
    with Reporter(out, every_s=0.001).alive():
        time.sleep(0.01)
    assert out.getvalue() == ""


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CHAOSLAT_CACHE", str(tmp_path))
    return tmp_path


def test_check_says_what_is_missing(empty_cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["check"]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines} == {
        "kind",
        "kubeall",
        "node",
        "app",
        "mysql",
        "toxiproxy",
        "tools",
    }
    assert all("missing" in line for line in lines)


def test_check_as_json(empty_cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["check", "--json"]) == 3
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["node"]["image"].startswith("chaoslat/node:")
    assert rows["kind"]["image"] is None
    assert not any(row["ready"] for row in rows.values())


def test_an_unknown_name_is_a_usage_error(empty_cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["build", "nothing-such"]) == 2
    assert "one of: kind" in capsys.readouterr().err
