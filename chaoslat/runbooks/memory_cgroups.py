"""Step 4, first branch: dying memory cgroups on the node make the database's reclaim slow.

Mechanism: more dying than live memory cgroups; a limited cgroup above the database that keeps hitting its limit
(each hit walks them all); and the database's CPU time spent in the kernel. All three, or the step is cleared.
Then the cure: if the dying ones are held by pages of memory-backed volumes, the volumes whose pods are gone are
removed (emptying the cgroup could not move those pages, and would drop the live page cache); otherwise the cgroup
is emptied, for a bounded time. The cure cannot be switched on and off, so there are no randomised blocks: one
comparison of before and after, which alone would be weak (a third of such windows "improve" by chance). It counts
here because count, system time and latency have to fall together; the finding says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from chaoslat.load.log import Requests
from chaoslat.model import Evidence, Finding, Outcome
from chaoslat.runbooks.base import Case, StepDef, StepParams
from chaoslat.runbooks.budget import Relief, relief, server_part_ms
from chaoslat.runbooks.symptom import over
from chaoslat.runbooks.window import Window

PAGE_BYTES = 4096
WORTH = (
    "one before/after comparison, not randomised; it counts because count, kernel time and tail fell together"
)


class MemoryCgroupsParams(StepParams):
    """Thresholds of the mechanism, and of the comparison after the cure."""

    least_dying: int = 200
    dying_to_live: float = 2.0
    least_system_share: float = 0.4
    clears: float = 0.1
    reclaim_bound_s: float = 3.0
    after_s: float = 6.0
    p_value: float = 0.01


@dataclass(frozen=True, slots=True)
class Mechanism:
    """The three signs of one window."""

    dying: int
    live: int
    limit_hits: int
    system_share: float
    system_ms_per_statement: float

    @classmethod
    def of(cls, window: Window) -> Mechanism:
        db, statements = window.db, sum(s.count for s in window.statements)
        cpu_s = db.user_s + db.system_s
        return cls(
            dying=window.memory.dying,
            live=window.memory.live,
            limit_hits=db.limit_hits,
            system_share=db.system_s / cpu_s if cpu_s else 0.0,
            system_ms_per_statement=1000 * db.system_s / max(statements, 1),
        )

    def absent(self, params: MemoryCgroupsParams) -> str:
        """Why the mechanism cannot be at work; empty when it can."""
        if self.dying < max(params.least_dying, params.dying_to_live * self.live):
            return f"{self.dying} dying memory cgroups against {self.live} live ones: none to speak of"
        if self.limit_hits <= 0:
            return f"{self.dying} dying memory cgroups, but nothing reclaims at a limit above the database"
        if self.system_share < params.least_system_share:
            return f"{self.dying} dying memory cgroups, but only {self.system_share:.0%} of database CPU in the kernel"
        return ""


async def run(case: Case, params: MemoryCgroupsParams) -> Finding:
    before = case.window
    sign, gain = Mechanism.of(before), _server_relief(case)
    figures = (*_signs(sign, "before"), Evidence("share of the tail in the database", gain.share, "fraction"))
    if gain.share < params.clears:
        text = f"the database's time is {gain.share:.0%} of the tail: nothing behind it can be the cause"
        return STEP.finding(Outcome.CLEARED, text, *figures)
    if reason := sign.absent(params):
        return STEP.finding(Outcome.CLEARED, reason, *figures)
    done = await _cure(case, params)
    if not done:
        text = f"{sign.dying} dying memory cgroups and a database that reclaims, but nothing here lets go of them"
        return STEP.finding(Outcome.INCONCLUSIVE, text, *figures)
    return await _compare(case, params, before, figures, done)


def _server_relief(case: Case) -> Relief:
    requests = case.window.requests
    return relief(requests, server_part_ms(requests, case.window.noop_p50_ms), case.slo_ms)


async def _cure(case: Case, params: MemoryCgroupsParams) -> tuple[str, ...]:
    """What was done: volumes of gone pods removed, or the limited cgroup emptied; the gentler that can work first."""
    db, dying = case.window.db, case.window.memory.dying
    if db.shmem_bytes / PAGE_BYTES >= dying / 2 and (done := await _remove_orphans(case)):
        return done
    result = await case.operator.reclaim(db.limited_path, params.reclaim_bound_s)
    outcome = "finished" if result.finished else "interrupted"
    done = (
        f"emptied {db.limited_path} ({outcome} after {result.took_s:.1f} s, "
        f"dying {result.dying_before} -> {result.dying_after})",
    )
    case.intervene(done[0])
    return done if result.dying_after < result.dying_before / 2 else (*done, *await _remove_orphans(case))


async def _remove_orphans(case: Case) -> tuple[str, ...]:
    orphans = [v for v in await case.operator.volumes() if not v.owner_alive]
    for volume in orphans:
        await case.operator.remove_volume(volume.path)
    if not orphans:
        return ()
    files = sum(v.files for v in orphans)
    what = f"removed {len(orphans)} memory-backed volumes of pods that are gone ({files} files)"
    case.intervene(what)
    return (what,)


async def _compare(
    case: Case,
    params: MemoryCgroupsParams,
    before: Window,
    figures: tuple[Evidence, ...],
    done: tuple[str, ...],
) -> Finding:
    after = await case.observe(params.after_s)
    was_over = over_by_database(before.requests, before.noop_p50_ms, case.slo_ms)
    is_over = over_by_database(after.requests, after.noop_p50_ms, case.slo_ms)
    if fell_p_value(was_over, is_over) >= params.p_value:
        since_s = after.since_s
        after = await case.observe(params.after_s)
        longer = await case.operator.requests(since_s, after.until_s)
        is_over = over_by_database(longer, after.noop_p50_ms, case.slo_ms)
    p_value = fell_p_value(was_over, is_over)
    was, now = Mechanism.of(before), Mechanism.of(after)
    figures += (*_signs(now, "after"), *_tails(before, after, case.slo_ms, p_value))
    if not _mechanism_fell(was, now):
        text = (
            f"dying {was.dying} -> {now.dying}, kernel time {was.system_ms_per_statement:.2f} -> "
            f"{now.system_ms_per_statement:.2f} ms a statement: the cure did not take, so it says nothing"
        )
        return STEP.finding(Outcome.INCONCLUSIVE, text, *figures, interventions=done)
    if p_value >= params.p_value:
        text = f"the dying cgroups are gone ({was.dying} -> {now.dying}); the database's tail did not clearly fall"
        return STEP.finding(Outcome.INCONCLUSIVE, text, *figures, interventions=done)
    text = (
        f"{was.dying} dying memory cgroups against {was.live} live ones; with them gone, kernel time "
        f"{was.system_ms_per_statement:.2f} -> {now.system_ms_per_statement:.2f} ms a statement and "
        f"{_share(was_over):.1%} -> {_share(is_over):.1%} over the SLO for the database's sake ({WORTH})"
    )
    settles = over(after.requests, case.slo_ms) <= 0.01
    return STEP.finding(Outcome.IMPLICATED, text, *figures, settles=settles, interventions=done)


def _share(counts: tuple[int, int]) -> float:
    return counts[0] / counts[1] if counts[1] else 0.0


def _mechanism_fell(was: Mechanism, now: Mechanism) -> bool:
    return now.dying <= was.dying / 2 and now.system_ms_per_statement <= was.system_ms_per_statement / 2


def over_by_database(requests: Requests, round_trip_ms: float, slo_ms: float) -> tuple[int, int]:
    """Requests over the SLO that would be within it without the database's time, and all requests.

    Another cause may be there too: its part of the tail must not hide that this part has gone.
    """
    left_ms = requests.latency_ms - server_part_ms(requests, round_trip_ms)
    return int(((requests.latency_ms > slo_ms) & (left_ms <= slo_ms)).sum()), len(requests)


def fell_p_value(before: tuple[int, int], after: tuple[int, int]) -> float:
    """One-sided Fisher test on counts of all. Requests of one burst are not independent: read it as a floor."""
    table = np.array([[over, count - over] for over, count in (before, after)])
    return float(stats.fisher_exact(table, alternative="greater").pvalue)


def _signs(sign: Mechanism, when: str) -> tuple[Evidence, ...]:
    return (
        Evidence(f"dying memory cgroups, {when}", sign.dying, "cgroups", f"{sign.live} live"),
        Evidence(f"hits of the memory limit, {when}", sign.limit_hits, "hits"),
        Evidence(f"database's kernel share of CPU, {when}", sign.system_share, "fraction"),
        Evidence(f"kernel time a statement, {when}", sign.system_ms_per_statement, "ms"),
    )


def _tails(before: Window, after: Window, slo_ms: float, p_value: float) -> tuple[Evidence, ...]:
    return (
        Evidence("over the SLO, before", over(before.requests, slo_ms), "fraction"),
        Evidence("over the SLO, after", over(after.requests, slo_ms), "fraction"),
        Evidence("P99, before", before.requests.percentile(99), "ms"),
        Evidence("P99, after", after.requests.percentile(99), "ms"),
        Evidence("p value of the fall", p_value, "", "Fisher, one-sided, single comparison"),
    )


STEP = StepDef(
    name="memory-cgroups",
    cause="node-memory-cgroups",
    hypothesis="dying memory cgroups make the database's page-cache reclaim slow",
    params=MemoryCgroupsParams,
    run=run,
    needs=("query", "noop", "statements", "db_process", "memory_cgroups"),
)
