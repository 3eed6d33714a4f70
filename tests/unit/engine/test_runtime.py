"""The work-around is used exactly where a privileged container could not be started without it."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from chaoslat.engine import runc_shim, runtime

WITHOUT = "Name:\tpython\nCapPrm:\t000001ffffffffff\nCapBnd:\t000001fffeffffff\n"
WITH = "Name:\tpython\nCapPrm:\t000001fffeffffff\nCapBnd:\t000001ffffffffff\n"


@pytest.mark.parametrize(("status", "needed"), [(WITHOUT, True), (WITH, False), ("Name:\tpython\n", False)])
def test_the_bounding_set_decides(status: str, needed: bool) -> None:
    assert runtime.needed(status) is needed


def test_this_machine_has_an_answer() -> None:
    assert runtime.needed() in (True, False)


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        (["--root", "/r", "create", "--bundle", "/b", "id"], ["/b/config.json"]),
        (["create", "-b", "/b", "id"], ["/b/config.json"]),
        (["create", "--bundle=/b", "id"], ["/b/config.json"]),
        (["exec", "--process", "/tmp/p", "--detach", "id"], ["/tmp/p"]),
        (["exec", "-p=/tmp/p", "id"], ["/tmp/p"]),
        (["state", "id"], []),
    ],
)
def test_the_files_of_a_call(arguments: list[str], files: list[str]) -> None:
    assert [str(path) for path in runc_shim.files(arguments)] == files


def capabilities() -> dict[str, list[str]]:
    return {
        name: ["CAP_CHOWN", "CAP_SYS_RESOURCE", "CAP_KILL"] for name in ("bounding", "effective", "permitted")
    }


@pytest.mark.parametrize("wrap", [True, False], ids=["a bundle", "a process"])
def test_only_the_one_capability_goes(wrap: bool, tmp_path: Path) -> None:
    process = {"args": ["sh"], "capabilities": capabilities()}
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"ociVersion": "1.0.2", "process": process} if wrap else process))
    runc_shim.rewrite(file)
    left = json.loads(file.read_text())
    left = left["process"] if wrap else left
    assert left == {
        "args": ["sh"],
        "capabilities": {name: ["CAP_CHOWN", "CAP_KILL"] for name in ("bounding", "effective", "permitted")},
    }


def test_a_process_without_capabilities_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "process.json"
    file.write_text('{"args": ["sh"]}')
    runc_shim.rewrite(file)
    assert json.loads(file.read_text()) == {"args": ["sh"]}


def test_the_script_rewrites_and_then_becomes_runc(tmp_path: Path) -> None:
    runc = tmp_path / "runc of ours"
    runc.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    runc.chmod(0o755)
    (tmp_path / "config.json").write_text(json.dumps({"process": {"capabilities": capabilities()}}))
    script = runtime.write_script(tmp_path, str(runc))
    done = subprocess.run(
        [script, "create", "--bundle", tmp_path, "id 1"], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["create", "--bundle", str(tmp_path), "id 1"]
    assert "CAP_SYS_RESOURCE" not in (tmp_path / "config.json").read_text()
    assert script.stat().st_mode & stat.S_IXUSR
    assert sys.executable in script.read_text()
