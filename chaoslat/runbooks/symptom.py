"""Step 0: is the symptom there, and did the load itself change?

P99 over the SLO means that more than 1 % of the requests are over it. A window of ten seconds holds a few hundred
requests, so a fraction near 1 % is decided on twice that.
"""

from __future__ import annotations

from pydantic import Field, model_validator

from chaoslat.load.log import Requests
from chaoslat.model import Evidence, Finding, Outcome
from chaoslat.runbooks.base import Case, StepDef, StepParams

BUDGET = 0.01  # the SLO is on P99
LOAD_CHANGE = 1.3


class SymptomParams(StepParams):
    """`window_s`: first look; `at_most_s`: how long to look when the fraction is near the SLO's budget."""

    window_s: float = Field(default=10.0, ge=1.0, le=600.0, allow_inf_nan=False)
    at_most_s: float = Field(default=20.0, ge=1.0, le=600.0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _longer(self) -> SymptomParams:
        if self.at_most_s < self.window_s:
            raise ValueError("at_most_s is less than window_s")
        return self


async def run(case: Case, params: SymptomParams) -> Finding:
    window = await case.observe(params.window_s)
    since_s, seen = window.since_s, window.requests
    if _near_the_budget(over(seen, case.slo_ms)):
        window = await case.observe(params.at_most_s - params.window_s)
        seen = await case.operator.requests(since_s, window.until_s)
    return await _read(case, seen, since_s)


def over(seen: Requests, slo_ms: float) -> float:
    """Fraction of requests over the SLO; failed ones count as over it."""
    return float(((seen.latency_ms > slo_ms) | seen.failures).mean()) if len(seen) else 0.0


def _near_the_budget(over_slo: float) -> bool:
    return BUDGET / 5 < over_slo <= BUDGET


async def _read(case: Case, seen: Requests, since_s: float) -> Finding:
    if not len(seen):
        text = "no request was due in the window: without load nothing can be said"
        return STEP.finding(
            Outcome.INCONCLUSIVE, text, settles=True
        )  # there is nothing for the other steps either
    fraction = over(seen, case.slo_ms)
    figures = (
        Evidence(
            "requests over the SLO", fraction, "fraction", f"{len(seen)} requests, SLO {case.slo_ms:g} ms"
        ),
        *(Evidence(f"P{q:g}", seen.percentile(q), "ms") for q in (50, 95, 99)),
        Evidence("arrival rate against before", await _load_change(case, since_s), "ratio"),
    )
    if fraction <= BUDGET:
        text = f"no symptom: {fraction:.2%} of the requests are over {case.slo_ms:g} ms"
        return STEP.finding(Outcome.CLEARED, text, *figures, settles=True)
    return STEP.finding(
        Outcome.NOTED, f"{fraction:.1%} over the SLO{_load_words(figures[-1].value)}", *figures
    )


async def _load_change(case: Case, since_s: float, span_s: float = 10.0) -> float:
    """Arrival rate in the window against the oldest `span_s` of the last minute; 1.0 where there is no history."""
    window = case.window
    history = await case.operator.requests(since_s - 60.0, since_s)
    if len(history) < 2:
        return 1.0
    first_s = float(history.due_s[0])
    before = history.select(history.due_s < first_s + span_s)
    rate_before = len(before) / min(span_s, max(since_s - first_s, 1.0))
    return (len(window.requests) / window.duration_s) / max(rate_before, 1e-9)


def _load_words(change: float) -> str:
    if 1 / LOAD_CHANGE < change < LOAD_CHANGE:
        return ", and the load did not change"
    return f", and the load changed to {change:.1f} times what it was"


STEP = StepDef(
    name="symptom",
    cause="",
    hypothesis="is the symptom there, and did the load change?",
    params=SymptomParams,
    run=run,
)
