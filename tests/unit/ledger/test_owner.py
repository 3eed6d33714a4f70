"""Owners: a process told from a later one of its number, and runs that are kept for a time."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from chaoslat.ledger import Ledger, Owner, keep, link_name, scoped
from chaoslat.ledger.names import new_run_id, run_of
from chaoslat.ledger.owner import boot_s, read_owner, start_ticks, write_owner
from chaoslat.ledger.state import runs_root
from tests.unit.ledger.conftest import RUN


def test_this_process_is_alive() -> None:
    assert Owner.here().alive
    assert Owner.here().holds


@pytest.mark.parametrize("change", [{"start_ticks": 1}, {"boot_id": "another boot"}, {"pid": 2**22 + 1}])
def test_another_process_of_the_same_number_is_not_the_owner(change: dict[str, object]) -> None:
    assert not replace(Owner.here(), **change).alive  # type: ignore[arg-type]


def test_a_process_that_has_ended_is_gone_before_its_parent_knows() -> None:
    child = subprocess.Popen(["sleep", "60"])
    assert start_ticks(child.pid) is not None
    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # ended, and still a zombie
    assert start_ticks(child.pid) is None
    child.wait()


def test_the_owner_of_a_run_is_who_made_it(ledger: Ledger) -> None:
    owner = read_owner(ledger.folder)
    assert owner is not None
    assert (owner.pid, owner.alive, owner.kept) == (os.getpid(), True, False)


def test_a_kept_run_holds_until_its_time_is_over(ledger: Ledger) -> None:
    owner = keep(RUN, 60.0)
    assert owner.holds
    assert "minutes" in owner.describe()
    dead = replace(owner, start_ticks=1)
    assert dead.holds
    assert not replace(dead, expires_boot_s=boot_s() - 1).holds
    assert not replace(dead, boot_id="another boot").holds
    assert read_owner(ledger.folder) == owner


def test_a_run_kept_without_an_end(ledger: Ledger) -> None:
    assert replace(keep(RUN, None), start_ticks=1).holds


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"pid": 1}', "\x00"])
def test_an_owner_file_that_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "owner.json").write_text(content)
    assert read_owner(tmp_path) is None


def test_an_owner_file_is_replaced_whole(tmp_path: Path) -> None:
    write_owner(tmp_path, Owner.here())
    assert [path.name for path in tmp_path.iterdir()] == ["owner.json"]


def test_names_carry_the_run() -> None:
    run_id = new_run_id()
    assert (
        run_of(scoped(run_id)) == run_of(link_name(run_id, "h")) == run_of(link_name(run_id, "n")) == run_id
    )
    assert len(link_name(run_id, "n")) <= 15  # IFNAMSIZ less the zero


@pytest.mark.parametrize(
    "name", ["chaoslat", "chaoslat-", "chaoslat-0a1b2c3", "xchaoslat-0a1b2c3d", "cl0a1b2c3d"]
)
def test_other_names_carry_none(name: str) -> None:
    assert run_of(name) is None


def test_where_runs_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHAOSLAT_STATE")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert runs_root() == Path("/run/chaoslat")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1000")
    assert runs_root() == Path("/run/user/1000/chaoslat")
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert runs_root().name == "chaoslat-of-1000"
