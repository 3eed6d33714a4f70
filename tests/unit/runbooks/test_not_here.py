"""What cannot be seen or done is said, and nothing is concluded from it: never a cleared or implicated cause."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from chaoslat.errors import NotHere
from chaoslat.model import CgroupCpu, NoopSample, Outcome, PoolState
from chaoslat.runbooks import diagnose, load
from chaoslat.runbooks.sight import Sight, unsaid
from chaoslat.runbooks.window import not_above, observe
from tests.doubles import VirtualTime, requests

NAN = float("nan")


class Blind(VirtualTime):
    """An operator of an app that is slow and says nothing; whatever is asked besides raises NotHere."""

    def __init__(self, obstacles=None, **seen):
        super().__init__()
        self.seen, self.asked, self.obstacles = seen, [], obstacles or {}

    async def requests(self, since_s, until_s):
        made = requests(np.where(np.arange(200) % 5, 5.0, 80.0), start_s=since_s)
        said = self.seen.get("said", {"acquire_ms": NAN, "query_ms": NAN, "cpu_ms": NAN, "statements": -1})
        return dataclasses.replace(
            made, **{k: np.broadcast_to(np.asarray(v, getattr(made, k).dtype), 200) for k, v in said.items()}
        )

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)

        async def call(*args):
            self.asked.append(name)
            if name not in self.seen:
                raise NotHere(f"{name} is not here")
            found = self.seen[name]
            return found() if callable(found) else found

        return call


def container(throttled_periods=0, path="pod-1/app"):
    return CgroupCpu(path, 15_000, 100_000, 100, throttled_periods, 0.0, 1.0)


def growing(step, path="pod-1/app"):
    """A cgroup that throttles `step` more periods at each reading."""
    count = iter(range(0, 100_000, step) if step else [0] * 1000)
    return lambda: (container(next(count), path),)


async def ladder(operator):
    return await diagnose(load("ladder"), operator, slo_ms=30.0, seed=1, progress=lambda _line: None)


async def test_an_app_of_which_only_the_latency_is_known_clears_and_implicates_nothing():
    found = await ladder(Blind())
    assert found.inconclusive
    assert found.causes == ()
    outcomes = {f.step: f.outcome for f in found.findings}
    assert outcomes.pop("symptom") == Outcome.NOTED
    assert outcomes.pop("load") == Outcome.NOTED  # its log does not reach back
    assert set(outcomes.values()) == {Outcome.INCONCLUSIVE}
    assert all("not here" in line for line in found.missing)


async def test_each_step_says_why():
    found = await ladder(Blind())
    said = {f.step: f.sentence for f in found.findings}
    assert "app_cpu is not here" in said["cpu-limit"]
    assert "does not say how long a request waited" in said["pool-wait"]
    assert "noop is not here" in said["network-path"]
    assert "memory_cgroups is not here" in said["memory-cgroups"]


async def test_what_is_not_here_is_asked_once_a_window():
    operator = Blind()
    await observe(operator, 3.0)
    assert operator.asked.count("noop") == 1
    assert operator.asked.count("app_cpu") == 1


async def test_no_throttling_in_the_containers_own_cgroup_does_not_clear_a_quota_above():
    found = await ladder(Blind(app_cpu=growing(0)))
    (cpu,) = [f for f in found.findings if f.step == "cpu-limit"]
    assert cpu.outcome == Outcome.INCONCLUSIVE
    assert "above pod-1/app cannot be seen" in cpu.sentence


async def test_throttling_without_leave_to_intervene_is_told_and_not_implicated():
    operator = Blind({"set_cpu_quota": "interventions were not allowed"}, app_cpu=growing(40))
    found = await ladder(operator)
    (cpu,) = [f for f in found.findings if f.step == "cpu-limit"]
    assert cpu.outcome == Outcome.INCONCLUSIVE
    assert "pod-1/app (limit 0.15 cores) throttles" in cpu.sentence
    assert "interventions were not allowed" in cpu.sentence
    assert "set_cpu_quota" not in operator.asked


async def test_waits_for_a_connection_without_leave_to_intervene_are_told_and_not_implicated():
    said = {"acquire_ms": np.where(np.arange(200) % 5, 0.0, 70.0), "query_ms": 1.0, "statements": 3}
    operator = Blind(
        {"set_pool_size": "interventions were not allowed"}, said=said, pool=PoolState(2, 2, 2, 3)
    )
    found = await ladder(operator)
    (pool,) = [f for f in found.findings if f.step == "pool-wait"]
    assert pool.outcome == Outcome.INCONCLUSIVE
    assert "interventions were not allowed" in pool.sentence
    assert "set_pool_size" not in operator.asked


async def test_an_intervention_that_proves_impossible_makes_the_step_inconclusive():
    found = await ladder(Blind(app_cpu=growing(40)))
    (cpu,) = [f for f in found.findings if f.step == "cpu-limit"]
    assert cpu.outcome == Outcome.INCONCLUSIVE
    assert cpu.sentence == "not here: set_cpu_quota is not here"


async def test_the_classic_runbook_too():
    found = await diagnose(load("classic"), Blind(), slo_ms=30.0, seed=1, progress=lambda _line: None)
    assert found.causes == ()
    assert all(f.outcome != Outcome.IMPLICATED for f in found.findings)


async def test_a_pool_that_nobody_waits_for_is_cleared_without_seeing_it():
    said = {"acquire_ms": 0.1, "query_ms": NAN, "cpu_ms": NAN, "statements": -1}
    found = await ladder(Blind(said=said))
    (pool,) = [f for f in found.findings if f.step == "pool-wait"]
    assert pool.outcome == Outcome.CLEARED


@pytest.mark.parametrize(("trip_ms", "outcome"), [(0.4, Outcome.CLEARED), (25.0, Outcome.INCONCLUSIVE)])
async def test_a_round_trip_alone_can_clear_the_path_and_not_implicate_it(trip_ms, outcome):
    found = await ladder(Blind(noop=NoopSample((trip_ms,) * 5, 0.0)))
    (path,) = [f for f in found.findings if f.step == "network-path"]
    assert path.outcome == outcome
    assert f"{trip_ms:.1f} ms of path" in path.sentence


@pytest.mark.parametrize(
    ("trips_ms", "outcome"),
    [
        ((25.0, 26.0, 25.5, 27.0, 25.0), Outcome.IMPLICATED),
        ((0.3, 0.4, 26.0, 27.0, 25.0), Outcome.INCONCLUSIVE),
    ],
)
async def test_on_a_node_that_is_not_seen_a_path_is_implicated_only_when_it_delays_all(trips_ms, outcome):
    said = {
        "acquire_ms": 0.1,
        "query_ms": np.where(np.arange(200) % 5, 4.0, 78.0),
        "cpu_ms": 0.5,
        "statements": 3,
    }
    operator = Blind(said=said, noop=NoopSample(trips_ms, 0.0), pool=PoolState(10, 5, 1, 0))
    found = await ladder(operator)
    (path,) = [f for f in found.findings if f.step == "network-path"]
    assert path.outcome == outcome, path.sentence


class TestSight:
    async def test_an_answer_is_passed_on(self):
        async def question():
            return 7

        assert await Sight().ask("call", question, 0) == 7

    async def test_another_error_is_raised(self):
        async def question():
            raise RuntimeError("a bug")

        with pytest.raises(RuntimeError):
            await Sight().ask("call", question, 0)


class TestUnsaid:
    def test_an_app_that_says_all(self):
        assert unsaid(requests([5.0] * 10)) == {}

    def test_an_app_that_says_its_queries_only(self):
        assert set(unsaid(requests([5.0] * 10, acquire_ms=NAN, cpu_ms=NAN))) == {"acquire", "cpu"}

    def test_nothing_is_known_of_requests_that_have_not_ended(self):
        pending = requests([5.0] * 10, acquire_ms=NAN)
        pending.done[:] = False
        assert unsaid(pending) == {}


def test_a_walk_that_reached_the_root_saw_all():
    assert not_above((container(), container(path="/"))) == {}
    assert not_above(()) == {}
    assert "ancestors" in not_above((container(),))
