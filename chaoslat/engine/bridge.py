"""The bridge that nodes are plugged into: made by us, with an address that is known before anything runs on it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_network
from pathlib import Path

from chaoslat.engine.run import run_tool
from chaoslat.errors import EnvironmentMissing
from chaoslat.ledger import link_name

BENCHMARKING = IPv4Network("198.18.0.0/15")
"""Set aside for tests of network devices (RFC 2544): nobody's real network is in it, and no router knows it."""
PREFIX_BITS = 24


@dataclass(frozen=True, slots=True)
class Bridge:
    """`gateway` is its address in `subnet`."""

    name: str
    mac: str
    subnet: IPv4Network

    @property
    def gateway(self) -> str:
        return str(self.subnet[1])


def plan(run_id: str) -> Bridge:
    """The bridge of a run, in a subnet that overlaps nothing here. Changes nothing."""
    octets = [run_id[start : start + 2] for start in range(0, 8, 2)]
    mac = ":".join(["02", "63", *octets])  # 02: administered locally
    return Bridge(link_name(run_id, "b"), mac, free_subnet(run_id, taken_networks()))


def add(bridge: Bridge) -> None:
    """Make it, up and without IPv6. Raises EnvironmentMissing without the privilege."""
    lines = [
        f"link add {bridge.name} address {bridge.mac} type bridge",
        f"addr add {bridge.gateway}/{bridge.subnet.prefixlen} dev {bridge.name}",
    ]
    run_tool("ip", "-batch", "-", stdin="\n".join(lines) + "\n")
    ipv6 = Path("/proc/sys/net/ipv6/conf", bridge.name, "disable_ipv6")
    if ipv6.exists():
        ipv6.write_text("1")
    run_tool("ip", "link", "set", bridge.name, "up")


def remove(name: str) -> None:
    """Remove a bridge; none there is fine."""
    if Path("/sys/class/net", name).exists():
        run_tool("ip", "link", "delete", name)


def free_subnet(run_id: str, taken: Iterable[IPv4Network]) -> IPv4Network:
    """The /24 of the range that the run's id picks, or the next one that overlaps nothing taken."""
    subnets = list(BENCHMARKING.subnets(new_prefix=PREFIX_BITS))
    first, taken = int(run_id, 16) % len(subnets), list(taken)
    for subnet in subnets[first:] + subnets[:first]:
        if not any(subnet.overlaps(other) for other in taken):
            return subnet
    raise EnvironmentMissing(f"All of {BENCHMARKING} is in use", why="a cluster takes a /24 of it")


def taken_networks() -> list[IPv4Network]:
    """What this machine has a route to, the default route left out."""
    routes = json.loads(run_tool("ip", "-j", "-4", "route", "show", "table", "all") or "[]")
    networks = [ip_network(route["dst"]) for route in routes if route.get("dst", "default") != "default"]
    return [one for one in networks if isinstance(one, IPv4Network) and one.prefixlen > 0]
