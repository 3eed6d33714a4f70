"""Real: a system of ours in a cluster that exists, as a user who has the roles of the manifest and no more."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
import pytest_asyncio

from chaoslat import faults, nodeimage
from chaoslat.backends.kube.backend import KubeBackend
from chaoslat.backends.kube.settings import Settings
from chaoslat.cli.diagnose_kube import PASSWORD
from chaoslat.custody import MachineCustody
from chaoslat.errors import EnvironmentMissing, NotHere, UsageError
from chaoslat.experiment import DEFAULT_WORKLOAD, load, resolve
from chaoslat.faults.base import Bench
from chaoslat.kube.access import Mode
from chaoslat.ledger import run_folder
from chaoslat.load.schedule import Shape, Workload
from chaoslat.model import Outcome, Ruling
from chaoslat.parts.mysql_seed import DATABASE, PROBE
from chaoslat.trial import run_trial
from tests.chaos.existing_cluster import existing
from tests.chaos.leftovers import CLI
from tests.chaos.on_kind import NEEDS_KIND

pytestmark = [pytest.mark.chaos, NEEDS_KIND, pytest.mark.asyncio(loop_scope="module")]
in_module = pytest_asyncio.fixture(scope="module", loop_scope="module")
in_class = pytest_asyncio.fixture(scope="class", loop_scope="module")
SPACE = "lent"
SLO_MS = 30.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with existing(tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture(scope="module")
def user(cluster):
    """Who may make trials and diagnoses in one namespace that is lent to them."""
    cluster.lend(SPACE)
    return cluster.user(SPACE, Mode.READ, Mode.DEBUG, Mode.INTERVENE, Mode.NODE, Mode.TRIAL)


@in_module
async def system(cluster, user):
    custody = MachineCustody()
    run_id = custody.open_run()
    backend = KubeBackend(Settings(namespace=SPACE, kubeconfig=user))
    made = await backend.create(run_id, print)
    yield made
    await made.destroy()
    await made.destroy()
    assert not run_folder(run_id).exists()
    objects = ("get", "deployments,services", f"--namespace={SPACE}", "-o", "name")
    assert cluster.run(*objects).split() == []
    assert SPACE in cluster.run("get", "namespace", SPACE)  # it was lent, and stays


@in_module
async def loaded(system, tmp_path_factory):
    await system.start_load(DEFAULT_WORKLOAD, 1, tmp_path_factory.mktemp("load") / "latencies.bin")
    await system.operator.sleep(2.0)
    yield system
    await system.stop_load()


class TestRefusals:
    async def test_a_namespace_without_our_label_is_refused_and_left_alone(self, cluster):
        cluster.run("create", "namespace", "theirs")
        custody = MachineCustody()
        run_id = custody.open_run()
        backend = KubeBackend(Settings(namespace="theirs", kubeconfig=cluster.admin))
        with pytest.raises(UsageError, match="does not carry our label"):
            await backend.create(run_id, lambda line: None)
        custody.heal(run_id)
        assert "Active" in cluster.run("get", "namespace", "theirs")
        assert "app" not in cluster.run("get", "all", "--namespace=theirs")

    async def test_what_is_not_allowed_is_said_before_anything_is_made(self, cluster):
        cluster.lend("poor")
        custody = MachineCustody()
        run_id = custody.open_run()
        settings = Settings(namespace="poor", kubeconfig=cluster.user("poor", Mode.READ))
        with pytest.raises(EnvironmentMissing) as raised:
            await KubeBackend(settings).create(run_id, lambda line: None)
        custody.heal(run_id)
        for words in ("patch pods/resize", "create deployments.apps", "create pods/portforward"):
            assert words in raised.value.why
        assert "create pods/exec" not in raised.value.why  # that they have
        assert "chaoslat-trial" in raised.value.fix
        assert "app" not in cluster.run("get", "all", "--namespace=poor")


class TestWithoutANamespaceGiven:
    """Who may do everything: one is made for the run, and removed with it. Before there is another system beside it."""

    async def test_pytest_runs_an_experiment_in_one_of_its_own(self, cluster, tmp_path):
        context = cluster.run("config", "current-context").strip()
        argv = [sys.executable, "-m", "pytest", "-q", "-m", "chaos", "experiments/network-latency.yaml"]
        argv += ["--chaos-backend=kube", f"--chaos-context={context}", f"--chaos-out={tmp_path}"]
        done = await asyncio.to_thread(
            subprocess.run,
            argv,
            env={**os.environ, "KUBECONFIG": str(cluster.admin)},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        print(done.stdout[-2000:])
        assert done.returncode == 0
        assert namespaces_of_runs(cluster) == []

    async def test_a_killed_run_leaves_nothing(self, cluster, tmp_path):
        env = {**os.environ, "CHAOSLAT_KUBE_CONFIG": str(cluster.admin)}
        process = started("run", "--backend", "kube", "none", "--out", str(tmp_path), env=env)
        await until_true(lambda: namespaces_of_runs(cluster) != [], 30.0)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        await until_true(lambda: namespaces_of_runs(cluster) == [], 30.0)


class TestProbes:
    async def test_it_is_healthy_and_at_rest(self, system):
        assert await system.check() == ()
        assert await system.lost() == ()

    async def test_requests_are_served_through_the_port_forward(self, loaded):
        since_s = loaded.operator.now_s()
        await loaded.operator.sleep(4.0)
        seen = await loaded.operator.requests(since_s, since_s + 3.0)
        assert len(seen) > 100
        assert (seen.status[seen.done] == 200).all()
        print({q: seen.percentile(q) for q in (50, 95, 99)})

    async def test_the_containers_own_cgroup(self, loaded):
        (before,) = await loaded.operator.app_cpu()
        await loaded.operator.sleep(1.0)
        (after,) = await loaded.operator.app_cpu()
        assert before.quota_us == 150_000
        assert after.usage_s > before.usage_s
        assert after.periods >= before.periods

    async def test_path_and_database_from_beside_the_app(self, loaded):
        operator = loaded.operator
        sample = await operator.noop(20)
        fresh = await operator.fresh_connect()
        sockets, pool = await operator.sockets(), await operator.pool()
        statements = await operator.statements()
        assert min(sample.round_trip_ms) > 0
        assert fresh.connect_ms > 0
        assert 0 <= fresh.minrtt_ms <= fresh.connect_ms + 1
        assert 1 <= len(sockets) <= pool.max
        assert any("orders" in one.digest_text for one in statements)
        print(sample, fresh, sockets[:1])

    async def test_what_takes_a_node_is_not_here(self, system):
        for call in ("node_cpu", "memory_cgroups", "db_process", "volumes"):
            with pytest.raises(NotHere, match="node"):
                await getattr(system.operator, call)()


FAULTS = {
    "quota": (lambda s: s.set_cpu_quota(60_000), lambda s: s.restore_cpu_quota()),
    "pool": (lambda s: s.set_pool_size(3), lambda s: s.restore_pool_size()),
    "latency": (lambda s: s.set_latency(5, 2), lambda s: s.set_latency(0)),
}


class TestSaboteur:
    @pytest.mark.parametrize("name", FAULTS)
    async def test_undone_leaves_the_system_as_read_before(self, name, system):
        inject, undo = FAULTS[name]
        before = await system.saboteur.snapshot()
        for act in (inject, inject):
            await act(system.saboteur)
        assert await system.saboteur.snapshot() != before
        assert await system.check() != ()
        for act in (undo, undo):
            await act(system.saboteur)
        assert await system.saboteur.snapshot() == before
        assert await system.check() == ()

    async def test_a_leak_on_the_node_is_not_here(self, system):
        with pytest.raises(NotHere, match="node"):
            await system.saboteur.warm()


@pytest.mark.parametrize(
    ("name", "cause"),
    [("pool-size", "pool-wait"), ("network-latency", "network-path"), ("cpu-limit", "cpu-throttling")],
)
async def test_the_ladder_finds_what_was_injected(system, tmp_path, name, cause):
    verdict = await run_trial(
        system,
        load(resolve(name)),
        seed=random.randrange(1 << 30),
        folder=tmp_path / "trial",
        progress=print,
    )
    print(verdict)
    assert verdict.recovered
    assert verdict.ruling is Ruling.CORRECT, verdict.reason
    assert verdict.diagnosis.causes == (cause,)


RATE_RPS = 60.0
PATH = "/query?id=7"


@in_class
async def throttled(system, user, tmp_path_factory):
    """A CPU limit that makes the tail of what the command will ask; gives the user's kubeconfig."""
    workload = Workload(RATE_RPS, (Shape("probe", 1.0, PATH),))
    await system.start_load(workload, 1, tmp_path_factory.mktemp("throttled") / "latencies.bin")
    await system.operator.sleep(3.0)
    fault = faults.get("cpu-limit")
    bench = Bench(system.saboteur, system.operator, SLO_MS, random.Random(1), print)
    print(await fault.inject(bench, fault.params()))
    await system.stop_load()
    yield user
    await fault.undo(system.saboteur)


