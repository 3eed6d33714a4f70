"""Did the tail come with the load?

The access log reaches back to before the tail. Its last stretch within the SLO says at which rate that was kept. When
the load has risen since, by more than chance and more than a little, and the rate was high whenever the tail was
there, the load is the cause, unless a step before found one: then the part that it named is what the load has
outgrown. Without a stretch from before the tail nothing can be said, and nothing is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pydantic import Field
from scipy import stats

from chaoslat.load.log import Requests
from chaoslat.model import Evidence, Finding, Outcome
from chaoslat.runbooks.base import Case, StepDef, StepParams
from chaoslat.runbooks.symptom import BUDGET, over

P_VALUE = 0.001


class LoadParams(StepParams):
    """`history_s`: how far back to look; `bin_s`: a stretch that is judged as one; `calm`: so many of them in a row
    within the SLO are what was before; `rise`: smallest factor that counts; `with_tail`: of the stretches over the
    SLO since then, the fraction in which the rate was high."""

    history_s: float = Field(default=300.0, gt=0, le=3600)
    bin_s: float = Field(default=2.5, gt=0, le=60)
    calm: int = Field(default=3, ge=1, le=100)
    rise: float = Field(default=1.3, gt=1)
    with_tail: float = Field(default=0.8, gt=0, le=1)


@dataclass(frozen=True, slots=True)
class Stretch:
    """One bin of the access log: when it began, its requests, the fraction of them over the SLO."""

    since_s: float
    count: int
    over_slo: float


async def run(case: Case, params: LoadParams) -> Finding:
    window = case.window
    begin_s = case.windows[0].since_s
    history = await case.operator.requests(begin_s - params.history_s, begin_s)
    past = stretches(history, begin_s, params.bin_s, case.slo_ms)
    calm = last_calm(past, params.calm)
    now_rps = len(window.requests) / window.duration_s
    if not calm:
        text = "the access log has no stretch from before the tail: whether the load rose is not known"
        return STEP.finding(Outcome.NOTED, text, _figure(now_rps), cause="")
    before_rps = sum(s.count for s in calm) / (len(calm) * params.bin_s)
    figures = (
        _figure(now_rps),
        Evidence(
            "arrival rate when the SLO was last kept", before_rps, "1/s", f"{len(calm) * params.bin_s:g} s"
        ),
        Evidence(
            "chance of such a rise without one (p)", _chance(window.requests, now_rps, calm, params), ""
        ),
    )
    if now_rps < params.rise * before_rps or figures[-1].value >= P_VALUE:
        text = f"{now_rps:.0f} requests/s now, {before_rps:.0f} when the SLO was last kept: the load did not rise"
        return STEP.finding(Outcome.CLEARED, text, *figures)
    return _risen(case, params, past, calm, figures)


def _risen(
    case: Case, params: LoadParams, past: list[Stretch], calm: list[Stretch], figures: tuple[Evidence, ...]
) -> Finding:
    now_rps, before_rps = figures[0].value, figures[1].value
    text = f"the load rose from {before_rps:.0f} to {now_rps:.0f} requests/s since the SLO was last kept"
    late = [s for s in past if s.since_s > calm[-1].since_s and s.over_slo > BUDGET]
    high = [s for s in late if s.count / params.bin_s >= (before_rps + now_rps) / 2]
    if len(high) < params.with_tail * len(late):
        text += ", but the tail was there before it did"
        return STEP.finding(Outcome.CLEARED, text, *figures)
    if named := [f.cause for f in case.findings if f.outcome is Outcome.IMPLICATED]:
        text += f"; {named[0]} is what it has outgrown"
        return STEP.finding(Outcome.NOTED, text, *figures, cause="")
    return STEP.finding(Outcome.IMPLICATED, f"{text}, and the tail came with it", *figures, settles=True)


def stretches(seen: Requests, until_s: float, bin_s: float, slo_ms: float) -> list[Stretch]:
    """The log in bins that end at `until_s`, oldest first; bins before the first request are left out."""
    back = np.floor((until_s - seen.due_s) / bin_s).astype(np.int64)
    found = []
    for number in range(int(back.max(initial=-1)), -1, -1):
        within = seen.select(back == number)
        found.append(Stretch(until_s - (number + 1) * bin_s, len(within), over(within, slo_ms)))
    return found


def last_calm(past: list[Stretch], wanted: int) -> list[Stretch]:
    """The last `wanted` stretches in a row, each within the SLO and not without requests; none where there are none."""
    for end in range(len(past), wanted - 1, -1):
        row = past[end - wanted : end]
        if all(s.count and s.over_slo <= BUDGET for s in row):
            return row
    return []


def _chance(seen: Requests, now_rps: float, calm: list[Stretch], params: LoadParams) -> float:
    """Of so many arrivals or more in the window, were the rate what it was before (Poisson, both counts random)."""
    now, before = len(seen), sum(s.count for s in calm)
    now_s = now / now_rps if now_rps else 0.0
    share = now_s / (now_s + len(calm) * params.bin_s) if now_s else 0.0
    return float(stats.binomtest(now, now + before, share, alternative="greater").pvalue) if now else 1.0


def _figure(now_rps: float) -> Evidence:
    return Evidence("arrival rate", now_rps, "1/s")


STEP = StepDef(
    name="load",
    cause="load",
    hypothesis="more requests arrive than the system can serve in time",
    params=LoadParams,
    run=run,
)
