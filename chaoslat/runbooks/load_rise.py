"""Did the tail come with the load?

The access log reaches back to before the tail. Its last stretch within the SLO says at which rate that was kept. When
the load has risen since, by more than chance and more than a little, and the rate was high while the tail was there,
the load is the cause, unless a step before found one: then the part that it named is what the load has outgrown. So
it is asked last, and concludes nothing where a step before could not look: a rise beside a slow statement is a
coincidence, and looks the same from here. Without a stretch from before the tail nothing can be said, and nothing is.
"""

from __future__ import annotations

from pydantic import Field
from scipy import stats

from chaoslat.model import Evidence, Finding, Outcome
from chaoslat.runbooks.base import Case, StepDef, StepParams
from chaoslat.runbooks.history import History, Stretch, before, mean_rate_rps
from chaoslat.runbooks.symptom import BUDGET
from chaoslat.runbooks.window import Window

P_VALUE = 0.001


class LoadParams(StepParams):
    """`history_s`: how far back to look; `rise`: smallest factor that counts."""

    history_s: float = Field(default=300.0, gt=0, le=3600)
    rise: float = Field(default=1.3, gt=1)


async def run(case: Case, params: LoadParams) -> Finding:
    window, history = case.window, await before(case, params.history_s)
    now_rps, calm = rate_rps(window), history.calm
    if calm is None:
        text = "the access log has no stretch from before the tail: whether the load rose is not known"
        return STEP.finding(Outcome.NOTED, text, Evidence("arrival rate", now_rps, "1/s"), cause="")
    p_value = chance(window, calm)
    figures = (
        Evidence("arrival rate", now_rps, "1/s"),
        Evidence("arrival rate when the SLO was last kept", calm.rate_rps, "1/s", f"{calm.length_s:g} s"),
        Evidence("chance of such a rise without one (p)", p_value, ""),
    )
    if now_rps < params.rise * calm.rate_rps or p_value >= P_VALUE:
        text = f"{now_rps:.0f} requests/s now, {calm.rate_rps:.0f} when the SLO was last kept: the load did not rise"
        return STEP.finding(Outcome.CLEARED, text, *figures)
    return _risen(case, history, calm, figures)


def _risen(case: Case, history: History, calm: Stretch, figures: tuple[Evidence, ...]) -> Finding:
    now_rps = rate_rps(case.window)
    text = f"the load rose from {calm.rate_rps:.0f} to {now_rps:.0f} requests/s since the SLO was last kept"
    late = [s for s in history.since if s.over_slo > BUDGET]
    if late and mean_rate_rps(late) < (calm.rate_rps + now_rps) / 2:
        text += ", but the tail was there before it did"
        return STEP.finding(Outcome.CLEARED, text, *figures)
    if named := [f.cause for f in case.findings if f.outcome is Outcome.IMPLICATED]:
        text += f"; {named[0]} is what it has outgrown"
        return STEP.finding(Outcome.NOTED, text, *figures, cause="")
    if case.window.not_here:
        why = next(iter(case.window.not_here.values()))
        text += f", and the tail came with it; what cannot be seen may do it too. Not here: {why}"
        return STEP.finding(Outcome.INCONCLUSIVE, text, *figures)
    return STEP.finding(Outcome.IMPLICATED, f"{text}, and the tail came with it", *figures, settles=True)


def rate_rps(window: Window) -> float:
    return len(window.requests) / window.duration_s


def chance(window: Window, calm: Stretch) -> float:
    """The probability of so many arrivals in the window, or more, were the rate that of the calm (Poisson, both
    counts random: given their sum the one is binomial)."""
    now, before = len(window.requests), len(calm.requests)
    share = window.duration_s / (window.duration_s + calm.length_s)
    return (
        float(stats.binomtest(now, now + before, share, alternative="greater").pvalue)
        if now + before
        else 1.0
    )


STEP = StepDef(
    name="load",
    cause="load",
    hypothesis="more requests arrive than the system can serve in time",
    params=LoadParams,
    run=run,
)
