"""Step 2: waiting for a pooled connection. Acquire time and waiters first; then the pool enlarged, in blocks.

Taking every request's acquire time away bounds what a larger pool can gain. Where that is little, the pool is
cleared and nothing is changed. Neither is it where requests hold their connections for much longer than when the SLO
was last kept, and the pool would be ample at the hold time of before: it is full because something slows them.
"""

from __future__ import annotations

import numpy as np

from chaoslat.model import Evidence, Finding, Outcome
from chaoslat.runbooks.base import Answer, Case, StepDef, StepParams
from chaoslat.runbooks.holding import held_by_others, held_longer
from chaoslat.runbooks.limits import LEAST_RELIEF, POOL, SET_POOL, answer, pool_relief


class PoolWaitParams(StepParams):
    """No parameters: the mechanism and the comparison decide."""


async def run(case: Case, _params: PoolWaitParams) -> Finding:
    figures = _figures(case)
    found = (case.answers or {}).get(POOL)  # compared beside the CPU limit, with what won still lifted
    if found is None and (why := await _cannot_be(case)):
        return STEP.finding(Outcome.CLEARED, why, *figures)
    if found is None and (why := case.obstacle(SET_POOL)):
        text = f"requests wait for a connection; whether a larger pool helps is not known. Not here: {why}"
        return STEP.finding(Outcome.INCONCLUSIVE, text, *figures)
    found = found or await answer(case, POOL)
    if found is None:
        text = "waits for a connection began after the comparison"
        return STEP.finding(Outcome.INCONCLUSIVE, text, *figures)
    return _read(case, found, figures, held_by_others(case.windows[0]))


async def _cannot_be(case: Case) -> str:
    """Why a larger pool cannot be the cure, by what was seen; empty when it can."""
    gain = pool_relief(case)
    if gain.share < LEAST_RELIEF:
        return (
            f"without any wait for a connection {gain.over_after:.1%} instead of {gain.over_before:.1%} "
            "would be over the SLO: a larger pool cannot be the cure"
        )
    if (longer := await held_longer(case)) is not None:
        return (
            f"requests hold their connection for {longer.now_ms:.0f} ms, and for {longer.before_ms:.0f} ms when the "
            f"SLO was last kept: that would keep {longer.busy_before:.1f} of {case.window.pool[-1].max} connections "
            "busy. What slows them fills the pool; a larger one would hide it"
        )
    return ""


def _read(case: Case, found: Answer, figures: tuple[Evidence, ...], others: float) -> Finding:
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
    if others:
        text += (
            f". {others:.1f} connections are in use that no request accounts for: something holds them (a leak, a long "
            "transaction), and a larger pool lasts until it holds those too"
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
