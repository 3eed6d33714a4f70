"""Real: a cluster on a fenced engine. Nothing of it leaves this machine, and nothing of it is left on it.

Builds nothing: the images have to be in the cache (`make node-image`).
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest

from chaoslat import nodeimage
from chaoslat.engine import ground, images
from chaoslat.engine.bridge import taken_networks
from chaoslat.engine.ground import Ground
from chaoslat.engine.kind import Kind
from chaoslat.errors import ChaoslatError
from chaoslat.ledger import Ledger, heal, new_run_id
from chaoslat.ledger.lock import machine_lock
from tests.chaos.leftovers import gone_within

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.skipif(
        not all(nodeimage.catalogue()[name].ready(nodeimage.store()) for name in ("kind", "node", "tools")),
        reason="the images are not built: make node-image",
    ),
]
DOCUMENTATION = ("203.0.113.1", "198.51.100.1", "192.0.2.1")
OUTSIDE_IPV6 = "2001:db8::1"
READY_S = 60.0
CONFIG = """
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
networking: { apiServerAddress: 127.0.0.1 }
nodes: [{ role: control-plane }]
"""
POD = """
apiVersion: v1
kind: Pod
metadata: { name: tools }
spec:
  tolerations: [{ operator: Exists }]
  containers:
  - { name: tools, image: IMAGE, imagePullPolicy: Never, command: [sleep, "600"] }
"""
TRY = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 80), 10)
    print("connected")
except OSError as error:
    print(error.errno)
"""
NO_ROUTE_TO_HOST, UNREACHABLE = "113", "101"


def silent(message: str) -> None:
    pass


def firewall() -> str:
    return subprocess.run(["nft", "list", "ruleset"], capture_output=True, text=True, check=True).stdout


def tool(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=30).stdout.strip()


def outside() -> str:
    """An address for documentation that is in no network of this machine."""
    taken = taken_networks()
    return next(one for one in DOCUMENTATION if not any(ip_address(one) in network for network in taken))


class Watch:
    """Counts packets that go from the cluster's bridge to anywhere else. Begun before there is an engine."""

    def __init__(self, run_id: str) -> None:
        self.table, bridge = f"watch_{run_id}", f"cl{run_id}b"
        rules = [
            f"add table inet {self.table}",
            f"add chain inet {self.table} leaving {{ type filter hook postrouting priority 300; }}",
            f'add rule inet {self.table} leaving iifname "{bridge}" oifname != "{bridge}" counter',
            f"add rule inet {self.table} leaving ip daddr {{ {', '.join((*DOCUMENTATION, '203.0.113.53'))} }} counter",
            f"add rule inet {self.table} leaving ip6 daddr 2001:db8::/32 counter",
        ]
        if any(ip_address("192.0.2.1") in network for network in taken_networks()):
            rules[3] = rules[3].replace(", 192.0.2.1", "")  # it is a real one here
        tool("nft", "\n".join(rules))

    def packets(self) -> int:
        listed = json.loads(tool("nft", "-j", "list", "table", "inet", self.table))["nftables"]
        rules = [item["rule"]["expr"] for item in listed if "rule" in item]
        return sum(one["counter"]["packets"] for rule in rules for one in rule if "counter" in one)

    def end(self) -> None:
        tool("nft", "delete", "table", "inet", self.table)


