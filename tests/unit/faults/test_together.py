"""Several faults: each is found alone, with the others out, and has to break the SLO alone."""

import pytest

from chaoslat.errors import ChaoslatError
from chaoslat.faults import FAULTS, together
from chaoslat.faults.base import FaultDef, Params
from tests.doubles import LevelledOperator, bench


class LevelParams(Params):
    level: float | None = None


class Faults:
    """Doubles of faults, each with a level of its own; the operator's latency follows the sum of those in force."""

    def __init__(self, harm):
        self.harm, self.in_force, self.log = harm, {}, []
        self.operator = LevelledOperator(lambda _level: sum(harm[name] for name in self.in_force))

    def fault(self, name):
        async def inject(_bench, params):
            self.log.append((name, params.level, tuple(self.in_force)))
            self.in_force[name] = params.level or 7.0
            return {"level": f"{self.in_force[name]}"}

        async def undo(_saboteur):
            self.in_force.pop(name, None)

        async def again(_saboteur):
            return LevelParams(level=self.in_force[name])

        return FaultDef(name, "cause", "a double", LevelParams, inject, undo, again)

    def wanted(self):
        return [(self.fault(name), LevelParams()) for name in self.harm]


async def test_each_is_found_while_the_others_are_out_and_the_last_stays():
    faults = Faults({"a": 0.05, "b": 0.10, "c": 0.2})
    found = await together.found_alone(bench(faults.operator), faults.wanted())
    assert faults.log == [("a", None, ()), ("b", None, ()), ("c", None, ())]
    assert [params.level for _, params in found] == [7.0] * 3
    assert list(faults.in_force) == ["c"]


@pytest.mark.parametrize("harmless", ["a", "b"])
async def test_one_that_breaks_nothing_alone_is_no_cause(harmless):
    faults = Faults({"a": 0.05, "b": 0.05} | {harmless: 0.005})
    with pytest.raises(ChaoslatError, match=f"{harmless} does not break the SLO by itself"):
        await together.found_alone(bench(faults.operator), faults.wanted())


def test_whatever_is_calibrated_for_the_four_causes_can_be_injected_again():
    names = {"cpu-limit", "pool-size", "network-latency", "cgroup-leak"}
    assert {fault.name for fault in FAULTS if fault.again} >= names
