"""The ledger: a promise is on the disk before it is kept, and a kill at any byte loses nothing that was promised."""

from __future__ import annotations

import errno
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoslat.errors import ChaoslatError, UsageError
from chaoslat.ledger import Entry, Ledger, runs_root
from chaoslat.ledger.journal import Journal
from chaoslat.ledger.state import made_mark
from tests.unit.ledger.conftest import RUN

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def file_of(ledger: Ledger) -> Path:
    return ledger.folder / "ledger.jsonl"


def test_what_is_promised_is_pending_newest_first(ledger: Ledger) -> None:
    first = ledger.promise("file", path="/x", content="1")
    second = ledger.promise("tree", path="/y")
    assert ledger.pending() == [
        Entry(second, "tree", {"path": "/y"}, RUN),
        Entry(first, "file", {"path": "/x", "content": "1"}, RUN),
    ]


def test_what_is_settled_is_not_pending(ledger: Ledger) -> None:
    first, second = ledger.promise("file"), ledger.promise("tree")
    ledger.settle(first)
    assert [entry.number for entry in ledger.pending()] == [second]


def test_a_promise_is_on_the_disk_when_it_returns(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(os.readlink(f"/proc/self/fd/{fd}")), real(fd)))
    ledger.promise("file")
    assert synced == [str(file_of(ledger)), str(ledger.folder)]


def test_another_process_sees_and_settles_it(ledger: Ledger) -> None:
    entry = ledger.promise("file", path="/x")
    other = Ledger.open(RUN)
    assert other.pending() == ledger.pending()
    other.settle(entry)
    assert ledger.pending() == []
    assert other.promise("tree") == entry + 1


@given(st.dictionaries(st.text(min_size=1).filter(lambda key: key not in ("self", "kind")), JSON, max_size=4))
def test_arguments_come_back_as_they_were(args: dict[str, object]) -> None:
    path = runs_root()
    path.mkdir(exist_ok=True)
    (path / "ledger.jsonl").write_text("")
    ledger = Ledger(RUN, path)
    ledger.promise("kind", **args)  # type: ignore[arg-type]
    assert ledger.pending()[0].args == args


@given(st.data())
def test_a_torn_last_line_loses_nothing_else(data: st.DataObject) -> None:
    folder = runs_root()
    folder.mkdir(exist_ok=True)
    lines = [json.dumps({"entry": number, "kind": "file", "args": {}}) + "\n" for number in (1, 2, 3)]
    torn = data.draw(st.integers(0, len(lines[2]) - 1))
    (folder / "ledger.jsonl").write_text("".join(lines[:2]) + lines[2][:torn])
    ledger = Ledger(RUN, folder)
    assert [entry.number for entry in ledger.pending()] == [2, 1]
    assert ledger.promise("tree") == 3  # and what is written next is not joined to the torn end
    assert [(entry.number, entry.kind) for entry in ledger.pending()] == [
        (3, "tree"),
        (2, "file"),
        (1, "file"),
    ]


def test_a_full_disk_promises_nothing(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(ChaoslatError) as caught:
        ledger.promise("file", path="/x")
    assert "nothing was changed" in caught.value.what
    assert "No space left" in caught.value.why
    assert ledger.pending() == []


def test_a_write_that_breaks_off_leaves_the_file_as_it_was(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.promise("file")
    before = file_of(ledger).read_bytes()
    real = os.pwrite

    def half(fd: int, content: bytes, offset: int) -> int:
        if len(content) < 10:
            raise OSError(errno.ENOSPC, "full")
        return real(fd, content[: len(content) // 2], offset)

    monkeypatch.setattr(os, "pwrite", half)
    with pytest.raises(ChaoslatError):
        ledger.promise("tree")
    assert file_of(ledger).read_bytes() == before


def test_a_folder_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("CHAOSLAT_STATE", str(tmp_path / "file"))
    with pytest.raises(ChaoslatError, match="nothing was changed"):
        Ledger.create(RUN)


def test_a_run_is_never_seen_in_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise OSError(errno.EIO, "the machine stopped here")

    monkeypatch.setattr("chaoslat.ledger.ledger.sync_folder", killed)
    with pytest.raises(ChaoslatError):
        Ledger.create(RUN)
    assert [path.name for path in runs_root().iterdir()] == ["aside"]
    assert list((runs_root() / "aside").iterdir()) == []


def test_what_a_killed_close_left_goes_with_the_next(ledger: Ledger) -> None:
    (runs_root() / "aside" / "11111111.7.gone" / "db").mkdir(parents=True)
    ledger.close_run()
    assert list((runs_root() / "aside").iterdir()) == []


def test_a_run_exists_once(ledger: Ledger) -> None:
    with pytest.raises(UsageError, match="exists already"):
        Ledger.create(RUN)
    assert ledger.folder.exists()


@pytest.mark.parametrize("run_id", ["", "../../etc", "0a1b2c3", "0A1B2C3D", "0a1b2c3d/x", "0a1b2c3d\n"])
def test_an_id_is_never_a_path(run_id: str) -> None:
    for method in (Ledger.create, Ledger.open):
        with pytest.raises(UsageError):
            method(run_id)


def test_a_run_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="no run"):
        Ledger.open(RUN)


def test_a_run_is_closed_only_when_all_is_undone(ledger: Ledger) -> None:
    entry = ledger.promise("file")
    with pytest.raises(ChaoslatError, match="not closed"):
        ledger.close_run()
    ledger.settle(entry)
    ledger.close_run()
    ledger.close_run()
    assert not ledger.folder.exists()
    assert not made_mark(RUN).exists()


@pytest.mark.parametrize("line", [b"[1]\n", b"garbage\n", b"\xff\xfe\n", b'"text"\n'])
def test_a_whole_line_that_is_none_is_a_plain_error(ledger: Ledger, line: bytes) -> None:
    file_of(ledger).write_bytes(line)
    with pytest.raises(ChaoslatError, match="cannot be read"):
        ledger.pending()
    with pytest.raises(ChaoslatError):
        ledger.promise("file")


def test_writers_take_turns(ledger: Ledger) -> None:
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda _: Ledger.open(RUN).promise("file"), range(40)))
    assert sorted(numbers) == list(range(1, 41))
    assert len(Journal(file_of(ledger)).read()) == 40