def argv(system, user, *more):
    pod = system.info.namespaces["app"].rpartition("/")[2]
    asked = ["--backend", "kube", "--namespace", SPACE, "--workload", f"pod/{pod}", "--kubeconfig", str(user)]
    url = f"{system.info.url}{PATH}"
    return ["diagnose", *asked, "--url", url, "--rate", f"{RATE_RPS:g}", "--slo-ms", f"{SLO_MS:g}", *more]


async def diagnosed(*args, env=None):
    """Exit code and what it printed."""
    done = await asyncio.to_thread(
        subprocess.run,
        [*CLI, *args, "--json"],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    print(done.stderr[-3000:])
    return done.returncode, json.loads(done.stdout)


class TestDiagnosingSomebodysWorkload:
    """The system's app serves as somebody's: the command knows its URL, its pod, and nothing of us."""

    async def test_a_dry_run_shows_what_would_be_changed_and_changes_nothing(self, cluster, system, user):
        before = await system.saboteur.snapshot()
        code, said = await diagnosed(*argv(system, user, "--dry-run"))
        assert code == 0
        assert any("request stays" in line and "in place" in line for line in said["plan"])
        assert any(line.startswith("not here: pool size") for line in said["plan"])
        assert await system.saboteur.snapshot() == before

    async def test_throttling_is_shown_and_not_judged_without_leave_to_intervene(self, system, throttled):
        code, said = await diagnosed(*argv(system, throttled))
        assert code == 4
        assert said["label"] == "inconclusive"
        (cpu,) = [one for one in said["findings"] if one["step"] == "cpu-limit"]
        assert cpu["outcome"] == Outcome.INCONCLUSIVE
        assert "throttles" in cpu["sentence"]
        assert "--allow-interventions" in cpu["sentence"]
        assert any("Burstable" in line for line in said["remedies"])

    async def test_with_leave_it_is_found_and_put_back(self, system, throttled):
        before = await system.saboteur.cpu_quota_us()
        code, said = await diagnosed(*argv(system, throttled, "--allow-interventions", "--allow-node"))
        assert await system.saboteur.cpu_quota_us() == before
        assert said["causes"] == ["cpu-throttling"], said
        assert code == 0
        assert said["intervention_count"] >= 1
        assert said["cadvisor"][0].endswith("the kernel agrees")

    async def test_a_diagnosis_that_is_killed_is_undone_by_the_reaper(self, system, throttled):
        before = await system.saboteur.cpu_quota_us()
        process = started(*argv(system, throttled, "--allow-interventions"))
        await until(system, lambda quota: quota > 1_000_000, 60.0)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        await until(system, lambda quota: quota == before, 30.0)


class TestDiagnosingThePath:
    async def test_it_is_found_from_beside_the_app_without_touching_anything(self, system, user):
        ports = system.info.ports
        base = "http://127.0.0.1"
        looks = ("--admin", f"{base}:{ports['admin']}", "--metrics", f"{base}:{ports['app']}/metrics")
        looks += ("--database", f"proxy:{ports['proxy']}/{DATABASE}", "--database-user", PROBE.user)
        looks += ("--tools-image", nodeimage.image("tools")[0])
        await system.saboteur.set_latency(20)
        try:
            before = await system.saboteur.snapshot()
            code, said = await diagnosed(*argv(system, user, *looks), env={PASSWORD: PROBE.password})
            assert await system.saboteur.snapshot() == before
        finally:
            await system.saboteur.set_latency(0)
        assert said["causes"] == ["network-path"], said
        assert code == 0
        assert said["intervention_count"] == 0


def namespaces_of_runs(cluster):
    """Those that are not on their way out."""
    found = json.loads(cluster.run("get", "namespaces", "-o", "json"))["items"]
    active = [one["metadata"]["name"] for one in found if one["status"]["phase"] == "Active"]
    return [name for name in active if name.startswith("chaoslat-")]


async def until_true(holds, bound_s):
    deadline_s = time.monotonic() + bound_s
    while not await asyncio.to_thread(holds):
        assert time.monotonic() < deadline_s
        await asyncio.sleep(0.5)


def started(*args, env=None):
    return subprocess.Popen([*CLI, *args], env=env)


async def until(system, holds, bound_s):
    deadline_s = time.monotonic() + bound_s
    while not holds(quota := await system.saboteur.cpu_quota_us()):
        assert time.monotonic() < deadline_s, f"quota {quota}"
        await asyncio.sleep(0.5)
