"""The database's own network namespace, joined to the host's by a veth pair; no way out of the machine."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_network

from chaoslat.backends.local.layout import Layout
from chaoslat.errors import EnvironmentMissing

BENCHMARKING = IPv4Network("198.18.0.0/15")
"""Set aside for tests of network devices (RFC 2544), so that nobody's real network is in it."""
PREFIX_BITS = 30
_COUNT = 2 ** (PREFIX_BITS - BENCHMARKING.prefixlen)


@dataclass(frozen=True, slots=True)
class Link:
    """The two addresses of the veth pair."""

    host: str
    db: str


def join(layout: Layout) -> Link:
    """Make namespace and link. Raises EnvironmentMissing when the kernel or a missing privilege refuses."""
    network = free_network(layout.run_id, taken_networks())
    host, db = (str(address) for address in network.hosts())
    run(["ip", "netns", "add", layout.netns])
    batch(
        [
            f"link add {layout.host_link} type veth peer name {layout.db_link} netns {layout.netns}",
            f"addr add {host}/{PREFIX_BITS} dev {layout.host_link}",
            f"link set {layout.host_link} up",
        ]
    )
    batch(
        [
            "link set lo up",
            f"addr add {db}/{PREFIX_BITS} dev {layout.db_link}",
            f"link set {layout.db_link} up",
        ],
        netns=layout.netns,
    )
    return Link(host, db)


def free_network(run_id: str, taken: Iterable[IPv4Network]) -> IPv4Network:
    """A /30 that the run's id picks, or the next one that overlaps nothing taken."""
    first, taken = int(run_id, 16), list(taken)
    for step in range(_COUNT):
        offset = (first + step) % _COUNT << (32 - PREFIX_BITS)
        network = IPv4Network((int(BENCHMARKING.network_address) + offset, PREFIX_BITS))
        if not any(network.overlaps(other) for other in taken):
            return network
    raise EnvironmentMissing(
        f"All of {BENCHMARKING} is in use", why="a run takes a network of four addresses there"
    )


def taken_networks() -> list[IPv4Network]:
    """What this host already has a route to, the default route left out."""
    routes = json.loads(run(["ip", "-j", "-4", "route", "show", "table", "all"]) or "[]")
    networks = [ip_network(route["dst"]) for route in routes if route.get("dst", "default") != "default"]
    return [network for network in networks if isinstance(network, IPv4Network) and network.prefixlen > 0]


def batch(lines: Sequence[str], netns: str = "") -> None:
    """Several `ip` commands in one process, in the namespace if one is named."""
    run(["ip", *(["-n", netns] if netns else []), "-batch", "-"], stdin="\n".join(lines) + "\n")


def run(argv: Sequence[str], stdin: str | None = None) -> str:
    """What the command printed. Raises EnvironmentMissing when it is missing or fails."""
    try:
        done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=10, check=False)
    except FileNotFoundError as error:
        raise EnvironmentMissing(
            f"{argv[0]} is missing", why=str(error), fix="apt-get install iproute2"
        ) from error
    if done.returncode != 0:
        raise EnvironmentMissing(
            "The network of the run cannot be made",
            where=" ".join(argv),
            why=done.stderr.strip(),
            fix="chaoslat doctor",
        )
    return done.stdout
