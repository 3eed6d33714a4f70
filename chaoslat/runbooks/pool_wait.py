"""Step 2: waiting for a pooled connection. Acquire time and waiters first; then the pool enlarged, in blocks.

Taking every request's acquire time away bounds what a larger pool can gain. Where that is little, the pool is
cleared and nothing is changed.
"""

from __future__ import annotations

import numpy as np

from chaoslat.model import Evidence, Finding, Outcome
from chaoslat.runbooks.base import Answer, Case, StepDef, StepParams
from chaoslat.runbooks.limits import LEAST_RELIEF, POOL, SET_POOL, answer, pool_relief


class PoolWaitParams(StepParams):
    """No parameters: the mechanism and the comparison decide."""


async def run(case: Case, _params: PoolWaitParams) -> Finding:
    figures, gain = _figures(case), pool_relief(case)
    if gain.share < LEAST_RELIEF:
        text = (
            f"without any wait for a connection {gain.over_after:.1%} instead of {gain.over_before:.1%} "
            "would be over the SLO: a larger pool cannot be the cure"
        )
        return STEP.finding(Outcome.CLEARED, text, *figures)
    if why := case.obstacle(SET_POOL):
        text = f"requests wait for a connection; whether a larger pool helps is not known. Not here: {why}"
        return STEP.finding(Outcome.INCONCLUSIVE, text, *figures)
    found = await answer(case, POOL)
    if found is None:
        return STEP.finding(
            Outcome.INCONCLUSIVE, "waits for a connection began after the comparison", *figures
        )
    return _read(case, found, figures)


def _read(case: Case, found: Answer, figures: tuple[Evidence, ...]) -> Finding:
    figures += found.evidence
    if found.outcome == "cleared":
        return STEP.finding(
            Outcome.CLEARED, "requests wait for a connection; a larger pool does not help", *figures
        )
    if found.outcome == "undecided":
        return STEP.finding(Outcome.INCONCLUSIVE, "requests wait; the comparison did not decide", *figures)
    if not found.mechanism_fell:
        text = "the tail falls with a larger pool, but the waits do not"
        return STEP.finding(Outcome.INCONCLUSIVE, text, *figures)
    text = (
        f"requests wait {found.original:.1f} ms for a connection, {found.lifted:.1f} ms with a larger pool, "
        "and the tail falls"
    )
    enlarged = ("pool enlarged",)
    return STEP.finding(Outcome.IMPLICATED, text, *figures, settles=case.cured, interventions=enlarged)


def _figures(case: Case) -> tuple[Evidence, ...]:
    window = case.window
    waiting = [state.waiting for state in window.pool]
    largest = f"pool max {window.pool[-1].max}" if window.pool else "the pool is not seen"
    acquired = max(window.app.acquire_count, 1)
    known = window.requests.acquire_ms[np.isfinite(window.requests.acquire_ms)]
    return (
        Evidence("mean acquire time", window.app.acquire_sum_ms / acquired, "ms", f"{acquired} acquires"),
        Evidence("P99 acquire time", float(np.quantile(known, 0.99)) if len(known) else 0.0, "ms"),
        Evidence("most waiters seen", max(waiting, default=0), "requests", largest),
    )


STEP = StepDef(
    name="pool-wait",
    cause="pool-wait",
    hypothesis="requests wait for a pooled connection",
    params=PoolWaitParams,
    run=run,
    needs=("acquire",),
)
