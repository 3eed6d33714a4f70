"""The database's memory limit, and the room that it leaves for leaked cgroups."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoslat.backends.local.memory import (
    LEAKABLE,
    LEAST_CACHE_BYTES,
    REFUSED_BELOW_BYTES,
    check_room,
    choose_limit_bytes,
)
from chaoslat.cgroup.base import MemoryReading
from chaoslat.errors import ChaoslatError

MB = 1024**2
CACHED = MemoryReading(
    path="pod",
    usage_bytes=560 * MB,
    limit_bytes=None,
    hits=0,
    shmem_bytes=0,
    cache_bytes=400 * MB,
    anon_bytes=158 * MB,
    kernel_bytes=2 * MB,
)
COST_BYTES = 17 * 1024


def test_the_limit_has_room_for_all_that_may_leak() -> None:
    assert choose_limit_bytes(CACHED, COST_BYTES) == 160 * MB + LEAKABLE * COST_BYTES + LEAST_CACHE_BYTES


def test_the_page_cache_never_holds_the_whole_table() -> None:
    """On a machine where a cgroup costs more, the room is less rather than the table cached."""
    assert choose_limit_bytes(CACHED, 10 * COST_BYTES) == 460 * MB


def leaked(count: int) -> MemoryReading:
    """The pod at its limit with `count` leaked: what they charge has displaced page cache."""
    limit_bytes = choose_limit_bytes(CACHED, COST_BYTES)
    pages = 4096 * count
    kernel = (COST_BYTES - 4096) * count
    cache_bytes = limit_bytes - 160 * MB - kernel
    return replace(
        CACHED,
        limit_bytes=limit_bytes,
        usage_bytes=limit_bytes,
        shmem_bytes=pages,
        cache_bytes=cache_bytes,
        kernel_bytes=2 * MB + kernel,
    )


@given(st.integers(0, LEAKABLE))
def test_up_to_the_design_number_may_leak(already: int) -> None:
    check_room(leaked(already), LEAKABLE - already, COST_BYTES)


@given(st.integers(0, LEAKABLE), st.integers(0, 10_000))
def test_what_would_kill_the_database_is_refused(already: int, beyond: int) -> None:
    killing = (LEAST_CACHE_BYTES - REFUSED_BELOW_BYTES) // COST_BYTES + 1
    with pytest.raises(ChaoslatError, match="no room to leak"):
        check_room(leaked(already), LEAKABLE - already + killing + beyond, COST_BYTES)


def test_without_a_limit_nothing_is_refused() -> None:
    check_room(CACHED, 1_000_000, COST_BYTES)
