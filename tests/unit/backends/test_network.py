"""The choice of a run's network."""

from __future__ import annotations

from ipaddress import IPv4Network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoslat.backends.local.layout import Layout
from chaoslat.backends.local.network import BENCHMARKING, free_network
from chaoslat.errors import EnvironmentMissing

RUN_IDS = st.integers(0, 2**32 - 1).map(lambda number: f"{number:08x}")


@given(RUN_IDS)
def test_four_addresses_of_the_benchmarking_range(run_id: str) -> None:
    network = free_network(run_id, [])
    assert network.prefixlen == 30
    assert network.subnet_of(BENCHMARKING)


@given(RUN_IDS, st.lists(st.integers(0, 2**15 - 1), max_size=5))
def test_never_one_that_is_taken(run_id: str, others: list[int]) -> None:
    base = int(BENCHMARKING.network_address)
    taken = [IPv4Network((base + 4 * other, 30)) for other in others] + [free_network(run_id, [])]
    assert not any(free_network(run_id, taken).overlaps(other) for other in taken)


def test_wraps_around_at_the_end_of_the_range() -> None:
    last = free_network("00007fff", [])
    assert last == IPv4Network("198.19.255.252/30")
    assert free_network("00007fff", [last]) == IPv4Network("198.18.0.0/30")


def test_a_full_range_is_said() -> None:
    with pytest.raises(EnvironmentMissing, match="in use"):
        free_network("0a1b2c3d", [IPv4Network("198.0.0.0/8")])


@given(RUN_IDS)
def test_interface_names_fit_the_kernel(run_id: str) -> None:
    layout = Layout(run_id, Path(f"/var/tmp/chaoslat-{run_id}"))
    assert len(layout.host_link) <= 15
    assert len(layout.db_link) <= 15
    assert layout.host_link != layout.db_link
    assert len(str(layout.db_socket)) <= 107
