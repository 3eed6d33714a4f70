"""What steps 1 and 2 share: which of their questions are open, the blocks that answer them, and the SLO after.

Mechanism speaks first: a factor whose mechanism was not seen, or could not account for the tail, gets no blocks.
Both steps read the same comparison, whichever asks first.
"""

from __future__ import annotations

import asyncio
import math

from chaoslat.model import CgroupCpu, Evidence
from chaoslat.runbooks import blocks
from chaoslat.runbooks.base import Answer, Case
from chaoslat.runbooks.blocks import Lever, Run
from chaoslat.runbooks.budget import Relief, relief
from chaoslat.runbooks.symptom import BUDGET, over

CPU, POOL = "cpu-limit", "pool-size"
FIGURES = {CPU: ("throttled_per_s", "throttled periods/s"), POOL: ("acquire_mean_ms", "ms")}
LEAST_RELIEF = 0.1  # what takes less than a tenth of the tail with it is not worth an intervention
ENLARGE_TO = 30
CONFIRM_S = 4.0
CONFIRM_LOOKS = 3


def throttling(case: Case) -> tuple[CgroupCpu, ...]:
    """The cgroups of the app's path in which a period was throttled in the latest window."""
    return tuple(c for c in case.window.app_cpu if c.throttled_periods > 0)


def pool_relief(case: Case) -> Relief:
    """The tail of the latest window without any wait for a connection."""
    return relief(case.window.requests, case.window.requests.acquire_ms, case.slo_ms)


async def answer(case: Case, factor: str) -> Answer | None:
    """The comparison's answer on a factor. The first caller runs the blocks, for all open questions at once.

    None when the factor's question was not open at the time.
    """
    if case.answers is None:
        levers = await _open_levers(case)
        run = await blocks.compare(case, levers)
        case.answers = {lever.factor: read_answer(run, lever.factor) for lever in levers}
        if any(a.outcome == "implicated" for a in case.answers.values()):
            case.cured = await _slo_is_back(case)
    return case.answers.get(factor)


async def _open_levers(case: Case) -> tuple[Lever, ...]:
    levers = []
    if throttled := throttling(case):
        levers.append(_cpu_lever(case, throttled))
    if pool_relief(case).share >= LEAST_RELIEF:
        levers.append(_pool_lever(case, (await case.operator.pool()).max))
    return tuple(levers)


def _cpu_lever(case: Case, throttled: tuple[CgroupCpu, ...]) -> Lever:
    async def lift() -> None:
        await asyncio.gather(*(case.operator.set_cpu_quota(c.path, None) for c in throttled))

    async def restore() -> None:
        await asyncio.gather(*(case.operator.set_cpu_quota(c.path, c.quota_us) for c in throttled))

    limits = ", ".join(f"{c.path}: {c.limit_cores or math.inf:.2f} cores" for c in throttled)
    return Lever(CPU, f"CPU limit ({limits}) lifted", lift, restore)


def _pool_lever(case: Case, size: int) -> Lever:
    large = max(3 * size, ENLARGE_TO)
    return Lever(
        POOL,
        f"pool {size} enlarged to {large}",
        lambda: case.operator.set_pool_size(large),
        lambda: case.operator.set_pool_size(size),
    )


def read_answer(run: Run, factor: str) -> Answer:
    """The decision, the mechanism in original and lifted blocks, and the figures behind both."""
    decision = run.comparison.decisions[factor]
    figure, unit = FIGURES[factor]
    original, lifted = (run.mean(figure, factor, setting) for setting in (False, True))
    return Answer(
        outcome=decision.outcome,
        original=original,
        lifted=lifted,
        evidence=(
            Evidence("evidence that lifting helps (E)", decision.e_value, "", f"{decision.blocks} blocks"),
            Evidence("evidence that lifting is not relevant", decision.clear_value, ""),
            Evidence("mechanism in original blocks", original, unit),
            Evidence("mechanism in lifted blocks", lifted, unit),
            *_latency_evidence(run, factor),
        ),
    )


def _latency_evidence(run: Run, factor: str) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(f"requests over the SLO, {name}", run.over_slo(factor, setting), "fraction")
        for name, setting in (("original", False), ("lifted", True))
    )


async def _slo_is_back(case: Case) -> bool:
    """Looks again, in windows of its own, with the winners lifted; the last window serves the steps that follow."""
    since_s = case.operator.now_s()
    for _ in range(CONFIRM_LOOKS):
        window = await case.observe(CONFIRM_S)
        seen = await case.operator.requests(since_s, window.until_s)
        if over(seen, case.slo_ms) <= BUDGET:
            return True
    return False
