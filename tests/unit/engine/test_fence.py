"""A fence is up only when it was read back; without one no node starts."""

from __future__ import annotations

import json

import pytest

from chaoslat.engine import fence as module
from chaoslat.engine.fence import Fence, Unfenced, take_down
from chaoslat.errors import EnvironmentMissing
from tests.unit.engine.test_rules import BRIDGE, MAC, SUBNET, TABLE, listing

FENCE = Fence(TABLE, BRIDGE, MAC, SUBNET)


class Nft:
    """Stands in for the command: has a table or not; takes what it is told, or pretends to."""

    def __init__(self, *, there: bool = False, obeys: bool = True) -> None:
        self.there, self.obeys = there, obeys
        self.calls: list[tuple[str, ...]] = []

    def __call__(self, name: str, *args: str, stdin: str = "") -> str:
        assert name == "nft"
        self.calls.append(args)
        if args == ("list", "tables"):
            return f"table ip nat\ntable inet {TABLE}x\n" + (f"table inet {TABLE}\n" if self.there else "")
        if args[:2] == ("-j", "list"):
            return self._list()
        self.there = bool(stdin) and self.obeys
        return ""

    def _list(self) -> str:
        if not self.there:
            raise EnvironmentMissing("nft failed", why="No such file or directory")
        return json.dumps(listing())


@pytest.fixture
def nft(monkeypatch: pytest.MonkeyPatch) -> Nft:
    stand_in = Nft()
    monkeypatch.setattr(module, "run_tool", stand_in)
    return stand_in


def test_it_is_up_once_it_was_put_up(nft: Nft) -> None:
    FENCE.put_up()
    FENCE.verify()
    assert FENCE.missing() == ""


def test_putting_it_up_twice_adds_it_once(nft: Nft) -> None:
    FENCE.put_up()
    FENCE.put_up()
    assert [call for call in nft.calls if call == ("-f", "-")] == [("-f", "-")]


def test_rules_that_did_not_get_there_are_an_error(nft: Nft) -> None:
    nft.obeys = False
    with pytest.raises(Unfenced, match="no node is started") as raised:
        FENCE.put_up()
    assert "No such file" in raised.value.why


def test_no_rules_are_not_a_fence(nft: Nft) -> None:
    with pytest.raises(Unfenced):
        FENCE.verify()


def test_rules_for_another_bridge_are_not_a_fence(nft: Nft) -> None:
    nft.there = True
    with pytest.raises(Unfenced, match="not fenced") as raised:
        Fence(TABLE, "clffffffffb", MAC, SUBNET).verify()
    assert "arriving, passing" in raised.value.why


def test_an_answer_that_is_not_understood_is_not_a_fence(nft: Nft, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "run_tool", lambda *_, **__: "something else")
    with pytest.raises(Unfenced):
        FENCE.verify()


def test_what_it_stopped_is_counted_and_what_it_let_through_is_not(nft: Nft) -> None:
    nft.there = True
    assert FENCE.stopped_packets() == 5 * 3


def test_it_is_taken_down_once(nft: Nft) -> None:
    nft.there = True
    FENCE.take_down()
    take_down(TABLE)
    deletions = [call for call in nft.calls if call[0] == "delete"]
    assert deletions == [("delete", "table", "inet", TABLE)]
