"""The app's own times: read where they can be, unknown where not, never an error."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoslat.load.server_timing import (
    UNKNOWN,
    UNKNOWN_COUNT,
    UNKNOWN_US,
    ServerTiming,
    parse_server_timing,
)

MILLISECONDS = st.floats(0, 4_000_000).map(lambda value: round(value, 3))


@given(MILLISECONDS, MILLISECONDS, MILLISECONDS, st.integers(0, 65_534))
def test_what_the_app_writes(acquire_ms: float, query_ms: float, cpu_ms: float, statements: int) -> None:
    header = (
        f'acquire;dur={acquire_ms:.3f}, query;dur={query_ms:.3f};desc="n={statements}", cpu;dur={cpu_ms:.3f}'
    )
    seen = parse_server_timing(header)
    assert seen[:3] == pytest.approx([acquire_ms * 1000, query_ms * 1000, cpu_ms * 1000], abs=0.51)
    assert seen.statements == statements


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", UNKNOWN),
        ("cpu", UNKNOWN),
        ("cpu;dur=1", ServerTiming(cpu_us=1000)),
        ("CPU ; DUR = 1", ServerTiming(cpu_us=1000)),
        ('cpu;desc="a, b;dur=7";dur=1,acquire;dur=2', ServerTiming(acquire_us=2000, cpu_us=1000)),
        ('cpu;desc="say \\"x\\", y";dur=1', ServerTiming(cpu_us=1000)),
        ("cpu;dur=1, cpu;dur=2", ServerTiming(cpu_us=1000)),
        ('cpu;dur="1.5"', ServerTiming(cpu_us=1500)),
        ("cache;dur=5, query;desc=n=2", UNKNOWN),
        ('query;desc="n=2"', ServerTiming(statements=2)),
        ("cpu;dur=-1", UNKNOWN),
        ("cpu;dur=nan", UNKNOWN),
        ("cpu;dur=inf", UNKNOWN),
        ("cpu;dur=1e300", UNKNOWN),
        ("cpu;dur=fast", UNKNOWN),
        ("cpu;dur=0", ServerTiming(cpu_us=0)),
    ],
)
def test_other_forms(header: str, expected: ServerTiming) -> None:
    assert parse_server_timing(header) == expected


@given(st.text())
def test_never_raises_and_stays_in_range(header: str) -> None:
    assert_in_range(parse_server_timing(header))


@given(st.text(alphabet='acquirey;dur=0123456789.,"\\ n-', max_size=80))
def test_never_raises_on_near_misses(header: str) -> None:
    assert_in_range(parse_server_timing(header))


def assert_in_range(seen: ServerTiming) -> None:
    assert all(0 <= value <= UNKNOWN_US for value in seen[:3])
    assert 0 <= seen.statements <= UNKNOWN_COUNT


@pytest.mark.parametrize("header", ["a" * 65_000 + "(", "a;" * 30_000, 'a;b="' * 10_000, "\\" * 60_000])
def test_a_hostile_header_costs_little(header: str) -> None:
    begin_s = time.process_time()
    parse_server_timing(header)
    assert time.process_time() - begin_s < 1.0
