"""Steps 1 and 2 share their blocks: every block draws the CPU limit and the pool size by fair coins.

The comparison itself (evidence, decisions) is `chaoslat.compare`; here its blocks are made on a live system: both
settings re-issued at every boundary, the same head dropped whether or not something changed, and each block's
mechanism read beside its latency.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import numpy as np

from chaoslat.compare import LEAST_TAIL, Comparison, Passive
from chaoslat.errors import NotHere
from chaoslat.load.log import Requests
from chaoslat.model import CgroupCpu
from chaoslat.runbooks.base import Case
from chaoslat.runbooks.window import cgroup_difference

BLOCK_S = 0.5
LEAST_HEAD_S = 0.03
MOST_HEAD_S = 1.0
GRACE_S = 0.14  # a request that is not finished so long after its block counts with its age
VOID_LAG_MS = 2.0


@dataclass(frozen=True, slots=True)
class Lever:
    """One reversible intervention: both settings can be issued at any time, and re-issued."""

    factor: str
    what: str  # "CPU limit 0.30 cores -> none"
    lift: Callable[[], Awaitable[object]]
    restore: Callable[[], Awaitable[object]]
    block_s: float = BLOCK_S  # how long its effect takes to show

    async def issue(self, lifted: bool) -> None:
        await (self.lift() if lifted else self.restore())


@dataclass(frozen=True, slots=True)
class Span:
    """A block that has ended and waits to be judged; throttling includes its head."""

    settings: dict[str, bool]
    start_s: float
    end_s: float
    throttled_per_s: float  # throttled periods a second, in the cgroup of the app's path that throttled most


@dataclass(frozen=True, slots=True)
class Block:
    """One judged block: its latencies and its mechanism."""

    span: Span
    requests: Requests
    void: bool  # the load generator lagged

    @property
    def throttled_per_s(self) -> float:
        return self.span.throttled_per_s

    @property
    def acquire_mean_ms(self) -> float:
        known = self.requests.acquire_ms[np.isfinite(self.requests.acquire_ms)]
        return float(known.mean()) if len(known) else float("nan")


@dataclass
class Run:
    """The blocks of one comparison."""

    comparison: Comparison
    levers: tuple[Lever, ...]
    slo_ms: float
    block_s: float
    blocks: list[Block] = field(default_factory=list)
    settles_s: list[float] = field(
        default_factory=list
    )  # what each change of the settings took to be in force
    waited_s: float = 0.0  # for settings to be in force, in all
    settings: dict[str, bool] = field(default_factory=dict)  # as issued last

    @property
    def settle_s(self) -> float:
        """What a change typically takes; a block without one waits as long."""
        return float(np.median(self.settles_s)) if self.settles_s else 0.0

    def seen_with(self, settings: dict[str, bool]) -> list[Requests]:
        """The requests of the sound blocks that had exactly these settings."""
        return [b.requests for b in self.blocks if b.span.settings == settings and not b.void]

    def mean(self, figure: str, factor: str, lifted: bool) -> float:
        """Mean of a mechanism's figure over the blocks in which the factor had that setting; nan of none."""
        values = [getattr(b, figure) for b in self.blocks if b.span.settings[factor] is lifted]
        values = [value for value in values if np.isfinite(value)]
        return float(np.mean(values)) if values else float("nan")

    def count(self, factor: str, lifted: bool) -> int:
        return sum(b.span.settings[factor] is lifted for b in self.blocks)

    def latencies(self, factor: str, lifted: bool) -> list[list[float]]:
        """Latencies (ms) of the sound blocks with that setting, block by block."""
        chosen = [b for b in self.blocks if b.span.settings[factor] is lifted and not b.void]
        return [b.requests.latency_ms.tolist() for b in chosen]

    def over_slo(self, factor: str, lifted: bool) -> float:
        """Fraction of requests over the SLO in the blocks with that setting; nan of none."""
        chosen = self.latencies(factor, lifted)
        return float((np.concatenate(chosen) > self.slo_ms).mean()) if any(map(len, chosen)) else float("nan")


async def compare(case: Case, levers: tuple[Lever, ...], least_tail: float = LEAST_TAIL) -> Run:
    """Run blocks until the comparison has decided; what is implicated stays lifted, the rest is put back.

    `least_tail`: mean passive statistic below which there is nothing to compare; 0 compares all the same.
    """
    window = case.window
    block_s = max(lever.block_s for lever in levers)
    passive = Passive.cut(window.requests.due_s, window.requests.latency_ms, block_s)
    comparison = Comparison(
        tuple(lever.factor for lever in levers), passive, case.slo_ms, case.rng, least_tail=least_tail
    )
    run = Run(comparison, levers, case.slo_ms, block_s, settings={lever.factor: False for lever in levers})
    for lever in levers:
        case.intervene(f"randomised blocks: {lever.what}")
    await _run_blocks(case, run)
    for lever in levers:
        await lever.issue(comparison.decisions[lever.factor].outcome == "implicated")
    return run


