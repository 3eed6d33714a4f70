"""Real: what can happen to a cluster in the middle of a trial makes the trial invalid, with the reason."""

import asyncio
import functools
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import pytest_asyncio

from chaoslat import backends, experiment
from chaoslat.backends.kind.state import NAMESPACE
from chaoslat.cgroup import detect
from chaoslat.custody import MachineCustody
from chaoslat.errors import ChaoslatError
from chaoslat.kube.client import KubeClient
from chaoslat.model import Ruling
from chaoslat.trial import run_trial
from tests.chaos.leftovers import gone_within
from tests.chaos.on_kind import NEEDS_KIND, process_of

pytestmark = [pytest.mark.chaos, NEEDS_KIND, pytest.mark.asyncio(loop_scope="function")]
BACK_S = 60.0
EAT = "hog = []\nfor _ in range(256): hog.append(b'x' * 4194304)"
"""1 GiB at most: several times the database's limit."""


@pytest_asyncio.fixture
async def system():
    made = await backends.get("kind").create(MachineCustody().open_run(), lambda line: None)
    yield made
    await made.destroy()
    assert gone_within(made.info.run_id, 5) == []


async def trial(system, folder, name, at, act):
    """A trial in which `act` happens when the line that begins with `at` is shown, in a thread beside it."""
    threads = []

    def progress(line):
        if line.startswith(at) and not threads:
            threads.append(threading.Thread(target=act))
            threads[0].start()

    wanted = experiment.load(experiment.resolve(name))
    verdict = await run_trial(system, wanted, seed=1, folder=folder, progress=progress)
    assert threads, f"no line began with {at!r}"
    await asyncio.to_thread(threads[0].join)
    return verdict


async def test_an_api_server_that_is_away_and_comes_back(system, tmp_path):
    """It stops when the limit is about to be lifted, and is still away when the trial undoes: that is done later."""
    server = process_of(system.info.run_id, "kube-apiserver")
    before = await system.saboteur.snapshot()
    try:
        stop = functools.partial(os.kill, server, signal.SIGSTOP)
        verdict = await trial(system, tmp_path, "cpu-limit", "step cpu-limit", stop)
    finally:
        os.kill(server, signal.SIGCONT)
    assert verdict.ruling == Ruling.INVALID
    assert "The API server does not answer" in verdict.reason
    assert not verdict.recovered
    await retried(system.operator.undo_interventions)  # the newest change first
    await retried(system.saboteur.restore_cpu_quota)
    assert await system.saboteur.snapshot() == before
    assert await system.check() == ()


async def retried(undo):
    """The server needs a moment after it is back."""
    async with asyncio.timeout(BACK_S):
        while True:
            try:
                return await undo()
            except ChaoslatError:
                await asyncio.sleep(1.0)


async def test_an_app_whose_pod_is_deleted(system, tmp_path):
    pod = system.info.namespaces["app"].rpartition("/")[2]

    def delete():
        kube = KubeClient(Path(system.info.access["kubeconfig"]), NAMESPACE)
        kube.call(kube.core.delete_namespaced_pod, pod, NAMESPACE)
        kube.close()

    verdict = await trial(system, tmp_path, "none", "symptom gate", delete)
    assert verdict.ruling == Ruling.INVALID
    assert verdict.reason
    (lost,) = await system.lost()
    assert lost.startswith("app has died")
    assert f"pod {pod} is gone" in lost


async def test_a_database_that_runs_out_of_memory(system, tmp_path):
    """A neighbour in its cgroup takes the memory; the database is the one that the kernel is told to prefer."""
    server, tree = system.info.pids["mysqld"], detect()
    path = tree.memory_path(server)

    def starve():
        Path(f"/proc/{server}/oom_score_adj").write_text("1000")
        subprocess.run([*tree.launcher(path), sys.executable, "-c", EAT], timeout=60, check=False)

    verdict = await trial(system, tmp_path, "none", "symptom gate", starve)
    assert verdict.ruling == Ruling.INVALID
    assert verdict.reason
    async with asyncio.timeout(20):  # the kubelet says it a second or two later
        while "OOMKilled" not in "".join(await system.lost()):  # noqa: ASYNC110 - no event says so
            await asyncio.sleep(0.5)
