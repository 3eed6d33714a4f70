"""A/A on a live system without a fault: how often is something implicated that cannot be a cause?

Each diagnosis watches ten seconds and then compares, although there is no tail to explain and no mechanism to be
seen: a CPU limit far above the need is lifted and put back, and a pool that nobody waits for is enlarged and put
back. The noise of the machine is all there is, and any implication is false.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from scipy import stats

from chaoslat.backends.base import Progress, System
from chaoslat.bench.comparison import MOST_FALSE, rate_line
from chaoslat.compare import PASSIVE_S
from chaoslat.experiment import DEFAULT_SLO_MS, DEFAULT_WORKLOAD
from chaoslat.proportion import proportion
from chaoslat.runbooks import blocks
from chaoslat.runbooks.base import Case
from chaoslat.runbooks.limits import cpu_lever, pool_lever

WARM_S = 12.0


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """One comparison: what it said of each factor, after how many blocks and seconds."""

    outcomes: dict[str, str]
    e_values: dict[str, float]
    blocks: int
    took_s: float


@dataclass(frozen=True, slots=True)
class LiveBench:
    """All comparisons; false implications over both factors of each, with a Clopper-Pearson interval (95 %)."""

    diagnoses: tuple[Diagnosed, ...]
    false_implications: int
    answers: int
    false_rate_low: float
    false_rate_high: float
    failures: tuple[str, ...]


async def run(system: System, diagnoses: int, seed: int, folder: Path, progress: Progress) -> LiveBench:
    """`diagnoses` comparisons, one after another, under one load. Raises ChaoslatError."""
    await system.start_load(DEFAULT_WORKLOAD, seed, folder / "aa.bin")
    try:
        await system.operator.sleep(WARM_S)
        period_us = (await system.operator.app_cpu())[0].period_us
        await system.saboteur.set_cpu_quota((await system.operator.node_cpu()).cores * period_us)
        done = [await _one(system, f"{seed}:{number}", number, progress) for number in range(diagnoses)]
    finally:
        await system.operator.undo_interventions()
        await system.saboteur.restore_cpu_quota()
        await system.stop_load()
    return _summary(tuple(done))


async def _one(system: System, seed: str, number: int, progress: Progress) -> Diagnosed:
    case = Case(system.operator, DEFAULT_SLO_MS, random.Random(seed), progress, lambda _kind, _data: None)
    window = await case.observe(PASSIVE_S)
    started_s = system.operator.now_s()
    levers = (
        cpu_lever(case, window.app_cpu[:1]),
        pool_lever(case, (await system.operator.pool()).max),
    )
    compared = await blocks.compare(case, levers, least_tail=0.0)
    await system.operator.undo_interventions()
    decisions = compared.comparison.decisions
    found = Diagnosed(
        outcomes={name: str(decision.outcome) for name, decision in decisions.items()},
        e_values={name: decision.e_value for name, decision in decisions.items()},
        blocks=len(compared.blocks),
        took_s=system.operator.now_s() - started_s,
    )
    progress(f"diagnosis {number + 1}: {found.outcomes}, {found.blocks} blocks, {found.took_s:.0f} s")
    return found


def _summary(done: tuple[Diagnosed, ...]) -> LiveBench:
    said = [outcome for one in done for outcome in one.outcomes.values()]
    false = said.count("implicated")
    rate = proportion(false, len(said))
    bad = stats.binomtest(false, len(said), MOST_FALSE, alternative="greater").pvalue < 0.05
    failures = (f"{false} of {len(said)} innocent factors implicated",) if bad else ()
    return LiveBench(done, false, len(said), rate.low, rate.high, failures)


def table(result: LiveBench) -> str:
    """A line a diagnosis, and the rate of false implications."""
    lines = [f"{'diagnosis':>9}  {'CPU limit':<12}{'pool':<12}{'blocks':>7}{'seconds':>9}"]
    for number, one in enumerate(result.diagnoses, start=1):
        cpu, pool = one.outcomes.values()
        lines.append(f"{number:>9}  {cpu:<12}{pool:<12}{one.blocks:>7}{one.took_s:>9.1f}")
    lines.append(rate_line(result.false_implications, result.answers))
    return "\n".join([*lines, *(f"FAILED: {failure}" for failure in result.failures)])
