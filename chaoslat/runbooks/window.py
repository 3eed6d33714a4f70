"""One window of evidence: every probe of the ladder taken side by side, once, while nothing is touched.

Steps read windows; they do not each take their own. Cumulative counters become differences here.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TypeVar

import numpy as np

from chaoslat.backends.base import Operator
from chaoslat.load.log import Requests
from chaoslat.model import (
    AppMetrics,
    CgroupCpu,
    DbProcess,
    FreshConnect,
    MemoryCgroups,
    NodeCpu,
    NoopSample,
    PoolState,
    SocketInfo,
    StatementStats,
)
from chaoslat.runbooks.sight import (
    BLANK_APP,
    BLANK_CPU,
    BLANK_DB,
    BLANK_MEMORY,
    BLANK_NODE,
    BLANK_NOOP,
    BLANK_STATEMENTS,
    Sight,
    unsaid,
)

NOOPS_A_TICK = 5
TICK_PAUSE_S = 0.1
MONITOR_EVERY_S = (
    1.0  # pool and sockets: each costs the app CPU time, of which a throttled one has none to spare
)
FRESH_CONNECTS = 3
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Counters:
    """The cumulative readings of one instant."""

    at_s: float
    app_cpu: tuple[CgroupCpu, ...]
    app: AppMetrics
    statements: tuple[StatementStats, ...]
    db: DbProcess
    memory: MemoryCgroups
    node: NodeCpu


@dataclass(frozen=True, slots=True)
class Window:
    """What happened in [since_s, until_s). `*_delta` are differences over the window."""

    since_s: float
    until_s: float
    requests: Requests
    app_cpu: tuple[CgroupCpu, ...]  # counters: differences; quota and period: at the end
    app: AppMetrics  # counts and sums: differences
    statements: tuple[StatementStats, ...]  # differences, statements that ran
    db: DbProcess  # user_s, system_s, limit_hits, cpu: differences
    memory: MemoryCgroups  # at the end
    node: NodeCpu  # differences
    pool: tuple[PoolState, ...]
    noop: NoopSample
    monitor: tuple[tuple[SocketInfo, ...], ...]  # once a second
    fresh: tuple[FreshConnect, ...]
    not_here: Mapping[str, str] = field(
        default_factory=dict
    )  # what could not be seen -> why; it reads as nothing

    @property
    def duration_s(self) -> float:
        return self.until_s - self.since_s

    @property
    def noop_p50_ms(self) -> float:
        """Median round trip of the no-op less the server's own time for it: the path, as an application sees it."""
        trips = self.noop.round_trip_ms
        return max(float(np.median(trips)) - self.noop.server_mean_ms, 0.0) if trips else math.nan

    @property
    def server_ms(self) -> float:
        """The server's own time for all statements of the window."""
        return sum(s.wait_ms for s in self.statements)


async def observe(operator: Operator, duration_s: float) -> Window:
    """Watch for `duration_s` without touching anything. Costs about a tenth of a second more than that."""
    sight = Sight()
    before = await read_counters(operator, sight)
    pool, noops, monitor = await _sample_until(operator, before.at_s + duration_s, sight)
    fresh = await _fresh(operator, sight)
    after = await read_counters(operator, sight)
    requests = await operator.requests(before.at_s, after.at_s)
    return Window(
        since_s=before.at_s,
        until_s=after.at_s,
        requests=requests,
        app_cpu=cgroup_difference(before.app_cpu, after.app_cpu),
        app=_app_difference(before.app, after.app),
        statements=_statement_difference(before.statements, after.statements),
        db=_db_difference(before.db, after.db),
        memory=after.memory,
        node=_difference(before.node, after.node, keep=("cores",)),
        pool=tuple(pool),
        noop=_merge(noops),
        monitor=tuple(monitor),
        fresh=fresh,
        not_here={**sight.not_here, **unsaid(requests), **not_above(after.app_cpu)},
    )


async def read_counters(operator: Operator, sight: Sight) -> Counters:
    """All cumulative counters, side by side; blank what cannot be seen."""
    app_cpu, app, statements, db, memory, node = await asyncio.gather(
        sight.ask("app_cpu", operator.app_cpu, BLANK_CPU),
        sight.ask("app_metrics", operator.app_metrics, BLANK_APP),
        sight.ask("statements", operator.statements, BLANK_STATEMENTS),
        sight.ask("db_process", operator.db_process, BLANK_DB),
        sight.ask("memory_cgroups", operator.memory_cgroups, BLANK_MEMORY),
        sight.ask("node_cpu", operator.node_cpu, BLANK_NODE),
    )
    return Counters(operator.now_s(), app_cpu, app, statements, db, memory, node)


