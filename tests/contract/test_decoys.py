"""What only a decoy may do: undone as read before, idempotent, and seen by an operator. Real; local backend only."""

from pathlib import Path

import pytest
import pytest_asyncio

from chaoslat import backends
from chaoslat.backends.base import Decoys, decoys_of
from chaoslat.custody import MachineCustody
from chaoslat.errors import EnvironmentMissing
from chaoslat.experiment import DEFAULT_WORKLOAD
from chaoslat.ledger import Ledger
from chaoslat.ledger.undo import undo

pytestmark = [pytest.mark.chaos, pytest.mark.asyncio(loop_scope="module")]
in_module = pytest_asyncio.fixture(scope="module", loop_scope="module")


async def burn(decoys, beside_app=False):
    await decoys.start_burners(2, beside_app=beside_app, nice=19, on_s=10.0, off_s=0.0)


CHANGES = {
    "quota of the database": (
        lambda d: d.set_quota("database", 50_000),
        lambda d: d.restore_quota("database"),
    ),
    "quota of all pods": (lambda d: d.set_quota("pods", 90_000), lambda d: d.restore_quota("pods")),
    "quota of the app": (lambda d: d.set_quota("app", 90_000), lambda d: d.restore_quota("app")),
    "neighbour": (burn, lambda d: d.stop_burners()),
    "burners in the app's cgroup": (lambda d: burn(d, True), lambda d: d.stop_burners()),
    "slow statement": (lambda d: d.set_statement_delay(20), lambda d: d.restore_statement()),
    "report": (lambda d: d.set_report(20, 500), lambda d: d.stop_report()),
    "slow statement for some": (lambda d: d.set_statement_delay(20, 8), lambda d: d.restore_statement()),
    "held connections": (lambda d: d.hold(3), lambda d: d.let_go()),
    "detour": (lambda d: d.set_detour(5), lambda d: d.end_detour()),
    "table lock": (lambda d: d.start_lock(30, 200), lambda d: d.stop_lock()),
}


@in_module
async def system(tmp_path_factory):
    custody = MachineCustody()
    run_id = custody.open_run()
    try:
        made = await backends.get("local").create(run_id, lambda line: None)
    except EnvironmentMissing as error:
        custody.heal(run_id)
        pytest.skip(str(error))
    await made.start_load(DEFAULT_WORKLOAD, 1, tmp_path_factory.mktemp("load") / "latencies.bin")
    await made.operator.sleep(1.0)
    yield made
    await made.destroy()


@pytest.fixture
def decoys(system):
    found = decoys_of(system.saboteur)
    assert isinstance(found, Decoys)
    return found


async def test_a_saboteur_without_means_for_decoys_is_told_apart():
    assert decoys_of(object()) is None


@pytest.mark.parametrize("name", CHANGES)
async def test_undone_leaves_the_system_as_read_before(name, system, decoys):
    change, restore = CHANGES[name]
    before = await system.saboteur.snapshot()
    await restore(decoys)
    assert await system.saboteur.snapshot() == before
    for act in (change, change):
        await act(decoys)
        assert await system.saboteur.snapshot() != before
    assert await system.check() != ()
    for act in (restore, restore):
        await act(decoys)
        assert await system.saboteur.snapshot() == before
    assert await system.check() == ()


@pytest.mark.parametrize("name", CHANGES)
async def test_the_ledger_alone_undoes_it_twice_over(name, system, decoys):
    """As a reaper does, which knows nothing but the ledger."""
    before = await system.saboteur.snapshot()
    ledger = Ledger.open(system.info.run_id)
    made = {entry.number for entry in ledger.pending()}
    await CHANGES[name][0](decoys)
    promised = [entry for entry in ledger.pending() if entry.number not in made]
    assert promised
    for entry in (*promised, *promised):
        undo(entry)
    after = await system.saboteur.snapshot()
    await CHANGES[name][1](decoys)
    assert after == before


async def test_no_request_fails_while_a_view_takes_a_tables_place(system, decoys):
    operator = system.operator
    since_s = operator.now_s()
    for _ in range(5):
        await decoys.set_statement_delay(5)
        await operator.sleep(0.3)
        await decoys.restore_statement()
    await operator.sleep(0.5)
    seen = await operator.requests(since_s, operator.now_s())
    assert len(seen) > 20
    assert not seen.failures.any()


async def test_the_servers_own_statistics_show_the_delay(system, decoys):
    before = {s.digest_text: s for s in await system.operator.statements()}
    await decoys.set_statement_delay(20)
    await system.operator.sleep(2.0)
    after = {s.digest_text: s for s in await system.operator.statements()}
    await decoys.restore_statement()
    (text,) = [text for text in before if "customers" in text]
    count = after[text].count - before[text].count
    assert after.keys() == before.keys()
    assert (after[text].wait_ms - before[text].wait_ms) / count > 15  # a few ran before the view was there


async def test_a_neighbours_use_shows_on_the_node_and_not_in_the_app(system, decoys):
    await burn(decoys)
    node, app = await system.operator.node_cpu(), (await system.operator.app_cpu())[0]
    await system.operator.sleep(2.0)
    node_after, app_after = await system.operator.node_cpu(), (await system.operator.app_cpu())[0]
    await decoys.stop_burners()
    busy_s = node_after.busy_s - node.busy_s
    assert busy_s > 1.0
    assert app_after.usage_s - app.usage_s < busy_s / 2


async def test_no_helper_and_no_cgroup_is_left(system, decoys):
    await burn(decoys)
    await decoys.stop_burners()
    app = system.info.cgroups["app"]
    found = [path for path in Path("/sys/fs/cgroup").glob(f"**/{Path(app).parent}/batch-*")]
    assert found == []


async def test_a_detour_delays_connections_that_were_open_before(system, decoys):
    """The prober's has been open all along, and is the same one before, during and after."""
    before = min((await system.operator.noop(5)).round_trip_ms)
    await decoys.set_detour(12)
    during = (await system.operator.noop(5)).round_trip_ms
    handshake_ms = await decoys.handshake_ms()
    await decoys.end_detour()
    after = min((await system.operator.noop(5)).round_trip_ms)
    assert min(during) >= before + 10
    assert handshake_ms >= 12
    assert after < before + 5
