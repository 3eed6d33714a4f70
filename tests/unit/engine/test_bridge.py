"""The subnet of a cluster overlaps nothing that the machine has a route to."""

from __future__ import annotations

from ipaddress import IPv4Network

import pytest

from chaoslat.engine import bridge
from chaoslat.engine.bridge import BENCHMARKING, Bridge, free_subnet
from chaoslat.errors import EnvironmentMissing

RUN = "0a1b2c3d"


def test_a_run_always_gets_the_same_subnet_of_the_benchmark_range() -> None:
    assert free_subnet(RUN, []) == free_subnet(RUN, [])
    assert free_subnet(RUN, []).subnet_of(BENCHMARKING)


def test_other_runs_get_other_subnets() -> None:
    assert free_subnet(RUN, []) != free_subnet("0a1b2c3e", [])


def test_a_subnet_that_is_taken_is_passed_over() -> None:
    first = free_subnet(RUN, [])
    part = IPv4Network((int(first.network_address) + 8, 30))
    assert not free_subnet(RUN, [part]).overlaps(first)


def test_a_full_range_is_an_error() -> None:
    with pytest.raises(EnvironmentMissing, match="in use"):
        free_subnet(RUN, [BENCHMARKING])


def test_the_last_subnet_is_followed_by_the_first() -> None:
    last = list(BENCHMARKING.subnets(new_prefix=24))[-1]
    run_id = f"{511:08x}"
    assert free_subnet(run_id, []) == last
    assert free_subnet(run_id, [last]) == IPv4Network("198.18.0.0/24")


def test_name_and_addresses_follow_from_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "taken_networks", list)
    planned = bridge.plan(RUN)
    assert planned.name == "cl0a1b2c3db"
    assert planned.mac == "02:63:0a:1b:2c:3d"
    assert planned.gateway == str(planned.subnet.network_address + 1)


def test_what_is_taken_is_read_from_the_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    routes = '[{"dst":"default"},{"dst":"0.0.0.0/0"},{"dst":"198.18.4.0/24"},{"dst":"10.1.2.3"},{}]'
    monkeypatch.setattr(bridge, "run_tool", lambda *_: routes)
    assert bridge.taken_networks() == [IPv4Network("198.18.4.0/24"), IPv4Network("10.1.2.3/32")]


def test_a_bridge_has_no_address_outside_its_subnet() -> None:
    subnet = IPv4Network("198.18.7.0/24")
    assert Bridge("b", "m", subnet).gateway == "198.18.7.1"
