"""Options, their ini twins, collection, workers, and what the machine refuses."""

import subprocess
import sys

import pytest

from chaoslat import capabilities
from chaoslat.errors import EnvironmentMissing
from chaoslat.interruption import Terminated
from chaoslat.plugin import state
from tests.plugin.conftest import HEAD, PLUGINS, QUIET, ROOT
from tests.session_doubles import DoubleBackend, session


def test_ini_twins(project):
    project.pytester.makeini(
        "[pytest]\nchaos_seed = 12\nchaos_out = recordings\nchaos_runbook = classic\nchaos_backend = elsewhere\n"
    )
    result = project.run("-m", "chaos", "experiments")
    result.stdout.fnmatch_lines(
        ["chaoslat: backend elsewhere, seed 12, runbook classic, recordings recordings", "seed:    12"]
    )
    assert (project.path / "ran.log").read_text().split()[2] == "classic"
    result = project.run("-m", "chaos", "experiments", "--chaos-seed", "13", "--chaos-runbook", "ladder")
    result.stdout.fnmatch_lines(["chaoslat: backend elsewhere, seed 13, runbook ladder,*"])


def test_the_same_seed_gives_the_same_trials(project):
    for _ in range(2):
        project.run("-m", "chaos", "--chaos-seed", "5", "experiments")
    first, second = (project.path / "ran.log").read_text().splitlines()
    assert first == second


@pytest.mark.parametrize(
    ("ini", "args"),
    [
        ("", ("--chaos-seed", "x")),
        ("", ("--chaos-seed", "-1")),
        ("", ("--chaos-keep", "sometimes")),
        ("chaos_keep = sometimes", ()),
        ("chaos_seed = 1.5", ()),
    ],
)
def test_values_that_make_no_sense(project, ini, args):
    project.pytester.makeini(f"[pytest]\n{ini}\n")
    assert project.run(*args).ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize(
    ("keep", "name", "kept"),
    [
        ("always", "cpu-limit", True),
        ("never", "wrong-a", False),
        ("on-failure", "wrong-a", True),
        ("on-failure", "cpu-limit", False),
    ],
)
def test_keeping_the_system(project, keep, name, kept):
    project.experiment("wrong-a")
    result = project.run("-m", "chaos", f"experiments/{name}.yaml", "--chaos-keep", keep)
    assert ("chaoslat down 00000001" in result.stdout.str()) is kept


def test_only_files_that_say_they_are_ours_in_the_folders_of_the_ini(project):
    project.pytester.makeini("[pytest]\nchaos_experiments = drills other/place\n")
    project.experiment("here", folder="drills")
    project.experiment("kube", "apiVersion: apps/v1\nkind: Deployment\n", folder="drills")
    project.experiment("notes", "text: [about apiVersion\n", folder="drills")
    result = project.run("-m", "chaos")
    result.stdout.fnmatch_lines(["*here*correct*"])
    result.assert_outcomes(passed=3, deselected=1)
    assert project.ran.count("here") == 1


def test_names_are_found_in_the_folders_of_the_ini(project):
    project.pytester.makeini("[pytest]\nchaos_experiments = one two\n")
    project.experiment("deep", folder="two")
    project.pytester.makepyfile(test_own="def test_own(chaos_trial):\n    chaos_trial('deep')\n")
    project.run("-m", "chaos", "test_own.py").assert_outcomes(passed=1)


def test_sync_and_async_tests(project):
    project.pytester.makeini("[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n")
    project.pytester.makepyfile(
        test_own="""
        import asyncio
        from pathlib import Path
        from chaoslat.experiment import Experiment

        async def test_async(chaos_trial, chaos_system):
            verdict = await chaos_trial.run(Path("experiments/cpu-limit.yaml"), runbook="classic")
            assert verdict.ruling == "correct"
            assert await chaos_system.run(lambda system: system.check()) == ()

        async def test_blocking_in_async(chaos_trial):
            assert chaos_trial("cpu-limit").ruling == "correct"

        def test_value(chaos_trial, chaos_system):
            assert chaos_trial(Experiment("mine", ("database",))).truth == ("database",)
            assert chaos_system.call(lambda system: system.check()) == ()
            assert chaos_system.info.run_id == "00000001"
        """
    )
    project.run("-m", "chaos", "test_own.py").assert_outcomes(passed=3)
    assert project.ran == ["cpu-limit", "cpu-limit", "mine"]


