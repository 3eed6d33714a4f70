"""What the cluster says of pods that are not the ones that were made; states as a kubelet reports them."""

from __future__ import annotations

import copy
import datetime

import pytest

from chaoslat.backends.kind import health
from chaoslat.backends.kind.state import KindState
from chaoslat.errors import SystemLost
from tests.kube_recordings import read, typed

POD = typed("V1Pod", read("pod_running.json"))
NAME = POD.metadata.name
NOW = datetime.datetime.now(datetime.UTC)
STATE = KindState(
    run_id="0a1b2c3d",
    folder="/none",
    parts=(),
    ports={},
    host_address="127.0.0.1",
    db_address="127.0.0.1",
    versions={},
    cgroup_cost_bytes=0,
    at_rest={},
    kubeconfig="/none",
    pods={"app": NAME},
)


@pytest.fixture
def cluster(monkeypatch):
    """Has the pods that a test puts into it, or fails with its error."""

    class DoubleOfTheClient:
        pods, error, closed = [POD], None, 0

        def __init__(self, kubeconfig, namespace):
            self.core = self

        def list_namespaced_pod(self):
            raise AssertionError("goes through call")

        def call(self, act, namespace):
            if self.error is not None:
                raise self.error
            return typed("V1PodList", {"items": []}).__class__(items=list(self.pods))

        def close(self):
            DoubleOfTheClient.closed += 1

    monkeypatch.setattr(health, "KubeClient", DoubleOfTheClient)
    yield DoubleOfTheClient
    assert DoubleOfTheClient.closed == 1


def changed(change):
    pod = copy.deepcopy(POD)
    change(pod)
    return pod


def test_a_pod_that_runs_is_not_lost(cluster) -> None:
    assert health.lost(STATE) == ()


def test_a_pod_that_is_gone(cluster) -> None:
    cluster.pods = []
    assert health.lost(STATE) == (f"pod {NAME} is gone",)


def test_a_pod_in_its_place_does_not_count(cluster) -> None:
    cluster.pods = [changed(lambda pod: setattr(pod.metadata, "name", "app-of-another-name"))]
    assert health.lost(STATE) == (f"pod {NAME} is gone",)


def test_a_pod_on_its_way_out(cluster) -> None:
    cluster.pods = [changed(lambda pod: setattr(pod.metadata, "deletion_timestamp", NOW))]
    assert health.lost(STATE) == (f"pod {NAME} is being deleted",)


def test_a_container_that_was_killed_for_its_memory(cluster) -> None:
    def restart(pod):
        status = pod.status.container_statuses[0]
        status.restart_count = 1
        status.last_state = typed(
            "V1ContainerState", {"terminated": {"reason": "OOMKilled", "exitCode": 137}}
        )

    cluster.pods = [changed(restart)]
    assert health.lost(STATE) == (f"container app of pod {NAME} was restarted: OOMKilled, exit code 137",)


def test_a_restart_that_nobody_explains(cluster) -> None:
    def restart(pod):
        pod.status.container_statuses[0].restart_count = 2
        pod.status.container_statuses[0].last_state = None

    cluster.pods = [changed(restart)]
    assert health.lost(STATE) == (f"container app of pod {NAME} was restarted: reason unknown",)


def test_a_server_that_is_away_is_a_sentence(cluster) -> None:
    cluster.error = SystemLost("The API server does not answer", where="https://127.0.0.1:1", why="timed out")
    (said,) = health.lost(STATE)
    assert said.startswith("The API server does not answer")
    assert "timed out" in said
