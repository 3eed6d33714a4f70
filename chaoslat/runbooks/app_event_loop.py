"""Does the app's event loop stand still, busy with work of its own?

Mechanism first: the longest delay of the loop in each second, as the app exports it, added up. The sum is time in
which nobody was served, for sure. Then the budget: the time of the requests that nobody spent, neither the pool nor
the server nor the path nor their own CPU section; an app whose loop stands takes answers late, so that statements
look slow to it. Implicated takes both: the blocks are long enough for the requests that are late, and those would be
in time without what nobody spent.

What else stops a loop is asked before: a quota, and a node without a free core. And a loop that is blocked by work
uses the CPU for it; one that stands without using it was stopped by something that this step does not know. Nothing
is changed: synchronous code has no switch.
"""

from __future__ import annotations

import numpy as np

from chaoslat.model import Evidence, Finding, Outcome
from chaoslat.runbooks.base import Case, StepDef, StepParams
from chaoslat.runbooks.budget import Relief, relief, unspent_part_ms
from chaoslat.runbooks.window import Window


class AppEventLoopParams(StepParams):
    """`stands`: fraction of the late requests that the blocks account for. `short`: of what a usual request has left of
    the SLO, and `little`: time in which the loop stands over the fraction of late requests, below either of which the
    delays do not matter. `implicates` and `clears`: share of the tail. `gc`: part of the standing time from which on it
    is garbage collection."""

    stands: float = 1 / 3
    short: float = 0.5
    little: float = 0.1
    implicates: float = 0.5
    clears: float = 0.2
    gc: float = 0.5


async def run(case: Case, params: AppEventLoopParams) -> Finding:
    window = case.window
    gain = relief(
        window.requests, unspent_part_ms(window.requests, window.server_ms, window.noop_p50_ms), case.slo_ms
    )
    figures = _figures(window, gain)
    if gain.share < params.clears:
        text = f"time that nobody spent is {gain.share:.0%} of the tail: the event loop is not what makes it"
        return STEP.finding(Outcome.CLEARED, text, *figures)
    if not window.app.loop_seconds:
        text = "the app does not export the longest delay of its event loop"
        return STEP.finding(Outcome.INCONCLUSIVE, text, *figures)
    if longest_ms(window) < params.short * spare_ms(case):
        text = f"the loop's longest delay of a second is {longest_ms(window):.0f} ms: nobody is late by that"
        return STEP.finding(Outcome.CLEARED, text, *figures)
    if longest_ms(window) / 1000.0 < params.little * (gain.over_before - gain.over_after):
        text = f"the loop stands still for {longest_ms(window):.0f} ms a second: next to none of the late requests"
        return STEP.finding(Outcome.CLEARED, text, *figures)
    return _read(case, params, gain, figures)


def _read(case: Case, params: AppEventLoopParams, gain: Relief, figures: tuple[Evidence, ...]) -> Finding:
    window = case.window
    text = f"the loop stands still for {longest_ms(window):.0f} ms a second"
    if gain.share < params.implicates or enough(case, gain) < params.stands:
        text += (
            f": a part of the requests that are late; {gain.share:.0%} of the tail is time that nobody spent"
        )
        return STEP.finding(Outcome.INCONCLUSIVE, text, *figures)
    if any(finding.outcome is not Outcome.CLEARED for finding in case.findings if finding.cause):
        text += "; what else stops a loop (a quota, a node without a free core) is not cleared"
        return STEP.finding(Outcome.INCONCLUSIVE, text, *figures)
    if window.app_cpu[0].usage_s < window.app.loop_longest_sum_ms / 1000.0:
        text += (
            f", and the app used {window.app_cpu[0].usage_s:.1f} s of CPU in all: it was stopped, not busy"
        )
        return STEP.finding(Outcome.INCONCLUSIVE, text, *figures)
    what = "collecting garbage" if _gc_share(window) >= params.gc else "with synchronous work"
    text += f", {what}; {gain.share:.0%} of the tail is time that neither pool, server, path nor CPU section spent"
    return STEP.finding(Outcome.IMPLICATED, text, *figures, settles=gain.over_after <= 0.01)


def longest_ms(window: Window) -> float:
    """Mean over the seconds of the longest delay in each."""
    return window.app.loop_longest_sum_ms / max(window.app.loop_seconds, 1)


def spare_ms(case: Case) -> float:
    """What a usual request has left of the SLO: it is late when it comes so long before the end of a block."""
    latency_ms = case.window.requests.latency_ms
    return max(case.slo_ms - (float(np.median(latency_ms)) if len(latency_ms) else 0.0), 0.0)


def enough(case: Case, gain: Relief) -> float:
    """How much of the requests that are late by unspent time the loop's blocks account for, at least: of one block a
    second, the longest, all but the last `spare_ms` make requests late. (By Jensen's inequality the mean of blocks
    gives no more than the blocks do.)"""
    late = gain.over_before - gain.over_after
    by_blocks = max(longest_ms(case.window) - spare_ms(case), 0.0) / 1000.0
    return by_blocks / late if late > 0 else 0.0


def _gc_share(window: Window) -> float:
    stood_ms = window.app.loop_longest_sum_ms
    return window.app.gc_sum_ms / stood_ms if stood_ms else 0.0


def _figures(window: Window, gain: Relief) -> tuple[Evidence, ...]:
    return (
        Evidence(
            "longest event-loop delay of a second, mean",
            longest_ms(window),
            "ms",
            f"{window.app.loop_seconds} s",
        ),
        Evidence("share of the tail that nobody spent", gain.share, "fraction"),
        Evidence("garbage collection", window.app.gc_sum_ms, "ms"),
        Evidence("CPU that the app used", window.app_cpu[0].usage_s, "s", f"{window.duration_s:.1f} s"),
    )


STEP = StepDef(
    name="app-event-loop",
    cause="app-event-loop",
    hypothesis="synchronous work blocks the app's event loop",
    params=AppEventLoopParams,
    run=run,
    needs=("acquire", "query", "cpu", "noop", "statements", "app_cpu", "app_metrics"),
)
