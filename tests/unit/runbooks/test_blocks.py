"""Randomised blocks on a system in virtual time: heads that do not tell the settings apart, and what counts after."""

import random
from itertools import pairwise

import numpy as np
import pytest

from chaoslat.model import CgroupCpu
from chaoslat.runbooks import blocks, limits
from chaoslat.runbooks.base import Case
from chaoslat.runbooks.blocks import Lever
from tests.doubles import VirtualTime, requests

RATE_RPS = 60


class Slow(VirtualTime):
    """Unit-test double: an operator of a system whose CPU limit takes `settle_s` to change, and makes a tail."""

    def __init__(self, settle_s=0.4, tail_ms=80.0):
        super().__init__()
        self.settle_s, self.tail_ms, self.limited, self.changes = settle_s, tail_ms, True, []

    async def set_cpu_quota(self, path, quota_us):
        await self.sleep(self.settle_s)
        self.limited = quota_us is not None
        self.changes.append((self.now_s(), self.limited))

    async def app_cpu(self):
        return (CgroupCpu("app", 20_000 if self.limited else None, 100_000, 10, 3 * self.limited, 0.1, 1.0),)

    async def requests(self, since_s, until_s):
        count = max(int((until_s - since_s) * RATE_RPS), 1)
        limited = self._limited_at((since_s + until_s) / 2)
        latency_ms = [self.tail_ms if limited and n % 5 == 0 else 5.0 for n in range(count)]
        return requests(latency_ms, start_s=since_s, rate_rps=RATE_RPS)

    def _limited_at(self, at_s):
        before = [limited for changed_s, limited in self.changes if changed_s <= at_s]
        return before[-1] if before else True


def case_of(operator):
    noted = []
    case = Case(
        operator, 30.0, random.Random(3), lambda _line: None, lambda kind, data: noted.append((kind, data))
    )
    return case, noted


class Watched:
    """Unit-test double: the passive window."""

    def __init__(self, seen):
        self.requests = seen


async def compared(operator):
    case, noted = case_of(operator)
    case.windows.append(Watched(await operator.requests(0.0, 10.0)))
    lever = limits.cpu_lever(case, await operator.app_cpu())
    return await blocks.compare(case, (lever,)), [data for kind, data in noted if kind == "block"]


async def test_a_slow_intervention_is_implicated_and_its_settling_is_in_the_recording():
    operator = Slow()
    run, noted = await compared(operator)
    assert run.comparison.decisions["cpu-limit"].outcome == "implicated"
    assert noted[-1]["settle_s"] == pytest.approx(0.4)
    assert not operator.limited  # what is implicated stays lifted


async def test_every_block_has_the_same_head_whether_or_not_its_setting_changed():
    operator = Slow()
    run, noted = await compared(operator)
    changed = [a["settings"] != b["settings"] for a, b in pairwise(noted)]
    assert len(set(changed)) == 2  # both kinds occur
    settled = [block for block in noted if block["settle_s"] > 0]
    gaps_s = {round(b["start_s"] - a["end_s"], 6) for a, b in pairwise(settled)}
    assert max(gaps_s) - min(gaps_s) < 0.01
    lengths_s = {round(block["end_s"] - block["start_s"], 3) for block in noted}
    assert lengths_s == {round(run.block_s, 3)}


async def test_a_quota_is_written_only_when_it_changes():
    operator = Slow(settle_s=0.0)
    await compared(operator)
    states = [limited for _, limited in operator.changes]
    assert states[0] is False
    assert all(a is not b for a, b in pairwise(states))


async def test_blocks_with_the_final_settings_count_for_the_slo_after():
    operator = Slow()
    run, _ = await compared(operator)
    seen = run.seen_with({"cpu-limit": True})
    assert seen
    assert all(np.all(part.latency_ms <= 30.0) for part in seen)
    assert sum(map(len, run.seen_with({"cpu-limit": False}))) > 0


async def test_a_lever_without_an_effect_is_not_implicated():
    operator = Slow(tail_ms=5.0)
    case, _ = case_of(operator)
    case.windows.append(Watched(await operator.requests(0.0, 10.0)))
    nothing = Lever("cpu-limit", "nothing", operator.app_cpu, operator.app_cpu)
    run = await blocks.compare(case, (nothing,), least_tail=0.0)
    assert run.comparison.decisions["cpu-limit"].outcome == "cleared"
