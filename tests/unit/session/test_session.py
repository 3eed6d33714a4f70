"""A session on doubles of backend, custody and trial: what is created, kept, discarded and removed."""

import asyncio
from pathlib import Path

import pytest

from chaoslat.errors import Busy, ChaoslatError, EnvironmentMissing
from chaoslat.experiment import Experiment
from chaoslat.model import Ruling
from chaoslat.seeds import trial_seed
from chaoslat.session import Keep
from tests.session_doubles import DoubleBackend, DoubleCustody, double_trial, ran, session, verdict

CPU = Experiment("cpu-limit", ("cpu-throttling",))
WRONG = Experiment("wrong-pool", ("network-path",))


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Each test in a folder of its own, for the log of trials."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def backend():
    return DoubleBackend()


@pytest.fixture
def custody():
    return DoubleCustody()


@pytest.fixture
def make(tmp_path, backend, custody):
    def build(**kwargs):
        return session(tmp_path / "out", backend=backend, custody=custody, **kwargs)

    return build


def test_nothing_is_created_before_it_is_needed(make, backend, custody):
    made = make()
    assert made.close() is None
    assert (backend.made, custody.calls) == ([], [])


def test_one_system_for_all_trials(make, backend, custody):
    with make() as made:
        made.trial(CPU)
        made.trial(WRONG)
    assert len(backend.made) == 1
    assert backend.made[0].destroyed
    assert custody.calls == ["enter", "open 00000001", "heal 00000001", "leave"]


def test_a_reaper_that_has_died_is_told_between_trials(make, custody):
    said = []
    with make(progress=said.append) as made:
        made.trial(CPU)
        assert not any("reaper" in line for line in said)
        custody.reaper_alive = False
        made.trial(WRONG)
    assert "the reaper had died: another watches over the run now" in said


def test_each_trial_has_a_seed_and_a_folder_of_its_own(make):
    with make(seed=5) as made:
        seen = [made.trial(CPU), made.trial(WRONG), made.trial(CPU)]
    assert [Path(v.folder).name for v in seen] == ["01-cpu-limit", "02-wrong-pool", "03-cpu-limit"]
    assert [v.seed for v in seen] == [
        trial_seed(5, "cpu-limit", 0),
        trial_seed(5, "wrong-pool", 0),
        trial_seed(5, "cpu-limit", 1),
    ]
    assert len({v.seed for v in seen}) == 3


def test_without_a_system_no_empty_folder_is_left(tmp_path, make, custody):
    custody.busy = Busy("taken")
    with pytest.raises(Busy), make() as made:
        made.trial(CPU)
    assert not (tmp_path / "out").exists()
    (tmp_path / "out").mkdir()
    with pytest.raises(Busy), make() as made:
        made.trial(CPU)
    assert list((tmp_path / "out").iterdir()) == []


def test_an_experiment_alone_gets_the_seed_that_it_had_among_others(make, tmp_path):
    with make(seed=5) as made:
        made.trial(WRONG)
        among = made.trial(CPU).seed
    with session(tmp_path / "again", seed=5) as alone:
        assert alone.trial(CPU).seed == among


def test_a_folder_that_is_used_again_keeps_what_it_has(make, tmp_path):
    for _ in range(2):
        with make() as made:
            made.trial(CPU)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["01-cpu-limit", "02-cpu-limit"]


def test_a_folder_that_cannot_be_written_is_a_plain_error(tmp_path, backend):
    (tmp_path / "file").write_text("")
    with (
        session(tmp_path / "file", backend=backend) as made,
        pytest.raises(ChaoslatError, match="cannot be written"),
    ):
        made.trial(CPU)
    assert backend.made == []


def test_the_runbook_can_be_replaced(make):
    with make() as made:
        made.trial(CPU, runbook="classic")
        made.trial(CPU)
    assert [line.split()[2] for line in ran()] == ["classic", "ladder"]


def test_a_system_that_is_not_well_is_replaced(make, backend, custody):
    with make() as made:
        made.trial(CPU)
        backend.made[0].complaints = ("the proxy is down",)
        made.trial(CPU)
    assert [system.destroyed for system in backend.made] == [True, True]
    assert custody.calls == [
        *("enter", "open 00000001", "heal 00000001"),
        *("enter", "open 00000002", "heal 00000002", "leave"),
    ]


def test_a_system_that_did_not_recover_is_replaced(make, backend):
    async def unrecovered(system, experiment, **kwargs):
        return verdict(recovered=False)

    with make(run_trial=unrecovered) as made:
        made.trial(CPU)
        assert backend.made[0].destroyed
        made.trial(CPU)
    assert len(backend.made) == 2


def test_a_trial_that_raises_costs_the_system(make, backend):
    async def broken(system, experiment, **kwargs):
        raise RuntimeError("a bug")

    with make(run_trial=broken) as made:
        with pytest.raises(RuntimeError, match="a bug"):
            made.trial(CPU)
        assert backend.made[0].destroyed


def test_a_failed_start_is_healed_and_raised(make, backend, custody):
    backend.fails = EnvironmentMissing("no root")
    with make() as made, pytest.raises(EnvironmentMissing, match="no root"):
        made.trial(CPU)
    assert custody.calls == ["enter", "open 00000001", "heal 00000001", "leave"]


def test_a_busy_machine_is_left_alone(make, backend, custody):
    custody.busy = Busy("somebody is at it")
    with make() as made, pytest.raises(Busy):
        made.trial(CPU)
    assert backend.made == []
    assert custody.calls == ["leave"]


def test_what_the_machine_does_not_offer_is_said_before_anything_starts(make, backend, monkeypatch):
    monkeypatch.setattr("chaoslat.session.missing", lambda needs: tuple(needs))
    with make() as made, pytest.raises(EnvironmentMissing, match="tun"):
        made.trial(Experiment("cpu-limit", (), needs=("tun",)))
    assert backend.made == []


@pytest.mark.parametrize(
    ("keep", "experiment", "kept"),
    [
        (Keep.NEVER, WRONG, False),
        (Keep.ON_FAILURE, CPU, False),
        (Keep.ON_FAILURE, WRONG, True),
        (Keep.ALWAYS, CPU, True),
    ],
)
def test_keeping(make, backend, custody, keep, experiment, kept):
    made = make(keep=keep)
    made.trial(experiment)
    left = made.close()
    assert (left is not None) is kept
    assert backend.made[0].destroyed is not kept
    assert ("keep 00000001" in custody.calls) is kept
    assert custody.calls[-1] == "leave"


def test_a_kept_system_says_how_to_remove_it(make):
    made = make(keep=Keep.ALWAYS)
    made.trial(CPU)
    assert "chaoslat down 00000001" in str(made.close())
    assert made.close() is None


async def test_the_asynchronous_door(make):
    made = make()
    seen, _ = await asyncio.gather(made.trial_async(CPU), asyncio.sleep(0.01))
    assert seen.ruling is Ruling.CORRECT
    assert (await made.call_async(lambda system: system.check())) == ()
    await asyncio.to_thread(made.close)


def test_work_runs_where_the_system_lives(make):
    loops = []

    async def note(system, experiment, **kwargs):
        loops.append(asyncio.get_running_loop())
        return await double_trial(system, experiment, **kwargs)

    async def where(system):
        return asyncio.get_running_loop()

    with make(run_trial=note) as made:
        made.trial(CPU)
        assert made.call(where) is loops[0]


def test_a_trial_can_be_given_its_seed(make, tmp_path):
    with make(seed=5) as made:
        assert [made.trial(CPU, seed=99).seed, made.trial(CPU).seed] == [99, trial_seed(5, "cpu-limit", 1)]