def test_an_invalid_trial_fails_a_python_test_unless_it_is_allowed(project):
    project.experiment("invalid-a")
    project.pytester.makepyfile(
        test_own="""
        def test_refused(chaos_trial):
            chaos_trial("invalid-a")

        def test_allowed(chaos_trial):
            assert chaos_trial("invalid-a", allow_invalid=True).ruling == "invalid"

        def test_unknown(chaos_trial):
            chaos_trial("nope")
        """
    )
    result = project.run("-m", "chaos", "test_own.py")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["invalid: no steady state", "*There is no experiment 'nope'*"])


def test_what_the_machine_does_not_offer_is_a_skip(project, monkeypatch):
    monkeypatch.setattr(capabilities, "missing", lambda needs: tuple(needs))
    project.experiment("picky", HEAD + "name: picky\nexpect: []\nneeds: [tun]\n")
    result = project.run("-m", "chaos", "experiments/picky.yaml", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*this machine does not offer tun*"])


def test_a_machine_that_cannot_fails_in_plain_words(project, monkeypatch):
    backend = DoubleBackend(fails=EnvironmentMissing("The local backend needs root", fix="run it with sudo"))
    monkeypatch.setattr(
        state,
        "open_session",
        lambda its: session(its.out, seed=its.seed, backend=backend),
    )
    result = project.run("-m", "chaos", "experiments")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["The local backend needs root", "  fix:   run it with sudo"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_system_that_cannot_be_removed_is_a_failure(project, monkeypatch):
    class Stubborn(DoubleBackend):
        async def create(self, run_id, progress):
            made = await super().create(run_id, progress)

            async def destroy():
                raise EnvironmentMissing("a mount is busy", fix="chaoslat heal")

            made.destroy = destroy
            return made

    monkeypatch.setattr(
        state,
        "open_session",
        lambda its: session(its.out, seed=its.seed, backend=Stubborn()),
    )
    result = project.run("-m", "chaos", "experiments")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["the system was not removed: a mount is busy", "*chaoslat heal"])


@pytest.mark.parametrize("interruption", [KeyboardInterrupt(), Terminated(15)])
def test_an_interruption_removes_the_system(project, monkeypatch, interruption):
    backend = DoubleBackend()

    async def interrupted(system, experiment, **kwargs):
        raise interruption

    monkeypatch.setattr(
        state,
        "open_session",
        lambda its: session(its.out, seed=its.seed, backend=backend, run_trial=interrupted),
    )
    result = project.run("-m", "chaos", "experiments")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert [system.destroyed for system in backend.made] == [True]


def test_several_workers_are_refused_with_the_reason(project):
    result = project.run_apart("-m", "chaos", "-n", "2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*refused: trials that run side by side disturb each other's latencies*"])
    assert project.ran == []


def test_several_workers_are_fine_when_chaos_was_not_asked_for(project):
    result = project.run_apart("-n", "2")
    result.assert_outcomes(passed=1)
    assert project.ran == []


def test_one_worker_runs_them_and_the_table_is_shown(project):
    result = project.run_apart(
        "-m", "chaos", "-n", "1", "--chaos-seed", "8", "--chaos-out", "out", "experiments"
    )
    result.stdout.fnmatch_lines(
        ["*cpu-limit*cpu-throttling*correct*", "1 of 1 diagnosed right", "report:  out", "seed:    8"]
    )
    assert project.ran == ["cpu-limit"]
    assert (project.path / "out/summary.json").exists()


def test_the_plugin_imports_nothing_heavy():
    """Starting pytest must not pay for what only a trial needs."""
    heavy = ["pydantic", "typer", "rich", "scipy", "numpy", "ruamel.yaml", "aiohttp", "psutil", "jinja2"]
    script = (
        "import pytest, sys; before = set(sys.modules); import chaoslat.pytest_plugin; "
        f"print([name for name in {heavy} if name in set(sys.modules) - before])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_project_that_does_not_use_it_is_left_alone(pytester):
    pytester.makepyfile("def test_it():\n    pass\n")
    with_it = pytester.runpytest_inprocess(*QUIET, "-q", "--strict-markers", plugins=PLUGINS)
    with_it.assert_outcomes(passed=1)
    assert "chaos" not in with_it.stdout.str()
    markers = pytester.runpytest_inprocess(*QUIET, "--markers", plugins=PLUGINS)
    markers.stdout.fnmatch_lines(["@pytest.mark.chaos: injects a real fault*"])
