"""The no-op prober, with a connection made by hand: its pauses, its errors, and a connection that is lost."""

from __future__ import annotations

import json

import pymysql
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoslat.probes import prober


class Connection:
    """A test double: counts statements, and fails at the one it is told to."""

    def __init__(self, fails_at: int = 0) -> None:
        self.asked, self.fails_at, self.closed = 0, fails_at, False

    def query(self, sql: str) -> None:
        assert sql == "DO 0"
        self.asked += 1
        if self.asked == self.fails_at:
            raise pymysql.OperationalError(2013, "lost connection")

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[Connection]:
    """What the prober's next connects give, in order; empty: refused."""
    ready: list[Connection] = []

    def connect(**_: object) -> Connection:
        if not ready:
            raise pymysql.OperationalError(2003, "refused")
        return ready.pop(0)

    monkeypatch.setattr(pymysql, "connect", connect)
    return ready


def make_prober() -> prober.Prober:
    return prober.Prober("127.0.0.1", 3306, "probe", "secret")


def test_one_figure_per_statement_and_one_that_warms_up(connections: list[Connection]) -> None:
    only = Connection()
    connections.append(only)
    assert len(make_prober().round_trips_ms(5, gap_ms=0.1)) == 5
    assert only.asked == 6


def test_the_connection_is_kept(connections: list[Connection]) -> None:
    connections.append(Connection())
    persistent = make_prober()
    persistent.round_trips_ms(1, 0.1)
    persistent.round_trips_ms(1, 0.1)
    assert connections == []


def test_a_lost_connection_is_opened_again(connections: list[Connection]) -> None:
    lost, next_one = Connection(fails_at=3), Connection()
    connections += [lost, next_one]
    assert len(make_prober().round_trips_ms(4, 0.1)) == 4
    assert lost.closed
    assert next_one.asked == 5


def test_a_database_that_stays_away_is_an_error_in_the_reply(connections: list[Connection]) -> None:
    reply = prober.answer(make_prober(), b'{"count": 1, "gap_ms": 1}')
    assert "refused" in str(reply["error"])


@given(st.binary())
def test_garbage_is_an_error_in_the_reply(line: bytes) -> None:
    reply = prober.answer(make_prober(), line)
    assert list(reply) == ["error"]
    json.dumps(reply)


@given(st.integers(1, 500), st.floats(1, 100))
def test_gaps_are_between_half_and_all_of_what_was_asked(count: int, gap_ms: float) -> None:
    gaps = list(prober.gaps_s(count, gap_ms))
    assert len(gaps) == count
    assert all(gap_ms / 2000 <= gap <= gap_ms / 1000 + 1e-12 for gap in gaps)


def test_gaps_keep_step_with_no_period() -> None:
    """Their starts, folded at the 100 ms of a CPU quota, fall into every tenth of it."""
    at_ms, phases = 0.0, set()
    for gap in prober.gaps_s(100, 20.0):
        phases.add(int(at_ms % 100 // 10))
        at_ms += gap * 1000
    assert phases == set(range(10))
