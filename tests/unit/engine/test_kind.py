"""No cluster opens a port to other machines, gets the user's settings, or starts without a fence."""

from __future__ import annotations

from ipaddress import IPv4Network
from pathlib import Path
from types import SimpleNamespace

import pytest

from chaoslat.engine import kind as module
from chaoslat.engine.bridge import Bridge
from chaoslat.engine.docker import Docker
from chaoslat.engine.fence import Fence, Unfenced
from chaoslat.engine.ground import Ground
from chaoslat.engine.kind import Kind, refuse_open_ports
from chaoslat.errors import ChaoslatError, EnvironmentMissing, UsageError

CLOSED = """
networking: { apiServerAddress: 127.0.0.1 }
nodes:
- role: control-plane
  extraPortMappings:
  - { containerPort: 30080, hostPort: 30080, listenAddress: 127.0.0.1 }
- role: worker
"""
BRIDGE = Bridge("cl0a1b2c3db", "02:63:0a:1b:2c:3d", IPv4Network("198.18.61.0/24"))
FENCE = Fence("chaoslat-0a1b2c3d", BRIDGE.name, BRIDGE.mac, str(BRIDGE.subnet))
GROUND = Ground("0a1b2c3d", Docker("unix:///run/x.sock"), "chaoslat-0a1b2c3d", BRIDGE, FENCE, private=True)
KIND = Kind(Path("/opt/kind"), GROUND)


def config(folder: Path, text: str) -> Path:
    path = folder / "kind.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("text", [CLOSED, "", "kind: Cluster", CLOSED.replace("127.0.0.1", "'::1'")])
def test_ports_on_loopback_are_fine(text: str, tmp_path: Path) -> None:
    refuse_open_ports(config(tmp_path, text))


@pytest.mark.parametrize(
    "text",
    [
        CLOSED.replace(", listenAddress: 127.0.0.1", ""),
        CLOSED.replace("listenAddress: 127.0.0.1", "listenAddress: 0.0.0.0"),
        CLOSED.replace("apiServerAddress: 127.0.0.1", "apiServerAddress: 10.1.2.3"),
        CLOSED.replace("listenAddress: 127.0.0.1", "listenAddress: example.invalid"),
    ],
    ids=["kind's default", "all addresses", "the API server", "a name"],
)
def test_an_open_port_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="open to other machines"):
        refuse_open_ports(config(tmp_path, text))


@pytest.mark.parametrize("text", ["nodes: [", "- a list", "nodes: [a word]"])
def test_a_file_that_is_no_configuration_is_the_users_error(text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        refuse_open_ports(config(tmp_path, text))


def test_nothing_is_started_without_a_fence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unfenced(_: Fence) -> None:
        raise Unfenced("not fenced")

    monkeypatch.setattr(Fence, "verify", unfenced)
    monkeypatch.setattr(module, "run", lambda *_, **__: pytest.fail("kind was started"))
    with pytest.raises(Unfenced):
        KIND.create("image", config(tmp_path, CLOSED), tmp_path / "kubeconfig")


@pytest.mark.parametrize(
    "spoilt",
    [
        {"Options": {"com.docker.network.bridge.name": "docker0"}},
        {"Options": {"com.docker.network.bridge.name": BRIDGE.name}},
        {"EnableIPv6": True},
    ],
    ids=["another bridge", "masquerading", "IPv6"],
)
def test_a_network_that_is_not_ours_is_refused(
    spoilt: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = {
        "com.docker.network.bridge.name": BRIDGE.name,
        "com.docker.network.bridge.enable_ip_masquerade": "false",
    }
    found = {"Options": good, "EnableIPv6": False}
    monkeypatch.setattr(Fence, "verify", lambda _: None)
    monkeypatch.setattr(Docker, "inspect", lambda *_: found)
    GROUND.verify()
    found.update(spoilt)
    with pytest.raises(ChaoslatError, match="not the one that was laid"):
        GROUND.verify()


def test_kind_sees_neither_proxies_nor_the_users_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "https_proxy", "No_Proxy"):
        monkeypatch.setenv(name, "http://proxy.invalid")
    monkeypatch.setenv("KUBECONFIG", "/home/me/.kube/config")
    monkeypatch.setenv("DOCKER_CONFIG", "/home/me/.docker")
    seen = KIND.environment(Path("/run/kubeconfig"))
    assert not [name for name in seen if name.lower().endswith("_proxy")]
    assert seen["KUBECONFIG"] == "/run/kubeconfig"
    assert not Path(seen["DOCKER_CONFIG"]).exists()
    assert seen["DOCKER_HOST"] == GROUND.docker.host
    assert seen["KIND_EXPERIMENTAL_DOCKER_NETWORK"] == "chaoslat-0a1b2c3d"


def test_a_failed_creation_shows_each_nodes_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> str:
        raise EnvironmentMissing("env failed", why="ERROR: failed to init node with kubeadm")

    def docker(_: Docker, *args: str) -> str:
        answers = {"ps": "chaoslat-0a1b2c3d-worker\nchaoslat-0a1b2c3d-control-plane\n"}
        if args[:2] == ("exec", "chaoslat-0a1b2c3d-worker"):
            raise EnvironmentMissing("not running")
        return answers.get(args[0], f"{args[0]} of {args[-1] if args[0] == 'logs' else args[1]}")

    monkeypatch.setattr(Ground, "verify", lambda _: None)
    monkeypatch.setattr(module, "run", fail)
    monkeypatch.setattr(Docker, "run", docker)
    with pytest.raises(ChaoslatError, match="was not created") as raised:
        KIND.create("image", config(tmp_path, CLOSED), tmp_path / "kubeconfig")
    assert "failed to init node" in raised.value.why
    assert "exec of chaoslat-0a1b2c3d-control-plane" in raised.value.why
    assert "logs of chaoslat-0a1b2c3d-worker" in raised.value.why


def test_kind_is_told_the_run_s_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[SimpleNamespace] = []
    monkeypatch.setattr(Ground, "verify", lambda _: None)
    monkeypatch.setattr(module, "run", lambda argv, **rest: calls.append(SimpleNamespace(argv=argv, **rest)))
    KIND.create("chaoslat/node:1", config(tmp_path, CLOSED), tmp_path / "kubeconfig", wait_s=60)
    words = [str(word) for word in calls[0].argv]
    assert words[:2] == ["env", "--ignore-environment"]
    assert "--name=chaoslat-0a1b2c3d" in words
    assert f"--kubeconfig={tmp_path / 'kubeconfig'}" in words
    assert "--wait=60s" in words
