"""Somebody's workload through the API: what is not here raises so, and nothing is changed without leave."""

from __future__ import annotations

import inspect
import json

import pytest

from chaoslat.backends.base import Operator
from chaoslat.backends.kube.lift import PodCpu
from chaoslat.backends.kube.login import Login
from chaoslat.backends.kube.operator import NOT_ALLOWED, KubeOperator, Sources
from chaoslat.backends.local.promises import Promises
from chaoslat.backends.pods.place import Place
from chaoslat.errors import ChaoslatError, NotHere, SystemLost
from chaoslat.kube.inside import CpuLimit
from chaoslat.ledger import Ledger, new_run_id
from chaoslat.model import CgroupCpu
from tests.kube_recordings import read, typed

POD = typed("V1Pod", read("pod_running.json"))
PLACE = Place(POD.metadata.name, "app")
FORBIDDEN = dict.fromkeys(("set_cpu_quota", "set_pool_size"), NOT_ALLOWED)


class DoubleOfTheCluster:
    """One pod whose container has the quota that was patched last; `refuses`: the words of an API server that does."""

    namespace = "space"

    def __init__(self):
        self.core, self.patches, self.dry, self.refuses = self, [], [], ""
        self.quota_us = 150_000

    def call(self, act, *args, **named):
        return act(*args, **named)

    def read_namespaced_pod(self, name, namespace):
        return POD

    def patch_namespaced_pod_resize(self, name, namespace, body, dry_run=None):
        if self.refuses:
            raise SystemLost("The cluster refused", why=self.refuses)
        (self.dry if dry_run else self.patches).append(body)
        if not dry_run:
            self.take(body)

    def take(self, body):
        limit = body["spec"]["containers"][0]["resources"]["limits"]["cpu"]
        self.quota_us = int(limit.removesuffix("m")) * 100


@pytest.fixture
def cluster(monkeypatch):
    made = DoubleOfTheCluster()
    monkeypatch.setattr("chaoslat.kube.inside.cpu_limit", lambda shell: CpuLimit(made.quota_us, 100_000))
    seen = lambda shell, path: CgroupCpu(path, made.quota_us, 100_000, 10, 2, 0.1, 1.0)  # noqa: E731
    monkeypatch.setattr("chaoslat.kube.inside.cpu", seen)
    monkeypatch.setattr("chaoslat.backends.pods.view.PodShell", lambda *args: args)
    return made


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.setenv("CHAOSLAT_STATE", str(tmp_path))
    return Ledger.create(new_run_id())


@pytest.fixture
def promises(ledger, cluster):
    def undo(entry):
        patch = next(arg for arg in entry.args["argv"] if arg.startswith("--patch="))
        cluster.take(json.loads(patch.removeprefix("--patch=")))

    return Promises(ledger, "operator", undo)


def operator(cluster, promises, obstacles=None, sources=None):
    cpu = PodCpu(cluster, Login("/kubectl", "/kubeconfig", "here"), PLACE, promises)
    return KubeOperator((cpu,), sources or Sources(), promises, lambda: None, obstacles or {})


async def test_it_has_every_call_of_the_protocol(cluster, promises):
    assert isinstance(operator(cluster, promises), Operator)


async def test_with_no_source_given_every_other_probe_is_not_here_with_a_reason(cluster, promises):
    made = operator(cluster, promises)
    calls = ("pool", "app_metrics", "sockets", "fresh_connect", "statements", "db_process")
    calls += ("memory_cgroups", "node_cpu", "volumes")
    for name in calls:
        with pytest.raises(NotHere) as raised:
            await getattr(made, name)()
        assert len(raised.value.what) > 20
    for name, args in (("noop", (3,)), ("reclaim", ("/", 1.0)), ("remove_volume", ("/x",))):
        with pytest.raises(NotHere):
            await getattr(made, name)(*args)


async def test_without_leave_nothing_is_changed_nor_promised(cluster, promises, ledger):
    made = operator(cluster, promises, FORBIDDEN)
    with pytest.raises(NotHere, match="were not allowed"):
        await made.set_cpu_quota(PLACE.path, None)
    with pytest.raises(NotHere, match="were not allowed"):
        await made.set_pool_size(30)
    assert cluster.patches == []
    assert ledger.pending() == []


async def test_a_limit_is_lifted_after_its_undo_was_promised_and_put_back(cluster, promises, ledger):
    made = operator(cluster, promises)
    await made.set_cpu_quota(PLACE.path, None)
    assert cluster.quota_us == 6_400_000
    (entry,) = ledger.pending()
    assert entry.args["existing"] is True
    assert "--subresource=resize" in entry.args["argv"]
    await made.undo_interventions()
    assert cluster.quota_us == 150_000
    assert ledger.pending() == []
    await made.undo_interventions()


async def test_blocks_put_back_what_was_there_and_ask_for_nothing_that_is_in_force(cluster, promises):
    made = operator(cluster, promises)
    await made.set_cpu_quota(PLACE.path, None)
    await made.set_cpu_quota(PLACE.path, None)
    await made.set_cpu_quota(PLACE.path, 150_000)
    assert len(cluster.patches) == 2
    assert cluster.patches[1]["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "1500m"}


async def test_a_container_of_somebody_else_is_refused(cluster, promises):
    with pytest.raises(ChaoslatError, match="Not a container of this workload"):
        await operator(cluster, promises).set_cpu_quota("other/app", None)


async def test_a_rehearsal_changes_nothing_and_tells_what_the_api_server_said(cluster, promises):
    cpu = PodCpu(cluster, Login("/kubectl", "/kubeconfig", "here"), PLACE, promises)
    assert "request stays" in cpu.rehearse().sentence
    assert len(cluster.dry) == 1
    assert cluster.patches == []
    cluster.refuses = "pods/resize is forbidden"
    with pytest.raises(NotHere, match="pods/resize is forbidden"):
        cpu.rehearse()


def test_every_probe_is_a_coroutine_as_the_protocol_has_it():
    for name, method in inspect.getmembers(Operator, inspect.isfunction):
        if inspect.iscoroutinefunction(method):
            assert inspect.iscoroutinefunction(getattr(KubeOperator, name)), name
