"""Promises of two hands in one real ledger: one per target, fulfilled from the newest to the oldest."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoslat.backends.local.promises import Promises
from chaoslat.ledger import Entry, Ledger
from chaoslat.ledger.undo import undo

RUN = "0a1b2c3d"


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    monkeypatch.setenv("CHAOSLAT_STATE", str(tmp_path / "state"))
    return Ledger.create(RUN)


class Hand:
    """A test double of an undo: keeps what it was asked to undo."""

    def __init__(self, ledger: Ledger, by: str) -> None:
        self.undone: list[str] = []
        self.promises = Promises(ledger, by, self.undo)

    def undo(self, entry: Entry) -> None:
        self.undone.append(str(entry.args["path"]))


def test_the_first_value_is_what_comes_back(tmp_path: Path, ledger: Ledger) -> None:
    setting = tmp_path / "quota"
    setting.write_text("first")
    promises = Promises(ledger, "operator", undo)
    for value in ("second", "third"):
        promises.keep("quota", "file", path=str(setting), content=setting.read_text())
        setting.write_text(value)
    assert promises.fulfil("quota")
    assert setting.read_text() == "first"
    assert ledger.pending() == []


def test_fulfilled_twice_or_never_promised_does_nothing(ledger: Ledger) -> None:
    hand = Hand(ledger, "operator")
    assert not hand.promises.fulfil("quota")
    hand.promises.keep("quota", "file", path="a", content="1")
    assert hand.promises.fulfil("quota")
    assert not hand.promises.fulfil("quota")
    assert hand.undone == ["a"]


def test_all_are_fulfilled_newest_first_and_only_once(ledger: Ledger) -> None:
    hand = Hand(ledger, "operator")
    for path in ("a", "b", "c"):
        hand.promises.keep(path, "file", path=path, content="1")
    hand.promises.fulfil_all()
    hand.promises.fulfil_all()
    assert hand.undone == ["c", "b", "a"]


def test_the_operator_never_undoes_a_fault(ledger: Ledger) -> None:
    operator, saboteur = Hand(ledger, "operator"), Hand(ledger, "saboteur")
    saboteur.promises.keep("quota", "file", path="fault", content="-1")
    operator.promises.keep("quota", "file", path="lifted", content="20000")
    operator.promises.fulfil_all()
    assert operator.undone == ["lifted"]
    assert saboteur.promises.kept("quota")


def test_promises_outlive_the_process_that_made_them(ledger: Ledger) -> None:
    Hand(ledger, "operator").promises.keep("quota", "file", path="a", content="1")
    attached = Hand(Ledger.open(RUN), "operator")
    assert attached.promises.kept("quota")
    attached.promises.fulfil_all()
    assert attached.undone == ["a"]


def test_an_undo_that_fails_stays_promised(ledger: Ledger) -> None:
    def failing(entry: Entry) -> None:
        raise OSError("disk")

    promises = Promises(ledger, "operator", failing)
    promises.keep("quota", "file", path="a", content="1")
    with pytest.raises(OSError, match="disk"):
        promises.fulfil("quota")
    assert promises.kept("quota")


def test_a_change_taken_back_by_hand_leaves_nothing(ledger: Ledger) -> None:
    hand = Hand(ledger, "saboteur")
    hand.promises.keep("toxic", "file", path="a", content="1")
    hand.promises.release("toxic")
    hand.promises.release("toxic")
    assert not hand.promises.kept("toxic")
    assert hand.undone == []
