"""The latency log: what goes in comes out, live as later, and damage is refused."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaoslat.errors import ChaoslatError
from chaoslat.load import LatencyLog, RateChange, Requests
from chaoslat.load.log import RECORD_DTYPE
from chaoslat.load.record import PREAMBLE, RECORD, LogWriter
from chaoslat.load.server_timing import UNKNOWN, UNKNOWN_COUNT, UNKNOWN_US, ServerTiming
from tests.load_doubles import HEADER, START_NS, new_log

START_S = START_NS / 1e9
FOR_EVER_S = 1e9
IN_A_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


class Sent(NamedTuple):
    """One request of a made-up history, in microseconds."""

    gap_us: int
    lag_us: int
    latency_us: int | None  # None: never ended
    status: int
    timing: ServerTiming


TIMINGS = st.builds(
    ServerTiming,
    acquire_us=st.integers(0, UNKNOWN_US),
    query_us=st.integers(0, UNKNOWN_US),
    cpu_us=st.integers(0, UNKNOWN_US),
    statements=st.integers(0, UNKNOWN_COUNT),
)
HISTORIES = st.lists(
    st.builds(
        Sent,
        gap_us=st.integers(0, 50_000),
        lag_us=st.integers(0, 5_000),
        latency_us=st.none() | st.integers(5_000, 300_000),
        status=st.sampled_from([0, 200, 503]),
        timing=TIMINGS,
    ),
    max_size=40,
)


def events(history: list[Sent]) -> list[tuple[int, int, str, int]]:
    """(time, seq, kind, due), in the order of time: as the generator writes them."""
    found, due_ns = [], START_NS
    for seq, sent in enumerate(history):
        due_ns += sent.gap_us * 1000
        found.append((due_ns + sent.lag_us * 1000, seq, "a sent", due_ns))
        if sent.latency_us is not None:
            found.append((due_ns + sent.latency_us * 1000, seq, "b done", due_ns))
    return sorted(found)


def write(log: LogWriter, sent: Sent, seq: int, kind: str, due_ns: int) -> None:
    if kind == "a sent":
        log.sent(seq, seq % 2, due_ns, sent.lag_us)
    else:
        log.done(seq, seq % 2, sent.status, due_ns, sent.lag_us, sent.latency_us or 0, sent.timing)


def write_all(path: Path, history: list[Sent]) -> list[int]:
    """The due times."""
    due_ns = START_NS + np.cumsum([sent.gap_us * 1000 for sent in history], dtype=np.int64)
    log = new_log(path)
    for seq, sent in enumerate(history):
        write(log, sent, seq, "a sent", int(due_ns[seq]))
    for seq in reversed(range(len(history))):  # they end in any order
        if history[seq].latency_us is not None:
            write(log, history[seq], seq, "b done", int(due_ns[seq]))
    log.close()
    return due_ns.tolist()


def same(left: Requests, right: Requests) -> bool:
    return all(
        np.array_equal(
            getattr(left, name), getattr(right, name), equal_nan=getattr(left, name).dtype.kind == "f"
        )
        for name in Requests.__slots__
    )


def fresh(folder: Path) -> Path:
    path = folder / "x.log"
    path.unlink(missing_ok=True)
    return path


@IN_A_FOLDER
@given(history=HISTORIES)
def test_round_trip(tmp_path: Path, history: list[Sent]) -> None:
    path = fresh(tmp_path)
    due_ns = write_all(path, history)
    seen = LatencyLog(path).between(0.0, FOR_EVER_S, FOR_EVER_S)
    assert len(seen) == len(history)
    assert seen.due_s.tolist() == [due / 1e9 for due in due_ns]
    for row, sent in enumerate(history):
        assert_row(seen, row, sent)
    assert seen.shape.tolist() == [seq % 2 for seq in range(len(history))]


def assert_row(seen: Requests, row: int, sent: Sent) -> None:
    assert seen.lag_ms[row] == sent.lag_us / 1000
    assert seen.done[row] == (sent.latency_us is not None)
    if sent.latency_us is None:
        assert (seen.status[row], seen.statements[row]) == (0, -1)
        assert math.isnan(seen.query_ms[row])
        return
    assert seen.latency_ms[row] == pytest.approx(sent.latency_us / 1000)
    assert seen.status[row] == sent.status
    for name in ("acquire", "query", "cpu"):
        value_us = getattr(sent.timing, f"{name}_us")
        expected = math.nan if value_us == UNKNOWN_US else value_us / 1000
        assert getattr(seen, f"{name}_ms")[row] == pytest.approx(expected, nan_ok=True)
    known = sent.timing.statements != UNKNOWN_COUNT
    assert seen.statements[row] == (sent.timing.statements if known else -1)


@IN_A_FOLDER
@given(history=HISTORIES, look_us=st.lists(st.integers(0, 2_000_000), min_size=1, max_size=5))
def test_a_finished_log_answers_as_it_did_live(
    tmp_path: Path, history: list[Sent], look_us: list[int]
) -> None:
    path = fresh(tmp_path)
    history = [
        sent._replace(lag_us=0) for sent in history
    ]  # else the order of sending is not that of due times
    looks_ns = sorted(START_NS + look * 1000 for look in look_us)
    log, live = new_log(path), LatencyLog(path)
    pending, answers = events(history), []
    for look_ns in looks_ns:
        while pending and pending[0][0] <= look_ns:
            _, seq, kind, due_ns = pending.pop(0)
            write(log, history[seq], seq, kind, due_ns)
        answers.append(live.between(START_S, look_ns / 1e9, look_ns / 1e9))
    for _, seq, kind, due_ns in pending:
        write(log, history[seq], seq, kind, due_ns)
    log.close()
    for look_ns, answer in zip(looks_ns, answers, strict=True):
        for reader in (live, LatencyLog(path)):
            assert same(reader.between(START_S, look_ns / 1e9, look_ns / 1e9), answer)


def test_an_unfinished_request_counts_with_its_age(tmp_path: Path) -> None:
    log = new_log(tmp_path / "x.log")
    log.sent(0, 0, START_NS, 500)
    log.sent(1, 0, START_NS + 10_000_000, 0)
    log.done(0, 0, 200, START_NS, 500, 80_000)
    log.close()
    reader = LatencyLog(tmp_path / "x.log")
    early = reader.between(START_S, START_S + 1, START_S + 0.050)
    assert early.done.tolist() == [False, False]
    assert early.latency_ms.tolist() == pytest.approx([50.0, 40.0])
    later = reader.between(START_S, START_S + 1, START_S + 0.080)
    assert later.done.tolist() == [True, False]
    assert later.latency_ms.tolist() == pytest.approx([80.0, 70.0])


def test_a_request_is_unknown_until_it_was_sent(tmp_path: Path) -> None:
    log = new_log(tmp_path / "x.log")
    log.sent(0, 0, START_NS, 5_000)
    log.close()
    reader = LatencyLog(tmp_path / "x.log")
    assert len(reader.between(START_S, START_S + 1, START_S + 0.004)) == 0
    assert len(reader.between(START_S, START_S + 1, START_S + 0.005)) == 1


def test_the_window_is_half_open(tmp_path: Path) -> None:
    log = new_log(tmp_path / "x.log")
    for seq in range(4):
        log.sent(seq, 0, START_NS + seq * 10**9, 0)
    log.close()
    seen = LatencyLog(tmp_path / "x.log").between(START_S + 1, START_S + 3, FOR_EVER_S)
    assert seen.due_s.tolist() == [START_S + 1, START_S + 2]


def test_select_cuts_every_column(tmp_path: Path) -> None:
    write_all(tmp_path / "x.log", [Sent(1000, seq, 5000 + seq, 200, UNKNOWN) for seq in range(10)])
    seen = LatencyLog(tmp_path / "x.log").between(0.0, FOR_EVER_S, FOR_EVER_S)
    cut = seen.select(seen.shape == 1)
    assert {len(getattr(cut, name)) for name in Requests.__slots__} == {5}
    assert cut.lag_ms.tolist() == pytest.approx([0.001, 0.003, 0.005, 0.007, 0.009])


def test_grows_past_its_first_allocation(tmp_path: Path) -> None:
    log, reader = new_log(tmp_path / "x.log"), LatencyLog(tmp_path / "x.log")
    for seq in range(5000):
        log.sent(seq, 0, START_NS + seq, 0)
        if seq % 700 == 0:
            assert len(reader.between(0.0, FOR_EVER_S, FOR_EVER_S)) == seq + 1
    log.close()
    assert len(reader.between(0.0, FOR_EVER_S, FOR_EVER_S)) == 5000


def test_rate_changes_are_kept_apart_from_requests(tmp_path: Path) -> None:
    log = new_log(tmp_path / "x.log")
    log.sent(0, 0, START_NS, 0)
    log.rate(START_NS + 10**9, 120.5, 1)
    log.sent(1, 0, START_NS + 2 * 10**9, 0)
    log.close()
    reader = LatencyLog(tmp_path / "x.log")
    assert reader.rates() == (RateChange(START_S, 100.0), RateChange(START_S + 1, 120.5))
    assert len(reader.between(0.0, FOR_EVER_S, FOR_EVER_S)) == 2


def test_header_comes_back(tmp_path: Path) -> None:
    new_log(tmp_path / "x.log").close()
    assert LatencyLog(tmp_path / "x.log").header == HEADER


def test_never_writes_over_a_log(tmp_path: Path) -> None:
    new_log(tmp_path / "x.log").close()
    with pytest.raises(ChaoslatError, match="cannot be written"):
        new_log(tmp_path / "x.log")


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """A log of 20 requests, all of them ended."""
    path = tmp_path / "full.log"
    write_all(path, [Sent(1000, 100, 5000, 200, UNKNOWN)] * 20)
    return path


def records_begin(path: Path) -> int:
    return PREAMBLE.size + PREAMBLE.unpack(path.read_bytes()[: PREAMBLE.size])[3]


@pytest.mark.parametrize("torn", range(1, RECORD.size))
def test_a_torn_last_record_is_left_for_later(full: Path, torn: int) -> None:
    whole = full.read_bytes()
    full.write_bytes(whole[:-torn])
    reader = LatencyLog(full)
    assert reader.between(0.0, FOR_EVER_S, FOR_EVER_S).done.sum() == 19
    full.write_bytes(whole)
    assert reader.between(0.0, FOR_EVER_S, FOR_EVER_S).done.sum() == 20


def test_a_flipped_bit_is_refused_wherever_it_is(full: Path) -> None:
    whole = full.read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << (place % 8)
        full.write_bytes(damaged)
        with pytest.raises(ChaoslatError, match=r"damaged|not a latency log"):
            LatencyLog(full).between(0.0, FOR_EVER_S, FOR_EVER_S)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda records: [*records[:3], *records[4:]], "missing or out of order"),
        (lambda records: [*records[:3], records[3], *records[3:]], "missing or out of order"),
        (lambda records: records[20:], "never sent"),
        (lambda records: [b"\0" * RECORD.size, *records], "check does not match"),
    ],
    ids=["one missing", "one twice", "the beginning missing", "zeros"],
)
def test_damage_between_records_is_refused(full: Path, damage, why: str) -> None:
    whole, begin = full.read_bytes(), records_begin(full)
    records = [whole[place : place + RECORD.size] for place in range(begin, len(whole), RECORD.size)]
    full.write_bytes(whole[:begin] + b"".join(damage(records)))
    with pytest.raises(ChaoslatError) as caught:
        LatencyLog(full).between(0.0, FOR_EVER_S, FOR_EVER_S)
    assert why in caught.value.why
    assert str(full) in caught.value.where


def test_due_times_that_run_backwards_are_refused(tmp_path: Path) -> None:
    log = new_log(tmp_path / "x.log")
    log.sent(0, 0, START_NS, 0)
    log.sent(1, 0, START_NS - 1, 0)
    log.close()
    with pytest.raises(ChaoslatError, match="damaged"):
        LatencyLog(tmp_path / "x.log").between(0.0, FOR_EVER_S, FOR_EVER_S)


@pytest.mark.parametrize("content", [b"", b"CHLATLOG", b"PK\x03\x04" + os.urandom(100), b"{}\n" * 50])
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(content)
    with pytest.raises(ChaoslatError, match="not a latency log"):
        LatencyLog(path)


def test_a_later_version_is_named(full: Path) -> None:
    whole = bytearray(full.read_bytes())
    whole[8] = 9
    full.write_bytes(whole)
    with pytest.raises(ChaoslatError) as caught:
        LatencyLog(full)
    assert "version 9" in caught.value.why


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ChaoslatError, match="cannot be read") as caught:
        LatencyLog(tmp_path / "absent.log")
    assert "absent.log" in caught.value.where


def test_numpy_and_struct_agree_on_the_record() -> None:
    assert RECORD_DTYPE.itemsize == RECORD.size == 40
    values = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
    (row,) = np.frombuffer(RECORD.pack(*values), RECORD_DTYPE)
    assert tuple(row.tolist()) == values