async def _fresh(operator: Operator, sight: Sight) -> tuple[FreshConnect, ...]:
    seen = [await sight.ask("fresh_connect", operator.fresh_connect, None) for _ in range(FRESH_CONNECTS)]
    return tuple(one for one in seen if one is not None)


async def _sample_until(
    operator: Operator, end_s: float, sight: Sight
) -> tuple[list[PoolState], list[NoopSample], list[tuple[SocketInfo, ...]]]:
    """No-ops at every tick; pool and sockets once a second: the monitor of the field report, its log kept."""
    pool: list[PoolState] = []
    noops: list[NoopSample] = []
    monitor: list[tuple[SocketInfo, ...]] = []
    monitor_due_s = operator.now_s()
    while (now_s := operator.now_s()) < end_s:
        noops.append(await sight.ask("noop", lambda: operator.noop(NOOPS_A_TICK), BLANK_NOOP))
        if now_s >= monitor_due_s:
            if (state := await sight.ask("pool", operator.pool, None)) is not None:
                pool.append(state)
            monitor.append(await sight.ask("sockets", operator.sockets, ()))
            monitor_due_s = now_s + MONITOR_EVERY_S
        await operator.sleep(TICK_PAUSE_S)
    return pool, noops, monitor


def not_above(seen: tuple[CgroupCpu, ...]) -> dict[str, str]:
    """`ancestors`: the walk up from the app's cgroup did not reach the root, where a quota may sit as well."""
    if not seen or seen[-1].path == "/":
        return {}
    return {"ancestors": f"cgroups above {seen[-1].path} cannot be seen, and a quota there throttles as well"}


def _merge(samples: list[NoopSample]) -> NoopSample:
    trips = tuple(trip for sample in samples for trip in sample.round_trip_ms)
    server = [s.server_mean_ms for s in samples if s.server_mean_ms > 0]
    return NoopSample(trips, float(np.median(server)) if server else 0.0)


def _difference(before: T, after: T, keep: tuple[str, ...] = ()) -> T:
    """`after` with every number less that of `before`, but for the fields in `keep`."""
    if not is_dataclass(after) or isinstance(after, type):
        raise TypeError(f"{after!r} is no dataclass value")
    values = {f.name: getattr(after, f.name) for f in fields(after)}
    for name, value in values.items():
        if name not in keep and isinstance(value, int | float):
            values[name] = value - getattr(before, name)
    return type(after)(**values)


def cgroup_difference(before: tuple[CgroupCpu, ...], after: tuple[CgroupCpu, ...]) -> tuple[CgroupCpu, ...]:
    """Counters of `after` less those of the same path in `before`; a new path counts from zero."""
    old = {cgroup.path: cgroup for cgroup in before}
    keep = ("quota_us", "period_us")
    return tuple(_difference(old.get(new.path, _zero(new)), new, keep) for new in after)


def _zero(cgroup: CgroupCpu) -> CgroupCpu:
    return CgroupCpu(cgroup.path, cgroup.quota_us, cgroup.period_us, 0, 0, 0.0, 0.0)


def _app_difference(before: AppMetrics, after: AppMetrics) -> AppMetrics:
    return _difference(before, after, ("loop_delay_p99_ms", "loop_delay_max_ms", "heap_bytes"))


def _statement_difference(
    before: tuple[StatementStats, ...], after: tuple[StatementStats, ...]
) -> tuple[StatementStats, ...]:
    old = {s.digest_text: s for s in before}
    deltas = (
        _difference(old.get(s.digest_text, StatementStats(s.digest_text, 0, 0, 0, 0, 0)), s) for s in after
    )
    return tuple(delta for delta in deltas if delta.count > 0)


def _db_difference(before: DbProcess, after: DbProcess) -> DbProcess:
    delta = _difference(before, after, ("limit_bytes", "usage_bytes", "shmem_bytes", "cache_bytes"))
    cpu = cgroup_difference(before.cpu, after.cpu)
    return DbProcess(**{f.name: getattr(delta, f.name) for f in fields(delta)} | {"cpu": cpu})
