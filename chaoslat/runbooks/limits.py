"""What steps 1 and 2 share: which of their questions are open, the blocks that answer them, and the SLO after.

Mechanism speaks first: a factor whose mechanism was not seen, or could not account for the tail, gets no blocks.
Both steps read the same comparison, whichever asks first.
"""

from __future__ import annotations

import asyncio
import math

import numpy as np

from chaoslat.compare import Effect, effect
from chaoslat.load.log import Requests
from chaoslat.model import CgroupCpu, Evidence
from chaoslat.runbooks import blocks
from chaoslat.runbooks.base import Answer, Case
from chaoslat.runbooks.blocks import Lever, Run
from chaoslat.runbooks.budget import Relief, relief
from chaoslat.runbooks.holding import held_longer
from chaoslat.runbooks.symptom import BUDGET, over
from chaoslat.runbooks.window import Window

CPU, POOL = "cpu-limit", "pool-size"
STEPS = {CPU: "cpu-limit", POOL: "pool-wait"}  # who asks
SET_CPU, SET_POOL = "set_cpu_quota", "set_pool_size"
FIGURES = {CPU: ("throttled_per_s", "throttled periods/s"), POOL: ("acquire_mean_ms", "ms")}
LEAST_RELIEF = 0.1  # what takes less than a tenth of the tail with it is not worth an intervention
ENLARGE_TO = 30
CPU_BLOCK_S = 1.0
CONFIRM_S = 2.0
CONFIRM_LOOKS = 6
CONFIRM_LEAST = 200  # requests; 1 % of fewer is a matter of one


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
        case.compared = tuple(STEPS[lever.factor] for lever in levers)
        case.compared_after = len(case.interventions)
        case.answers = {lever.factor: read_answer(case.window, run, lever.factor) for lever in levers}
        if any(a.outcome == "implicated" for a in case.answers.values()):
            case.cured = await _slo_is_back(case, run)
    return case.answers.get(factor)


async def _open_levers(case: Case) -> tuple[Lever, ...]:
    levers = []
    if (throttled := throttling(case)) and not case.obstacle(SET_CPU):
        levers.append(cpu_lever(case, throttled))
    if await _pool_is_open(case):
        levers.append(pool_lever(case, (await case.operator.pool()).max))
    return tuple(levers)


async def _pool_is_open(case: Case) -> bool:
    """A larger pool could be the cure, and can be had."""
    if pool_relief(case).share < LEAST_RELIEF or case.obstacle(SET_POOL):
        return False
    return await held_longer(case) is None


def cpu_lever(case: Case, throttled: tuple[CgroupCpu, ...]) -> Lever:
    """Written only when it changes: the kernel refills the budget at every write, so that a limit that is re-issued
    at each boundary throttles less than one that is left alone (measured: 15 % over the SLO against 6 %). For the
    same reason blocks are longer: a queue that throttling has built up takes ten periods and more to form again."""
    state = {"lifted": False}

    async def put(lifted: bool) -> None:
        if lifted is not state["lifted"]:
            quotas = ((c.path, None if lifted else c.quota_us) for c in throttled)
            await asyncio.gather(*(case.operator.set_cpu_quota(path, quota_us) for path, quota_us in quotas))
            state["lifted"] = lifted

    async def lift() -> None:
        await put(True)

    async def restore() -> None:
        await put(False)

    limits = ", ".join(f"{c.path}: {c.limit_cores or math.inf:.2f} cores" for c in throttled)
    return Lever(CPU, f"CPU limit ({limits}) lifted", lift, restore, CPU_BLOCK_S)


def pool_lever(case: Case, size: int) -> Lever:
    large = max(3 * size, ENLARGE_TO)
    return Lever(
        POOL,
        f"pool {size} enlarged to {large}",
        lambda: case.operator.set_pool_size(large),
        lambda: case.operator.set_pool_size(size),
    )


def read_answer(passive: Window, run: Run, factor: str) -> Answer:
    """The decision, the mechanism with the original and the lifted setting, and the figures behind both."""
    decision = run.comparison.decisions[factor]
    figure, unit = FIGURES[factor]
    original = _with_passive(_passive_figure(passive, factor), passive.duration_s, run, factor)
    lifted = run.mean(figure, factor, True)
    return Answer(
        outcome=decision.outcome,
        original=original,
        lifted=lifted,
        evidence=(
            Evidence("evidence that lifting helps (E)", decision.e_value, "", f"{decision.blocks} blocks"),
            Evidence("evidence that lifting is not relevant", decision.clear_value, ""),
            Evidence("mechanism with the original setting", original, unit),
            Evidence("mechanism when lifted", lifted, unit),
            *_latency_evidence(run, factor),
        ),
    )


def _passive_figure(passive: Window, factor: str) -> float:
    if factor == CPU:
        return blocks.throttled_per_s(passive.app_cpu, passive.duration_s)
    known = passive.requests.acquire_ms[np.isfinite(passive.requests.acquire_ms)]
    return float(known.mean()) if len(known) else 0.0


def _with_passive(figure: float, duration_s: float, run: Run, factor: str) -> float:
    """The passive window had the original setting too: its figure and that of the blocks, weighted by their time."""
    count = run.count(factor, False)
    if not count:
        return figure
    blocks_s = count * run.block_s
    in_blocks = run.mean(FIGURES[factor][0], factor, False)
    return (figure * duration_s + in_blocks * blocks_s) / (duration_s + blocks_s)


def _latency_evidence(run: Run, factor: str) -> tuple[Evidence, ...]:
    """The SLO both ways, and the effect on P99 with its interval (a bootstrap over blocks, seeded by their number)."""
    sides = [run.latencies(factor, lifted) for lifted in (False, True)]
    found = effect(sides[0], sides[1], run.slo_ms, np.random.default_rng(len(run.blocks)))
    p99 = () if found is None else (_p99_evidence(found),)
    return p99 + tuple(
        Evidence(f"requests over the SLO, {name}", run.over_slo(factor, setting), "fraction")
        for name, setting in (("original", False), ("lifted", True))
    )


def _p99_evidence(found: Effect) -> Evidence:
    change, interval = found.p99_ms, found.p99_ms.difference_interval
    note = (
        f"{change.original:.0f} -> {change.lifted:.0f} ms, {found.confidence:.0%} interval {interval.low:.0f} to "
        f"{interval.high:.0f} ms; error budget spent {found.original_burn:.1f} and {found.lifted_burn:.1f} times over"
    )
    return Evidence("effect of lifting on P99", change.difference, "ms", note)


async def _slo_is_back(case: Case, run: Run) -> bool:
    """Looks again with the winners lifted; the last window serves the steps that follow.

    The blocks that had the same settings count too: they are most of what is known about them. But the looks must
    be within the budget by themselves.
    """
    won = {name: d.outcome == "implicated" for name, d in run.comparison.decisions.items()}
    before = run.seen_with(won)
    since_s = case.operator.now_s()
    for _ in range(CONFIRM_LOOKS):
        window = await case.observe(CONFIRM_S)
        looks = await case.operator.requests(since_s, window.until_s)
        if _within_budget([looks], case.slo_ms) and _within_budget(
            [*before, looks], case.slo_ms, CONFIRM_LEAST
        ):
            return True
    return False


def _within_budget(seen: list[Requests], slo_ms: float, least: int = 1) -> bool:
    count = sum(len(requests) for requests in seen)
    late = sum(over(requests, slo_ms) * len(requests) for requests in seen)
    return count >= least and late <= BUDGET * count
