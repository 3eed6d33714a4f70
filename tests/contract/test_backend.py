"""What every backend has to keep to. Real: it makes a system, so it runs only with `-m chaos`."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from chaoslat.backends.base import Operator, Saboteur, System
from chaoslat.custody import MachineCustody
from chaoslat.errors import ChaoslatError, EnvironmentMissing
from chaoslat.experiment import DEFAULT_WORKLOAD
from tests.chaos.leftovers import gone_within

pytestmark = [pytest.mark.chaos, pytest.mark.asyncio(loop_scope="module")]
in_module = pytest_asyncio.fixture(scope="module", loop_scope="module")


def unlimited(quota_us):
    """No quota, or one of all cores of the machine."""
    return quota_us is None or quota_us >= 100_000 * os.cpu_count()


def harmless(quota_us):
    """No quota, or one that is over a core."""
    return quota_us is None or quota_us > 100_000


@in_module
async def system(backend):
    """One for all tests; each leaves it at rest."""
    custody = MachineCustody()
    run_id = custody.open_run()
    try:
        made = await backend.create(run_id, lambda line: None)
    except EnvironmentMissing as error:
        custody.heal(run_id)
        pytest.skip(str(error))
    yield made
    await made.destroy()
    await made.destroy()
    assert gone_within(run_id, 5) == []


@in_module
async def loaded(system, tmp_path_factory):
    """The same under load."""
    await system.start_load(DEFAULT_WORKLOAD, 1, tmp_path_factory.mktemp("load") / "latencies.bin")
    await system.operator.sleep(1.0)
    yield system
    await system.stop_load()


@pytest.fixture
def operator(system):
    return system.operator


@pytest.fixture
def saboteur(system):
    return system.saboteur


async def test_a_fresh_system_is_healthy_and_at_rest(system, saboteur):
    assert await system.check() == ()
    assert await system.lost() == ()
    assert harmless(await saboteur.cpu_quota_us())
    assert await saboteur.toxics() == {}
    assert await saboteur.leaked_cgroups() == 0


async def test_info_names_processes_that_run(system):
    assert {"app", "mysqld"} <= system.info.pids.keys()
    assert all(Path(f"/proc/{pid}").exists() for pid in system.info.pids.values())


async def test_it_is_what_the_protocols_say(loaded):
    assert isinstance(loaded, System)
    assert isinstance(loaded.operator, Operator)
    assert isinstance(loaded.saboteur, Saboteur)


class TestProbes:
    async def test_requests_are_those_of_the_load(self, loaded, operator):
        since_s = operator.now_s()
        await operator.sleep(3.0)
        seen = await operator.requests(since_s, since_s + 2.5)
        expected = 2.5 * DEFAULT_WORKLOAD.rate_rps
        assert abs(len(seen) - expected) < 5 * np.sqrt(expected)  # Poisson
        assert (seen.status[seen.done] == 200).all()
        assert (seen.latency_ms > 0).all()

    async def test_cpu_from_the_app_up_to_the_top(self, loaded, operator):
        before = await operator.app_cpu()
        await operator.sleep(1.0)
        after = await operator.app_cpu()
        assert [c.path for c in before] == [c.path for c in after]
        assert after[-1].path == "/"
        assert all(harmless(c.quota_us) for c in after)
        assert after[0].usage_s > before[0].usage_s

    async def test_pool_and_metrics_agree_that_requests_are_served(self, loaded, operator):
        before = await operator.app_metrics()
        await operator.sleep(1.0)
        after = await operator.app_metrics()
        pool = await operator.pool()
        assert 0 <= pool.in_use <= pool.open <= pool.max
        assert after.acquire_count > before.acquire_count
        assert after.query_sum_ms > before.query_sum_ms
        assert after.heap_bytes > 1_000_000

    async def test_sockets_are_the_pools(self, loaded, operator):
        pool, sockets = await operator.pool(), await operator.sockets()
        assert 1 <= len(sockets) <= pool.max
        assert all(0 < info.minrtt_ms <= info.rtt_ms + info.rttvar_ms + 1 for info in sockets)

    async def test_a_fresh_connection_is_timed_twice(self, operator):
        fresh = await operator.fresh_connect()
        assert fresh.connect_ms > 0
        assert 0 <= fresh.minrtt_ms <= fresh.connect_ms + 1

    async def test_noop_round_trips_hold_the_servers_time(self, operator):
        sample = await operator.noop(20)
        assert len(sample.round_trip_ms) == 20
        assert min(sample.round_trip_ms) > 0
        assert 0 <= sample.server_mean_ms <= float(np.mean(sample.round_trip_ms))

    async def test_statements_are_the_apps_and_only_grow(self, loaded, operator):
        before = {stats.digest_text: stats for stats in await operator.statements()}
        await operator.noop(3)  # nor is the prober's statement among them
        await operator.sleep(1.0)
        after = {stats.digest_text: stats for stats in await operator.statements()}
        assert not any("DO ?" in text or "performance_schema" in text for text in after)
        grown = [text for text in before if after[text].count > before[text].count]
        assert grown
        assert all(after[text].wait_ms > before[text].wait_ms for text in grown)

    async def test_the_databases_process_has_a_limit_on_its_memory(self, operator):
        seen = await operator.db_process()
        assert seen.limited_path
        assert seen.limit_bytes
        assert 0 < seen.usage_bytes <= seen.limit_bytes
        assert seen.user_s > 0
        assert any(c.path == seen.limited_path for c in seen.cpu)

    async def test_the_node(self, operator):
        cpu, cgroups = await operator.node_cpu(), await operator.memory_cgroups()
        assert cpu.busy_s > 0
        assert cpu.cores == os.cpu_count()
        assert cgroups.live > 0

    async def test_at_rest_every_volume_has_an_owner(self, operator):
        assert all(volume.owner_alive for volume in await operator.volumes())


FAULTS = {
    "quota": (lambda s: s.set_cpu_quota(60_000), lambda s: s.restore_cpu_quota()),
    "pool": (lambda s: s.set_pool_size(3), lambda s: s.restore_pool_size()),
    "latency": (lambda s: s.set_latency(5, 2), lambda s: s.set_latency(0)),
    "leak": (lambda s: s.leak_cgroups(700), lambda s: s.unleak_cgroups()),
}


class TestSaboteur:
    @pytest.mark.parametrize("name", FAULTS)
    async def test_undone_leaves_the_system_as_read_before(self, name, system, saboteur):
        inject, undo = FAULTS[name]
        before = await saboteur.snapshot()
        await inject(saboteur)
        assert await saboteur.snapshot() != before
        assert await system.check() != ()
        await undo(saboteur)
        assert await saboteur.snapshot() == before
        assert await system.check() == ()

    @pytest.mark.parametrize("name", FAULTS)
    async def test_injected_and_undone_twice(self, name, saboteur):
        inject, undo = FAULTS[name]
        before = await saboteur.snapshot()
        for act in (inject, inject, undo, undo):
            await act(saboteur)
        assert await saboteur.snapshot() == before

    @pytest.mark.parametrize("name", FAULTS)
    async def test_undone_without_an_injection(self, name, saboteur):
        before = await saboteur.snapshot()
        await FAULTS[name][1](saboteur)
        assert await saboteur.snapshot() == before

    async def test_a_quota_throttles_the_app(self, loaded, operator, saboteur):
        await saboteur.set_cpu_quota(12_000)
        assert await saboteur.cpu_quota_us() == 12_000
        before = (await operator.app_cpu())[0]
        await operator.sleep(1.0)
        after = (await operator.app_cpu())[0]
        await saboteur.restore_cpu_quota()
        assert after.quota_us == 12_000
        assert after.throttled_periods > before.throttled_periods

    async def test_a_latency_reaches_the_prober(self, operator, saboteur):
        """Never less than what was set: noise only adds."""
        await saboteur.set_latency(40)
        assert list((await saboteur.toxics()).values()) == [{"latency": 40, "jitter": 0}]
        sample = await operator.noop(3)
        await saboteur.set_latency(0)
        assert min(sample.round_trip_ms) >= 40
        assert sample.server_mean_ms < 40

    async def test_leaked_cgroups_show_as_dying_and_as_an_orphans_volume(self, operator, saboteur):
        before = await operator.memory_cgroups()
        await saboteur.leak_cgroups(900)
        leaked = await operator.memory_cgroups()
        (orphan,) = [volume for volume in await operator.volumes() if not volume.owner_alive]
        assert leaked.dying - before.dying > 800  # others may die and be freed meanwhile
        assert orphan.files == await saboteur.leaked_cgroups() == 900
        await saboteur.unleak_cgroups()
        assert await saboteur.leaked_cgroups() == 0

    async def test_a_leak_that_would_kill_the_database_is_refused(self, system, saboteur):
        before = await saboteur.snapshot()
        with pytest.raises(ChaoslatError, match="no room to leak"):
            await saboteur.leak_cgroups(10_000_000)
        assert await saboteur.snapshot() == before
        assert await system.lost() == ()

    async def test_warm_fills_the_databases_memory_up_to_the_limit(self, operator, saboteur):
        await saboteur.warm()
        seen = await operator.db_process()
        assert seen.limit_bytes is not None
        assert seen.limit_bytes - seen.usage_bytes < 4 * 1024**2


class TestInterventions:
    async def test_all_are_undone_to_what_the_fault_left(self, system, operator, saboteur):
        at_rest = await saboteur.snapshot()
        await saboteur.set_cpu_quota(60_000)
        await saboteur.set_pool_size(3)
        faulty = await saboteur.snapshot()
        app = (await operator.app_cpu())[0].path
        for quota_us in (None, 60_000, None):
            await operator.set_cpu_quota(app, quota_us)
        assert (await operator.set_pool_size(30)).max == 30
        assert unlimited((await operator.app_cpu())[0].quota_us)
        await operator.undo_interventions()
        assert await saboteur.snapshot() == faulty
        await operator.undo_interventions()
        await saboteur.restore_cpu_quota()
        await saboteur.restore_pool_size()
        assert await saboteur.snapshot() == at_rest

    async def test_what_is_not_of_the_run_is_not_touched(self, operator):
        for path in ("/", "/system.slice", f"../{os.getpid()}"):
            with pytest.raises(ChaoslatError, match="Not a cgroup of this run"):
                await operator.set_cpu_quota(path, 50_000)
            with pytest.raises(ChaoslatError, match="Not a cgroup of this run"):
                await operator.reclaim(path, 0.1)
        with pytest.raises(ChaoslatError, match="Not a pod's volume"):
            await operator.remove_volume("/tmp")

    async def test_only_an_orphans_volume_can_be_removed(self, operator, saboteur):
        await saboteur.leak_cgroups(10)
        for volume in await operator.volumes():
            if volume.owner_alive:
                with pytest.raises(ChaoslatError, match="alive"):
                    await operator.remove_volume(volume.path)
            else:
                await operator.remove_volume(volume.path)
                await operator.remove_volume(volume.path)
        assert all(volume.owner_alive for volume in await operator.volumes())
        await saboteur.unleak_cgroups()

    async def test_reclaim_is_bounded(self, operator):
        limited = (await operator.db_process()).limited_path
        result = await operator.reclaim(limited, 3.0)
        assert result.path == limited
        assert 0 <= result.took_s < 13.0


ATTACHED = """
import asyncio, sys
from chaoslat import backends
async def main():
    system = backends.get(sys.argv[1]).attach(sys.argv[2])
    pool = await system.operator.set_pool_size(17)
    print(pool.max, len((await system.operator.noop(3)).round_trip_ms), len(await system.operator.app_cpu()) > 0)
    await system.close()
asyncio.run(main())
"""


async def test_another_process_can_attach_and_its_interventions_are_undone_by_this_one(
    backend, system, operator
):
    if not hasattr(backend, "attach"):
        pytest.skip(f"backend {backend.name} cannot attach")
    argv = [sys.executable, "-W", "error", "-c", ATTACHED, backend.name, system.info.run_id]
    done = await asyncio.to_thread(subprocess.run, argv, capture_output=True, text=True, timeout=60)
    assert (done.stdout.split(), done.stderr) == (["17", "3", "True"], "")
    assert (await operator.pool()).max == 17
    await operator.undo_interventions()
    assert await system.check() == ()
