"""The state file that another process attaches with, and the catalogue of backends."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoslat import backends
from chaoslat.backends.local import state
from chaoslat.backends.local.parts import Part
from chaoslat.backends.local.state import State
from chaoslat.errors import UsageError
from chaoslat.ledger import Ledger

RUN = "0a1b2c3d"
MADE = State(
    run_id=RUN,
    folder=f"/var/tmp/chaoslat-{RUN}",
    parts=(Part("app", 41, 1000, "/log"), Part("mysqld", 42, 1001, "/log")),
    ports={"app": 1, "admin": 2, "proxy": 3, "toxiproxy": 4, "mysql": 3306},
    host_address="198.18.0.1",
    db_address="198.18.0.2",
    versions={"kernel": "6.18"},
    cgroup_cost_bytes=17_000,
    at_rest={"pool size": "10"},
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CHAOSLAT_STATE", str(tmp_path))
    return Ledger.create(RUN).folder


@pytest.mark.usefixtures("folder")
def test_what_is_saved_is_what_is_loaded() -> None:
    state.save(MADE)
    assert state.load(RUN, State) == MADE
    loaded = MADE.with_load(Part("load", 43, 1002, ""), "/log.bin")
    state.save(loaded)
    assert state.load(RUN, State) == loaded


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"parts": [{}]}'])
def test_a_damaged_file_is_a_plain_error(folder: Path, text: str) -> None:
    (folder / "system.json").write_text(text)
    with pytest.raises(UsageError, match="no system to attach to"):
        state.load(RUN, State)


@pytest.mark.usefixtures("folder")
def test_a_run_without_a_system_is_a_plain_error() -> None:
    with pytest.raises(UsageError, match="no system to attach to"):
        state.load(RUN, State)


def test_info_names_every_process_that_runs() -> None:
    info = MADE.with_load(Part("load", 43, 1002, ""), "").info()
    assert info.pids == {"app": 41, "mysqld": 42, "load": 43}
    assert info.url == "http://127.0.0.1:1"
    assert info.cgroups["mysqld"].startswith(info.cgroups["db"])
    assert info.namespaces["db"] == f"chaoslat-{RUN}"


def test_the_backends_have_names_of_their_own() -> None:
    names = [backend.name for backend in backends.BACKENDS]
    assert len(set(names)) == len(names)
    assert backends.get("local") in backends.BACKENDS


def test_an_unknown_backend_gives_the_list() -> None:
    with pytest.raises(UsageError, match="no backend is called 'locl'") as caught:
        backends.get("locl")
    assert "did you mean local?" in caught.value.fix
    assert "known: " in caught.value.fix
