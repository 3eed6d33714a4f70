"""Step 4, last branch: the query or the database itself.

The server's own statement time (performance_schema, difference over the window) against the query time that the
app saw, and the tail with the database's part of every request taken away. Nothing here is changed: a slow
statement has no reversible cure that an on-call engineer could switch on and off.
"""

from __future__ import annotations

import numpy as np

from chaoslat.model import CgroupCpu, Evidence, Finding, Outcome, StatementStats
from chaoslat.runbooks.base import Case, StepDef, StepParams
from chaoslat.runbooks.budget import Relief, relief_with_queue, server_part_ms
from chaoslat.runbooks.window import Window

THROTTLED = 0.1  # of the periods


class DatabaseParams(StepParams):
    """`implicates`, `clears`: share of the tail in the database; `server_share`: of query time, seen by the server;
    `stalled`: fraction of the time in which a quota stops the database, over the fraction of requests that the
    database makes late. A request is late when it meets a stall, in one of its few statements."""

    implicates: float = 2 / 3
    clears: float = 0.2
    server_share: float = 0.5
    stalled: float = 1 / 3


async def run(case: Case, params: DatabaseParams) -> Finding:
    window = case.window
    part_ms = server_part_ms(window.requests, window.noop_p50_ms)
    gain = relief_with_queue(window.requests, part_ms, case.slo_ms, window.pool[-1].max, window.duration_s)
    share = server_share(window)
    figures = (
        Evidence("share of the tail in the database", gain.share, "fraction"),
        *_figures(window, share),
    )
    if gain.share < params.clears:
        text = (
            f"without the database's time {gain.over_after:.1%} instead of {gain.over_before:.1%} would be "
            "over the SLO: not the database"
        )
        return STEP.finding(Outcome.CLEARED, text, *figures)
    if gain.share >= params.implicates and share >= params.server_share:
        text = (
            f"the server itself spends {share:.0%} of the query time, and {gain.share:.0%} of the tail goes with it. "
            f"{_kind(window)}"
        )
        return STEP.finding(Outcome.IMPLICATED, text, *figures, settles=gain.over_after <= 0.01)
    cleared = all(finding.outcome is not Outcome.INCONCLUSIVE for finding in case.findings)
    if gain.share >= params.implicates and _explained(window, gain) >= params.stalled and cleared:
        # Its statement clock sees a part only: it also stands still before it begins to time a statement and
        # before it answers. What else could do that (path, reclaim) has been looked at and cleared.
        text = f"{gain.share:.0%} of the tail is query time, and the server stands still in it. {_throttled(window)}"
        return STEP.finding(Outcome.IMPLICATED, text, *figures, settles=gain.over_after <= 0.01)
    text = f"{gain.share:.0%} of the tail is query time, of which the server accounts for {share:.0%}"
    return STEP.finding(Outcome.INCONCLUSIVE, text, *figures)


def server_share(window: Window) -> float:
    """The server's statement time over the query time that the app saw, at most 1."""
    query_ms = float(np.nansum(window.requests.query_ms))
    return min(window.server_ms / query_ms, 1.0) if query_ms else 0.0


def slowest(window: Window) -> StatementStats | None:
    """The statement that took most of the server's time in the window."""
    return max(window.statements, key=lambda s: s.wait_ms, default=None)


def _kind(window: Window) -> str:
    """Throttled, locked out, costly, or waiting: by the database's counters and the slowest statement's time."""
    if throttled := _throttled(window):
        return throttled
    worst = slowest(window)
    if worst is None or not worst.wait_ms:
        return ""
    mean_ms = worst.wait_ms / worst.count
    what = "it waits (I/O, scheduling, throttling)"
    if worst.lock_ms > 0.5 * worst.wait_ms:
        what = "it waits for locks"
    elif worst.cpu_ms > 0.6 * worst.wait_ms:
        what = "it computes"
    return f"The slowest takes {mean_ms:.1f} ms on average, and {what}: {worst.digest_text[:80]}"


def _worst(window: Window) -> CgroupCpu | None:
    return max(window.db.cpu, key=lambda c: c.throttled_periods, default=None)


def _explained(window: Window, gain: Relief) -> float:
    """Fraction of the time in which a quota stopped the database, over the fraction of late requests that it made."""
    worst, late = _worst(window), gain.over_before - gain.over_after
    return worst.throttled_s / window.duration_s / late if worst and late > 0 else 0.0


def _throttled(window: Window) -> str:
    """The cgroup whose quota stalls the database; empty when none does in a tenth of its periods."""
    worst = _worst(window)
    if worst is None or worst.throttled_periods <= THROTTLED * max(worst.periods, 1):
        return ""
    return (
        f"The database is throttled: {worst.path} (limit {worst.limit_cores or 0:.2f} cores) in "
        f"{worst.throttled_periods} of {worst.periods} periods"
    )


def _figures(window: Window, share: float) -> tuple[Evidence, ...]:
    count = max(sum(s.count for s in window.statements), 1)
    periods = sum(c.throttled_periods for c in window.db.cpu)
    return (
        Evidence("server's share of the query time", share, "fraction"),
        Evidence("mean statement time on the server", window.server_ms / count, "ms", f"{count} statements"),
        Evidence("database's CPU, kernel", window.db.system_s, "s", f"user {window.db.user_s:.2f} s"),
        Evidence("throttled periods of the database", periods, "periods"),
    )


STEP = StepDef(
    name="database",
    cause="database",
    hypothesis="the query or the database itself is slow",
    params=DatabaseParams,
    run=run,
    needs=("acquire", "query", "pool", "noop", "statements", "db_process"),
)
