"""A real fence, in network namespaces that stand in for a machine, its nodes, and the world outside.

The machine forwards packets and the outside would answer: all that holds a packet back is the fence.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaoslat.ledger import new_run_id
from chaoslat.parts.iproute2 import tool
from tests.contract.privileged import privileged

pytestmark = [
    privileged,
    pytest.mark.skipif(
        tool("nft") is None, reason="nft is missing: apt-get install nftables (make node-image does)"
    ),
]

BRIDGE, MAC, SUBNET = "testbr0", "02:63:00:00:00:01", "198.18.5.0/24"
GATEWAY, NODE, SECOND, POD = "198.18.5.1", "198.18.5.2", "198.18.5.3", "10.244.1.5"
OUTSIDE, OUTSIDE_IPV6 = "203.0.113.1", "2001:db8::1"  # addresses for documentation
CONNECT = """
import socket, sys
host, port = sys.argv[1], int(sys.argv[2])
try:
    socket.create_connection((host, port), float(sys.argv[3])).close()
    print("connected")
except OSError as error:
    print(type(error).__name__, error.errno)
"""
LISTEN = """
import socket, sys
both = socket.create_server(("::", 8080), family=socket.AF_INET6, dualstack_ipv6=True)
print("listening", flush=True)
sys.stdin.read()
"""
FENCE = """
import sys
from chaoslat.engine.fence import Fence
fence = Fence(*sys.argv[2:])
print(getattr(fence, sys.argv[1])())
"""


class World:
    """Namespaces by role: `machine`, `node`, `second`, `outside`."""

    def __init__(self, run_id: str) -> None:
        self.table = f"chaoslat-{run_id}"
        self.names = {role: f"clt{run_id}{role[0]}" for role in ("machine", "node", "second", "outside")}

    def run(self, role: str, *argv: str) -> str:
        inside = ["nsenter", f"--net=/run/netns/{self.names[role]}", *argv]
        return subprocess.run(inside, check=True, capture_output=True, text=True, timeout=20).stdout.strip()

    def ip(self, role: str, *lines: str) -> None:
        for line in lines:
            self.run(role, "ip", *line.split())

    def connect(self, role: str, host: str, wait_s: float = 5.0) -> str:
        """`connected`, or the error; `wait_s` matters only where nothing answers."""
        return self.run(role, sys.executable, "-c", CONNECT, host, "8080", str(wait_s))

    def fence(self, call: str) -> str:
        return self.run("machine", sys.executable, "-c", FENCE, call, self.table, BRIDGE, MAC, SUBNET)

    def forward(self, on: bool) -> None:
        for name in ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"):
            self.run("machine", "sysctl", "-qw", f"{name}={int(on)}")

    def build(self) -> None:
        for name in self.names.values():
            subprocess.run(["ip", "netns", "add", name], check=True)
        self.ip("machine", "link set lo up", f"link add {BRIDGE} address {MAC} type bridge")
        self.ip("machine", f"addr add {GATEWAY}/24 dev {BRIDGE}", f"addr add fd99::1/64 dev {BRIDGE} nodad")
        self.ip("machine", f"link set {BRIDGE} up")
        self._node("node", NODE, "fd99::2")
        self._node("second", SECOND, "fd99::3")
        self.ip("second", "link set lo up", f"addr add {POD}/32 dev lo")
        self.ip("node", f"route add 10.244.1.0/24 via {SECOND}")
        self._outside()

    def _node(self, role: str, address: str, ipv6: str) -> None:
        self.ip("machine", f"link add {role} type veth peer name eth0 netns {self.names[role]}")
        self.ip("machine", f"link set {role} master {BRIDGE} up")
        self.ip(
            role, f"addr add {address}/24 dev eth0", f"addr add {ipv6}/64 dev eth0 nodad", "link set eth0 up"
        )
        self.ip(role, f"route add default via {GATEWAY}", "-6 route add default via fd99::1")

    def _outside(self) -> None:
        self.ip("machine", f"link add out type veth peer name eth0 netns {self.names['outside']}")
        self.ip("machine", "addr add 203.0.113.254/24 dev out", "addr add 2001:db8::254/64 dev out nodad")
        self.ip("machine", "link set out up")
        self.ip("outside", f"addr add {OUTSIDE}/24 dev eth0", f"addr add {OUTSIDE_IPV6}/64 dev eth0 nodad")
        self.ip("outside", "link set eth0 up", "route add default via 203.0.113.254")
        self.ip("outside", "-6 route add default via 2001:db8::254")

    def remove(self) -> None:
        for name in self.names.values():
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)

    def count_sent(self) -> None:
        """Count what goes to the outside, neighbour discovery left out."""
        counted = ("meta l4proto tcp", "ip protocol icmp", "icmpv6 type destination-unreachable")
        rules = [f'add rule inet sent out oifname "out" {what} counter' for what in counted]
        chain = "add chain inet sent out { type filter hook postrouting priority 100; }"
        self.run("machine", "nft", "\n".join(["add table inet sent", chain, *rules]))

    def sent(self) -> int:
        """Packets counted so far."""
        listed = self.run("machine", "nft", "list", "table", "inet", "sent")
        return sum(map(int, re.findall(r"packets (\d+)", listed)))


@pytest.fixture
def world() -> Iterator[World]:
    built = World(new_run_id())
    listeners: list[subprocess.Popen[str]] = []
    try:
        built.build()
        for role in ("machine", "second", "outside"):
            inside = ["nsenter", f"--net=/run/netns/{built.names[role]}", sys.executable, "-c", LISTEN]
            listener = subprocess.Popen(inside, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            listeners.append(listener)
            assert listener.stdout is not None
            assert listener.stdout.readline() == "listening\n"
        built.forward(True)
        built.count_sent()
        yield built
    finally:
        for listener in listeners:
            listener.communicate(timeout=10)
        built.remove()
        assert not [name for name in built.names.values() if Path("/run/netns", name).exists()]


def test_without_a_fence_all_is_open(world: World) -> None:
    """What the other tests see closed is closed by the fence, and by nothing else here."""
    for host in (OUTSIDE, OUTSIDE_IPV6, GATEWAY, SECOND, POD):
        assert world.connect("node", host) == "connected"
    assert world.connect("outside", SECOND) == "connected"
    assert world.sent() > 0


@pytest.mark.parametrize("forward", [True, False], ids=["forwarding", "not forwarding"])
def test_a_packet_to_the_outside_is_refused(forward: bool, world: World) -> None:
    world.fence("put_up")
    world.forward(forward)
    assert world.connect("node", OUTSIDE) == "OSError 113"  # refused at once, not left to time out
    assert world.connect("node", OUTSIDE_IPV6, wait_s=0.7) != "connected"
    assert world.sent() == 0
    assert int(world.fence("stopped_packets")) >= 2


def test_neither_the_machine_s_own_ports_nor_its_addresses_are_open_to_a_node(world: World) -> None:
    world.fence("put_up")
    assert world.connect("node", GATEWAY) == "OSError 113"
    assert world.connect("node", "203.0.113.254") == "OSError 113"
    assert world.connect("node", "fd99::1", wait_s=0.7) != "connected"


def test_nodes_and_pods_reach_each_other_and_the_machine_reaches_them(world: World) -> None:
    world.fence("put_up")
    assert world.connect("node", SECOND) == "connected"
    assert world.connect("node", POD) == "connected"
    assert world.connect("machine", SECOND) == "connected"


def test_the_outside_does_not_reach_a_node(world: World) -> None:
    world.fence("put_up")
    assert world.connect("outside", SECOND, wait_s=0.7) != "connected"


def test_an_address_that_is_not_the_node_s_is_not_even_answered(world: World) -> None:
    """A refusal would look for that address outside."""
    world.fence("put_up")
    world.ip("second", f"route add {OUTSIDE} via {GATEWAY} src {POD}")
    assert world.connect("second", OUTSIDE, wait_s=0.7) == "TimeoutError None"
    assert world.sent() == 0


def test_it_is_read_back_and_missed_when_somebody_removes_it(world: World) -> None:
    world.fence("put_up")
    assert world.fence("missing") == ""
    world.run("machine", "nft", "flush", "chain", "inet", world.table, "arriving")
    assert "arriving" in world.fence("missing")
    world.fence("put_up")
    assert world.fence("missing") == ""


def test_it_is_taken_down_in_one_piece(world: World) -> None:
    world.fence("put_up")
    world.fence("take_down")
    world.fence("take_down")
    assert world.run("machine", "nft", "list", "tables") == "table inet sent"
    assert world.connect("node", OUTSIDE) == "connected"
