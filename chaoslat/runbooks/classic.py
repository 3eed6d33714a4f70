"""The field report's ladder, as it is worded: one window before, one after, "P99 fell"; srtt against a threshold.

It is here to be scored on the same trials as `ladder`. Its faults are its own: single windows on a noisy machine,
no mechanism asked for, and srtt taken for the network.
"""

from __future__ import annotations

from chaoslat.load.log import Requests
from chaoslat.model import Evidence, Finding, Outcome
from chaoslat.runbooks.base import Case, StepDef, StepParams

SETTLE_S = 1.0


class BeforeAfterParams(StepParams):
    """`window_s`: each window; `fell_by`: the fall of P99 that counts as "fell"."""

    window_s: float = 8.0
    fell_by: float = 0.2


class PoolParams(BeforeAfterParams):
    """`enlarge_to`: the larger pool (10 -> 30)."""

    enlarge_to: int = 30


class SrttParams(StepParams):
    """`path_ms`: from this srtt on it is the network path ("several ms or more")."""

    path_ms: float = 3.0


async def run_cpu(case: Case, params: BeforeAfterParams) -> Finding:
    """Step 1: remove the CPU limit, compare P99."""
    before = await _look(case, params.window_s)
    limited = [c for c in await case.operator.app_cpu() if c.quota_us is not None]
    if not limited:
        return CPU.finding(Outcome.CLEARED, "no CPU limit is set", *_p99(before))
    for cgroup in limited:
        await case.operator.set_cpu_quota(cgroup.path, None)
    case.intervene("CPU limit removed")
    return await _after(CPU, case, params, before)


async def run_pool(case: Case, params: PoolParams) -> Finding:
    """Step 2: look at the pool's acquire time, enlarge the pool, compare P99."""
    before = await _look(case, params.window_s)
    state = await case.operator.pool()
    await case.operator.set_pool_size(max(params.enlarge_to, state.max))
    case.intervene(f"pool {state.max} enlarged to {max(params.enlarge_to, state.max)}")
    return await _after(POOL, case, params, before)


async def run_srtt(case: Case, params: SrttParams) -> Finding:
    """Step 3: `ss -ti`, one shot: several ms or more is the network path, sub-ms the query or the database."""
    sockets = await case.operator.sockets()
    if not sockets:
        return SRTT.finding(Outcome.INCONCLUSIVE, "no established socket to the database")
    srtt_ms = sorted(s.rtt_ms for s in sockets)[len(sockets) // 2]
    figure = Evidence("srtt, median of the pooled sockets", srtt_ms, "ms", f"{len(sockets)} sockets")
    if srtt_ms >= params.path_ms:
        return SRTT.finding(Outcome.IMPLICATED, f"srtt {srtt_ms:.1f} ms: network path", figure, settles=True)
    text = f"srtt {srtt_ms:.2f} ms: the query or the database side"
    return SRTT.finding(Outcome.IMPLICATED, text, figure, settles=True, cause="database")


async def _look(case: Case, window_s: float) -> Requests:
    start_s = case.operator.now_s()
    await case.operator.sleep(window_s)
    return await case.operator.requests(start_s, case.operator.now_s())


async def _after(step: StepDef, case: Case, params: BeforeAfterParams, before: Requests) -> Finding:
    await case.operator.sleep(SETTLE_S)
    after = await _look(case, params.window_s)
    was_ms, now_ms = before.percentile(99), after.percentile(99)
    if now_ms <= was_ms * (1 - params.fell_by):
        return step.finding(
            Outcome.IMPLICATED,
            f"P99 fell, {was_ms:.0f} -> {now_ms:.0f} ms: {step.cause}",
            *_p99(before, after),
            settles=True,
        )
    return step.finding(
        Outcome.CLEARED, f"P99 did not fall, {was_ms:.0f} -> {now_ms:.0f} ms", *_p99(before, after)
    )


def _p99(*windows: Requests) -> tuple[Evidence, ...]:
    names = ("P99 before", "P99 after")
    return tuple(Evidence(name, w.percentile(99), "ms") for name, w in zip(names, windows, strict=False))


CPU = StepDef(
    "classic-cpu-limit",
    "cpu-throttling",
    "CFS throttling: remove the limit, compare P99",
    BeforeAfterParams,
    run_cpu,
)
POOL = StepDef(
    "classic-pool",
    "pool-wait",
    "waiting for a pooled connection: enlarge the pool, compare P99",
    PoolParams,
    run_pool,
)
SRTT = StepDef("classic-srtt", "network-path", "network path: srtt by ss -ti", SrttParams, run_srtt)
