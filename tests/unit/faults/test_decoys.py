"""On a backend without means for decoys, a decoy says so, and its undo is nothing."""

from dataclasses import replace

import pytest

from chaoslat import faults
from chaoslat.errors import ChaoslatError, EnvironmentMissing
from chaoslat.faults.quota import PERIOD_US
from chaoslat.model import CgroupCpu
from tests.doubles import LevelledOperator, VirtualTime, bench

DECOYS = (
    "database-cpu",
    "slow-statement",
    "table-lock",
    "parent-quota",
    "harmless-throttling",
    "cpu-neighbour",
    "event-loop-block",
    "connection-leak",
)


class Plain:
    """Unit-test double: a saboteur of a backend that has no decoys."""

    decoys = None


@pytest.mark.parametrize("name", DECOYS)
async def test_not_here(name):
    fault = faults.get(name)
    with pytest.raises(EnvironmentMissing, match="Not here"):
        await fault.inject(bench(VirtualTime(), Plain()), fault.params())
    await fault.undo(Plain())


class Throttled(LevelledOperator):
    """Unit-test double: throttling that harms a fraction of requests, by the quota that is set."""

    def __init__(self, harm):
        super().__init__(lambda quota_us: harm(quota_us / PERIOD_US))
        self.decoys = self
        self.stopped = 0
        self.harmed = []

    async def app_cpu(self):
        return (CgroupCpu("app", self.level, PERIOD_US, 0, round(self.at_s * 10), 0.0, 0.0),)

    async def usage_s(self, place):
        return 0.2 * self.at_s

    async def quota_us(self, place):
        return self.level

    async def set_quota(self, place, quota_us):
        self.level = quota_us
        self.harmed.append(quota_us)

    async def start_burners(self, count, **how):
        self.started = count

    async def burners(self):
        return self.started


def means_of(monkeypatch, operator):
    monkeypatch.setattr("chaoslat.faults.decoy.means", lambda saboteur: operator)


async def test_throttling_is_softened_until_it_harms_nobody(monkeypatch):
    operator = Throttled(lambda cores: 0.2 if cores < 1.16 else 0.0)
    means_of(monkeypatch, operator)
    fault = faults.get("harmless-throttling")
    level = await fault.inject(bench(operator), fault.params(stall=0.05))
    assert [round(quota_us / PERIOD_US, 3) for quota_us in operator.harmed] == [1.14, 1.17]
    assert level["limit of app"] == "1.170 cores"
    assert level["throttled periods"] == "10.0 a second"


async def test_throttling_that_stays_harmful_is_refused(monkeypatch):
    operator = Throttled(lambda cores: 0.2)
    means_of(monkeypatch, operator)
    fault = faults.get("harmless-throttling")
    with pytest.raises(ChaoslatError, match="cannot be made harmless"):
        await fault.inject(bench(operator), fault.params())


class Crowded(Throttled):
    """A double of a node: the more pods compute, the more requests are late."""

    async def start_burners(self, count, **how):
        assert not how["beside_app"]
        self.level = count * PERIOD_US
        self.started = count


@pytest.mark.parametrize(("needed", "expected"), [(6, 6), (12, 20)])
async def test_pods_are_added_until_the_app_waits_for_a_core(monkeypatch, needed, expected):
    operator = Crowded(lambda pods: 0.2 if pods >= needed else 0.01)
    means_of(monkeypatch, operator)
    fault = faults.get("cpu-neighbour")
    level = await fault.inject(bench(operator), fault.params())
    assert level == {"pods that compute": str(expected)}


async def test_as_many_pods_as_asked_for(monkeypatch):
    operator = Crowded(lambda pods: 0.0)
    means_of(monkeypatch, operator)
    fault = faults.get("cpu-neighbour")
    assert await fault.inject(bench(operator), fault.params(pods=3)) == {"pods that compute": "3"}


class Loaded(LevelledOperator):
    """A double: a system that is late with a fifth of the requests from a certain load on."""

    def __init__(self, most):
        super().__init__(lambda factor: 0.2 if factor >= most else 0.0)
        self.level, self.asked = 1.0, []

    async def scale(self, factor):
        self.level = factor
        self.asked.append(factor)


async def test_the_load_rises_at_once_after_a_calm():
    operator = Loaded(most=4.0)
    fault = faults.get("load-spike")
    level = await fault.inject(replace(bench(operator), scale_load=operator.scale), fault.params())
    assert operator.level >= 4.0
    assert operator.asked[-2:] == [1.0, operator.level]
    assert level == {"load": f"{operator.level:.2f} times the usual rate"}


async def test_no_load_of_ours_no_spike():
    fault = faults.get("load-spike")
    with pytest.raises(EnvironmentMissing, match="Not here"):
        await fault.inject(bench(Loaded(most=4.0)), fault.params())
