"""What a trial demands of a window of latencies: a symptom, or none; and that they are the system's."""

from __future__ import annotations

import numpy as np

from chaoslat.load.log import Requests
from chaoslat.load.summary import VOID_LAG_P99_MS, summarise
from chaoslat.model import Symptom
from chaoslat.proportion import exceeds

GATE_P_VALUE = 0.01
BUDGET = 0.01  # of the requests; the SLO is on P99
LAGGED = 0.05  # of the requests of a diagnosis


class Invalid(Exception):
    """The trial was no good; the message is the reason. Never leaves this module."""


def mean_hold_ms(seen: Requests) -> float:
    """Mean time for which a request holds its connection. Raises Invalid when no request said so."""
    held_ms = seen.latency_ms - seen.acquire_ms
    known = held_ms[np.isfinite(held_ms)]
    if not len(known):
        raise Invalid("no request says how long it held its connection (Server-Timing)")
    return max(float(known.mean()), 0.01)


def symptom_of(seen: Requests, window_s: float, slo_ms: float) -> Symptom:
    """The latency of a window against the SLO. Raises Invalid when nothing was due in it."""
    if not len(seen):
        raise Invalid("no request was due: the load generator does not run")
    s = summarise(seen, window_s)
    return Symptom(
        count=s.count,
        p50_ms=s.p50_ms,
        p95_ms=s.p95_ms,
        p99_ms=s.p99_ms,
        max_ms=s.max_ms,
        over_slo=float((seen.latency_ms > slo_ms).mean()),
        failed=s.failed,
        rate_rps=s.rate_rps,
        lag_p99_ms=s.lag_p99_ms,
    )


def words(seen: Symptom) -> str:
    return (
        f"P50/P95/P99 are {seen.p50_ms:.1f}/{seen.p95_ms:.1f}/{seen.p99_ms:.1f} ms, {seen.over_slo:.1%} over the SLO, "
        f"{seen.failed} of {seen.count} failed"
    )


def shows(wanted: str, seen: Symptom, slo_ms: float) -> bool:
    """Whether the latency breaks the SLO as the experiment says: `classic`, `broken` or `none`.

    Broken takes more than one P99 over the SLO, since the gate looks several times: significantly more requests
    over it than the 1 % that the SLO allows (one-sided binomial test).
    """
    if wanted == "none":
        return seen.p99_ms <= slo_ms
    broken = exceeds(round(seen.over_slo * seen.count), seen.count, BUDGET, GATE_P_VALUE)
    return broken and (wanted == "broken" or seen.p95_ms <= slo_ms)


def stood_still(seen: Requests) -> str:
    """Why the latencies seen during a diagnosis are not the system's; empty when they are.

    A few late starts are the machine's noise, which the runbook has to bear. More than a few, and whoever looks at the
    latency sees the load generator's own.
    """
    late = float((seen.lag_ms > VOID_LAG_P99_MS).mean()) if len(seen) else 0.0
    if late <= LAGGED:
        return ""
    return (
        f"the load generator stood still during the diagnosis: {late:.0%} of its requests started more than "
        f"{VOID_LAG_P99_MS:g} ms late"
    )
