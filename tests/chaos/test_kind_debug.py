"""Real: what a debug container in the app's pod sees is what the node sees; the limit is read inside the container."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest
import pytest_asyncio

from chaoslat import backends, nodeimage
from chaoslat.backends.kind.state import NAMESPACE
from chaoslat.backends.pods.sockets import Destination, SocketWatch
from chaoslat.custody import MachineCustody
from chaoslat.engine import images
from chaoslat.experiment import DEFAULT_WORKLOAD
from chaoslat.kube.client import KubeClient
from chaoslat.kube.exec import PodShell
from chaoslat.kube.inside import CpuLimit, cpu_limit
from tests.chaos.leftovers import gone_within
from tests.chaos.on_kind import NEEDS_KIND, engine_of, nodes_of, pod_of

pytestmark = [pytest.mark.chaos, NEEDS_KIND, pytest.mark.asyncio(loop_scope="module")]
in_module = pytest_asyncio.fixture(scope="module", loop_scope="module")


@in_module
async def system(tmp_path_factory):
    """Under load, with the tools image on its nodes."""
    made = await backends.get("kind").create(MachineCustody().open_run(), lambda line: None)
    run_id = made.info.run_id
    for node in nodes_of(run_id):
        images.put_on_node(engine_of(run_id), node, nodeimage.image("tools")[1])
    await made.start_load(DEFAULT_WORKLOAD, 1, tmp_path_factory.mktemp("load") / "latencies.bin")
    yield made
    await made.destroy()
    assert gone_within(run_id, 5) == []


@pytest.fixture(scope="module")
def kube(system):
    client = KubeClient(Path(system.info.access["kubeconfig"]), NAMESPACE)
    yield client
    client.close()


@pytest.fixture(scope="module")
def watch(kube):
    image = nodeimage.image("tools")[0]
    made = SocketWatch(kube, pod_of(kube, "app"), "app", Destination(3306), image, "Never")
    yield made
    made.stop()
    made.close()


def connections(sockets):
    return {(one.local, one.peer) for one in sockets}


async def test_the_debug_container_sees_what_the_node_sees(system, watch):
    """All were there before the first look, so none was opened meanwhile; one may have been closed."""
    before = connections(await system.operator.sockets())
    seen = connections(await asyncio.to_thread(watch.once))
    after = connections(await system.operator.sockets())
    assert seen
    assert before & after <= seen <= before | after


async def test_the_monitor_takes_a_shot_a_second(system, watch):
    await asyncio.sleep(4.0)
    shots = watch.monitor()
    assert len(shots) >= 3
    assert all(shot.sockets for shot in shots)
    assert all(later.at_s - earlier.at_s >= 1.0 for earlier, later in pairwise(shots))


async def test_it_shows_a_latency_behind_the_proxy_as_the_field_report_saw_it(system, watch):
    await system.saboteur.set_latency(20)
    try:
        await asyncio.sleep(3.0)
        rtts = [one.rtt_ms for one in await asyncio.to_thread(watch.once)]
    finally:
        await system.saboteur.set_latency(0)
    assert max(rtts) > 15


async def test_a_second_look_uses_the_same_container(kube, watch):
    pod = pod_of(kube, "app")
    again = SocketWatch(kube, pod, "app", Destination(3306), nodeimage.image("tools")[0], "Never")
    again.close()
    assert again.name == watch.name


async def test_the_limit_is_read_inside_the_container(system, kube):
    shell = PodShell(kube, pod_of(kube, "app"), "app")
    try:
        before = await asyncio.to_thread(cpu_limit, shell)
        await system.saboteur.set_cpu_quota(60_000)
        assert await asyncio.to_thread(cpu_limit, shell) == CpuLimit(60_000, 100_000)
        await system.saboteur.restore_cpu_quota()
        assert await asyncio.to_thread(cpu_limit, shell) == before
    finally:
        shell.close()
