"""Quotas and neighbours of the decoys, in real cgroups of a run that has no system."""

from pathlib import Path

import pytest

from chaoslat.backends.local.app import App
from chaoslat.backends.local.decoys import Ends, LocalDecoys
from chaoslat.backends.local.layout import Layout
from chaoslat.backends.local.promises import Promises
from chaoslat.cgroup import detect
from chaoslat.errors import ChaoslatError
from chaoslat.ledger import Ledger, new_run_id, scoped
from chaoslat.ledger.undo import undo
from tests.contract.privileged import privileged

pytestmark = privileged
IDLE = {"nice": 19, "on_s": 0.001, "off_s": 5.0}


@pytest.fixture
def tree():
    return detect()


@pytest.fixture
def layout(tree, tmp_path, monkeypatch):
    monkeypatch.setenv("CHAOSLAT_STATE", str(tmp_path / "state"))
    run_id = new_run_id()
    folder = tmp_path / scoped(run_id)
    folder.mkdir()
    made = Layout(run_id, folder)
    ledger = Ledger.create(run_id)
    ledger.promise("cgroup", paths=list(tree.directories(made.cgroup)))
    for path in (made.app, made.mysqld):
        tree.create(path)
    yield made
    for entry in ledger.pending():
        undo(entry)
    assert not tree.exists(made.cgroup)


@pytest.fixture
def ledger(layout):
    return Ledger.open(layout.run_id)


@pytest.fixture
def decoys(layout, tree, ledger):
    nobody = App("http://127.0.0.1:9", "http://127.0.0.1:9")
    return LocalDecoys(
        layout, tree, Promises(ledger, "saboteur", undo), nobody, Ends("127.0.0.1", "127.0.0.1", 9)
    )


@pytest.mark.parametrize("place", ["app", "database", "pods"])
async def test_a_quota_is_set_read_back_and_restored(place, decoys, ledger):
    before = len(list(ledger.pending()))
    for quota_us in (50_000, 30_000):
        await decoys.set_quota(place, quota_us)
        assert await decoys.quota_us(place) == quota_us
    for _ in range(2):
        await decoys.restore_quota(place)
        assert await decoys.quota_us(place) is None
    assert len(list(ledger.pending())) == before
    assert await decoys.usage_s(place) >= 0


async def test_another_place_is_refused(decoys):
    with pytest.raises(ChaoslatError, match="No cgroup is called 'node'"):
        await decoys.set_quota("node", 50_000)


async def test_burners_beside_the_app_are_in_its_cgroup(decoys, layout, tree):
    await decoys.start_burners(2, beside_app=True, **IDLE)
    assert len(tree.pids(layout.app)) == await decoys.burners() == 2
    await decoys.stop_burners()
    assert tree.pids(layout.app) == ()


async def test_each_neighbour_has_a_cgroup_that_goes_with_it(decoys, layout, tree, ledger):
    before = _pods(tree, layout)
    for count in (3, 2):
        await decoys.start_burners(count, beside_app=False, **IDLE)
        pods = _pods(tree, layout) - before
        assert [len(tree.pids(f"{layout.kubepods}/{pod}")) for pod in pods] == [1] * count
        assert tree.pids(layout.app) == ()
    for _ in range(2):
        await decoys.stop_burners()
        assert _pods(tree, layout) == before


async def test_the_ledger_alone_removes_burners_neighbour_and_quota(decoys, layout, tree, ledger):
    before, standing = _pods(tree, layout), {entry.number for entry in ledger.pending()}
    await decoys.start_burners(1, beside_app=False, **IDLE)
    await decoys.set_quota("pods", 90_000)
    for entry in ledger.pending():
        if entry.number not in standing:
            undo(entry)
            undo(entry)
    assert await decoys.burners() == 0
    assert await decoys.quota_us("pods") is None
    assert _pods(tree, layout) == before
    await decoys.stop_burners()


def _pods(tree, layout):
    return {entry.name for entry in Path(tree.directories(layout.kubepods)[0]).iterdir() if entry.is_dir()}
