"""The state of a kind system: saved, loaded by another process, shown; and its cgroups, which the cluster named."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoslat.backends.kind.state import KindState
from chaoslat.backends.local import state
from chaoslat.backends.local.parts import Part
from chaoslat.backends.local.state import State
from chaoslat.errors import UsageError
from chaoslat.ledger import Ledger

RUN = "0a1b2c3d"
PODS = f"chaoslat-{RUN}/nodes/f00/kubelet.slice/kubepods"
PLACES = {
    "app": f"{PODS}/pod1/c1",
    "proxy": f"{PODS}/pod2/c2",
    "mysqld": f"{PODS}/pod3/c3",
    "db": f"{PODS}/pod3",
}
MADE = KindState(
    run_id=RUN,
    folder=f"/var/tmp/chaoslat-{RUN}",
    parts=(Part("app", 41, 1000, "/log"), Part("mysqld", 42, 1001, "/log")),
    ports={"app": 1, "admin": 2, "proxy": 3306, "toxiproxy": 4, "mysql": 5},
    host_address="127.0.0.1",
    db_address="127.0.0.1",
    versions={"kubernetes": "v1.34.4"},
    cgroup_cost_bytes=17_000,
    at_rest={"pool size": "10"},
    kubeconfig="/run/kubeconfig",
    kubectl="/kubectl",
    places=PLACES,
    pods={"app": "app-1"},
    address="10.96.0.7",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CHAOSLAT_STATE", str(tmp_path))
    return Ledger.create(RUN).folder


@pytest.mark.usefixtures("folder")
def test_what_is_saved_is_what_is_loaded() -> None:
    state.save(MADE)
    assert state.load(RUN, KindState) == MADE


@pytest.mark.usefixtures("folder")
def test_a_system_of_another_backend_is_a_plain_error() -> None:
    state.save(MADE)
    with pytest.raises(UsageError, match="no system to attach to"):
        state.load(RUN, State)


def test_the_layout_is_where_the_cluster_put_things() -> None:
    layout = MADE.layout
    assert (layout.app, layout.proxy, layout.mysqld, layout.db) == tuple(
        PLACES[name] for name in ("app", "proxy", "mysqld", "db")
    )
    assert layout.kubepods == PODS
    assert layout.load == f"chaoslat-{RUN}/load"
    assert str(layout.db_socket).startswith("/proc/42/root/")


def test_info_says_how_to_get_in() -> None:
    info = MADE.info()
    assert (info.backend, info.url) == ("kind", "http://127.0.0.1:1")
    assert info.access == {"kubeconfig": "/run/kubeconfig"}
    assert info.namespaces == {"app": "pod chaoslat/app-1"}
    assert info.cgroups["mysqld"].startswith(info.cgroups["db"])