class Cluster:
    """One node on laid ground, with the tools in a pod."""

    def __init__(self, laid: Ground, watch: Watch, folder: Path) -> None:
        self.ground, self.watch = laid, watch
        self.kind = Kind(nodeimage.program("kind"), laid)
        (folder / "kind.yaml").write_text(CONFIG)
        reference, archive = nodeimage.image("node")
        laid.bring(reference, archive, silent)
        self.kind.create(reference, folder / "kind.yaml", folder / "kubeconfig")
        (self.node,) = self.kind.nodes()

    def on_node(self, *argv: str, stdin: str = "") -> str:
        return self.ground.docker.run("exec", "--interactive", self.node, *argv, stdin=stdin).strip()

    def start_pod(self) -> None:
        reference, archive = nodeimage.image("tools")
        images.put_on_node(self.ground.docker, self.node, archive)
        self.on_node("kubectl", "apply", "-f", "-", stdin=POD.replace("IMAGE", reference))
        self.on_node("kubectl", "wait", "--for=condition=Ready", "pod/tools", f"--timeout={READY_S:.0f}s")

    def in_pod(self, *argv: str) -> str:
        return self.on_node("kubectl", "exec", "tools", "--", *argv)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Afterwards everything is undone as a healer would, and the machine is compared with what it was."""
    run_id, before = new_run_id(), firewall()
    forwarding = Path("/proc/sys/net/ipv4/ip_forward").read_text()
    with machine_lock(run_id, "test of the engine"):
        ledger = Ledger.create(run_id)
        watch = Watch(run_id)
        try:
            laid = ground.lay(run_id, ledger.promise, silent)
            made = Cluster(laid, watch, tmp_path_factory.mktemp("cluster"))
            made.start_pod()
            yield made
        finally:
            report = heal.heal(run_id)
            watch.end()
    assert report.failed == ()
    assert gone_within(run_id, 5) == []
    assert firewall() == before
    assert not Path(f"/sys/class/net/cl{run_id}b").exists()
    assert Path("/proc/sys/net/ipv4/ip_forward").read_text() == forwarding


def test_the_fence_stands_and_the_engine_adds_no_rules_of_its_own(cluster: Cluster) -> None:
    cluster.ground.verify()
    tables = {line for line in tool("nft", "list", "tables").splitlines() if "chaoslat" in line}
    assert tables == {f"table inet {cluster.ground.fence.table}"}
    if cluster.ground.private:
        assert "MASQUERADE" not in firewall()
        assert "docker" not in firewall().lower()


def test_a_packet_from_the_node_is_refused(cluster: Cluster) -> None:
    stopped = cluster.ground.fence.stopped_packets()
    started_s = time.monotonic()
    with pytest.raises(ChaoslatError, match="failed") as raised:
        cluster.on_node("bash", "-c", f"</dev/tcp/{outside()}/80")
    assert "No route to host" in raised.value.why
    assert time.monotonic() - started_s < 5.0
    assert cluster.ground.fence.stopped_packets() > stopped


def test_a_packet_from_a_pod_is_refused(cluster: Cluster) -> None:
    stopped = cluster.ground.fence.stopped_packets()
    assert cluster.in_pod("python3", "-c", TRY, outside()) == NO_ROUTE_TO_HOST
    assert cluster.ground.fence.stopped_packets() > stopped


def test_this_machine_s_own_ports_are_closed_to_node_and_pod(cluster: Cluster) -> None:
    gateway = cluster.ground.bridge.gateway
    assert cluster.in_pod("python3", "-c", TRY, gateway) == NO_ROUTE_TO_HOST
    with pytest.raises(ChaoslatError) as raised:
        cluster.on_node("bash", "-c", f"</dev/tcp/{gateway}/22")
    assert "No route to host" in raised.value.why


def test_there_is_no_ipv6_to_leave_by(cluster: Cluster) -> None:
    assert cluster.in_pod("python3", "-c", TRY, OUTSIDE_IPV6) == UNREACHABLE
    with pytest.raises(ChaoslatError, match="failed"):
        cluster.on_node("bash", "-c", f"</dev/tcp/{OUTSIDE_IPV6}/80")


def test_a_name_outside_is_not_asked_for_outside(cluster: Cluster) -> None:
    started_s = time.monotonic()
    with pytest.raises(ChaoslatError, match="failed"):
        cluster.on_node("getent", "hosts", "outside.invalid")
    assert time.monotonic() - started_s < 5.0


def test_with_the_fence_gone_no_node_is_started(cluster: Cluster, tmp_path: Path) -> None:
    config = tmp_path / "kind.yaml"
    config.write_text(CONFIG)
    cluster.ground.fence.take_down()
    try:
        with pytest.raises(ChaoslatError, match="not fenced"):
            cluster.kind.create(nodeimage.image("node")[0], config, tmp_path / "kubeconfig")
    finally:
        cluster.ground.fence.put_up()
    assert cluster.kind.nodes() == [cluster.node]


def test_nothing_has_left_this_machine_since_before_the_engine(cluster: Cluster) -> None:
    assert cluster.watch.packets() == 0