def _spent_s(case: Case, run: Run, started_s: float) -> float:
    """The time of the comparison without what was waited for changes: slow ones must not cost it its blocks."""
    return case.operator.now_s() - started_s - run.waited_s


async def _run_blocks(case: Case, run: Run) -> None:
    started_s = case.operator.now_s()
    pending: Span | None = None
    while not run.comparison.finished(_spent_s(case, run, started_s)):
        pending = await _one_block(case, run, pending, started_s)
    if pending is not None:
        await case.operator.sleep(GRACE_S)
        await _judge(case, run, pending, started_s)


async def _one_block(case: Case, run: Run, before: Span | None, started_s: float) -> Span | None:
    """Switch, judge the block before this one in this one's head, and let this one run.

    None when the judgement ended the comparison: the block is not needed.
    """
    operator, settings = case.operator, run.comparison.draw()
    switch_s = await _switch(case, run, settings)
    await operator.sleep(max(switch_s + GRACE_S - operator.now_s(), 0.0))
    counted = _Counted(operator.now_s(), await _app_cpu(case))  # the period of the switch is over
    if before is not None:
        await _judge(case, run, before, started_s)
        if run.comparison.finished(_spent_s(case, run, started_s)):
            return None
    await operator.sleep(max(switch_s + LEAST_HEAD_S + run.block_s - operator.now_s(), 0.0))
    start_s = await _quiet_from(case, switch_s)
    await operator.sleep(max(start_s + run.block_s - operator.now_s(), 0.0))
    return await _close(case, settings, counted, start_s)


async def _switch(case: Case, run: Run, settings: dict[str, bool]) -> float:
    """Issue the settings; when they are in force: about as late after the order in every block, changed or not.

    An intervention returns when it reads back. What that takes is measured (a file: nothing; a cluster: most of a
    second), and waited for where nothing changed too, or the heads would tell the settings apart.
    """
    ordered_s = case.operator.now_s()
    for lever in run.levers:
        await lever.issue(settings[lever.factor])
    took_s = case.operator.now_s() - ordered_s
    if settings != run.settings:
        run.settles_s.append(took_s)
    head_s = max(took_s, run.settle_s)
    await case.operator.sleep(head_s - took_s)
    run.settings, run.waited_s = settings, run.waited_s + head_s
    return ordered_s + head_s


async def _quiet_from(case: Case, switch_s: float) -> float:
    """When the requests that were in flight at the switch were gone: at least 30 ms, at most 1 s after it."""
    before = await case.operator.requests(switch_s - 10.0, switch_s)
    ended_s = before.due_s + before.latency_ms / 1000.0
    gone_s = float(ended_s.max()) if len(before) else switch_s
    return min(max(gone_s, switch_s + LEAST_HEAD_S), switch_s + MOST_HEAD_S)


@dataclass(frozen=True, slots=True)
class _Counted:
    """CPU counters of the app's path, and when they were read."""

    at_s: float
    cpu: tuple[CgroupCpu, ...]


async def _app_cpu(case: Case) -> tuple[CgroupCpu, ...]:
    """None where it cannot be seen: the limit is then no lever of the comparison."""
    try:
        return await case.operator.app_cpu()
    except NotHere:
        return ()


async def _close(case: Case, settings: dict[str, bool], before: _Counted, start_s: float) -> Span:
    used = cgroup_difference(before.cpu, await _app_cpu(case))
    end_s = case.operator.now_s()
    return Span(settings, start_s, end_s, throttled_per_s(used, end_s - before.at_s))


async def _judge(case: Case, run: Run, span: Span, started_s: float) -> None:
    """Give the block to the comparison, `GRACE_S` after its end."""
    seen = await case.operator.requests(span.start_s, span.end_s)
    void = len(seen) > 0 and float(np.quantile(seen.lag_ms, 0.99)) > VOID_LAG_MS
    block = Block(span, seen, void)
    run.comparison.add(span.settings, seen.latency_ms, _spent_s(case, run, started_s), void=void)
    run.blocks.append(block)
    case.note("block", _block_note(block, run.settle_s))


def _block_note(block: Block, settle_s: float) -> dict[str, object]:
    acquire_ms = block.acquire_mean_ms
    return {
        "settings": block.span.settings,
        "start_s": block.span.start_s,
        "end_s": block.span.end_s,
        "requests": len(block.requests),
        "throttled_per_s": block.throttled_per_s,
        "acquire_mean_ms": acquire_ms if np.isfinite(acquire_ms) else None,
        "settle_s": settle_s,
        "void": block.void,
    }


def throttled_per_s(cgroups: tuple[CgroupCpu, ...], duration_s: float) -> float:
    """Throttled periods a second, in the cgroup that throttled most.

    Not as a share of the periods: without a limit hardly any period is counted, and one late count would be "all".
    """
    return max((c.throttled_periods for c in cgroups), default=0) / max(duration_s, 1e-3)
