"""How often the comparison is right: thousands of diagnoses whose cause is known.

A case is a plant (`simulator`) under the noise of a quiet real recording, or spliced from recorded traces (`traces`)
of a real system with and without the cause. For both factors it says what the right
answer is: a cause has to be implicated, anything else must never be. What mechanism would have cleared beforehand
(no throttled period, no wait) is left to the comparison here: this is its bench, not the ladder's.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import stats

from chaoslat.bench import traces
from chaoslat.bench.simulator import FACTORS, LIMIT, POOL, Noise, Plant, Simulation
from chaoslat.compare import PASSIVE_S, Answer, Comparison
from chaoslat.paths import fixtures
from chaoslat.proportion import proportion

QUIET = "recordings/compare/quiet-60rps.npz"
SLO_MS = 30.0
MOST_FALSE = 0.05  # of all answers about factors that are no cause


class AnyCase(Protocol):
    """What a case says of itself, wherever its latencies come from."""

    @property
    def name(self) -> str: ...
    @property
    def causes(self) -> tuple[str, ...]: ...
    @property
    def least_found(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Case:
    """A plant, and the factors that are a cause of its tail."""

    name: str
    plant: Plant
    causes: tuple[str, ...] = ()
    least_found: float = 0.0  # of the causes, what share has to be implicated


SEVERE, MILD = 9.5, 11.0  # ms of CPU in 100 ms, for a plant that needs 7.8 on average
CASES = (
    Case("none", Plant()),
    Case("CPU severe", Plant(quota_ms=SEVERE), (LIMIT,), 0.95),
    Case("CPU mild", Plant(quota_ms=MILD), (LIMIT,), 0.85),
    Case("pool severe", Plant(statement_ms=18.0, pool=2, lifted_pool=10), (POOL,), 0.95),
    Case("pool mild", Plant(statement_ms=12.0, pool=2, lifted_pool=10), (POOL,), 0.85),
    Case("proxy +25 ms", Plant(statement_ms=25.7, lifted_pool=30)),
    Case("proxy +40 ms", Plant(statement_ms=40.7, lifted_pool=30)),
    Case("every statement 25 ms", Plant(statement_ms=25.0, lifted_pool=30)),
    Case("slow statement on 3 %", Plant(slow_share=0.03, slow_ms=60.0, lifted_pool=30)),
    Case("CPU severe + 3 % slow", Plant(quota_ms=SEVERE, slow_share=0.03, slow_ms=60.0), (LIMIT,), 0.8),
    Case("harmless limit + 3 % slow", Plant(quota_ms=20.0, slow_share=0.03, slow_ms=60.0)),
    Case("both", Plant(quota_ms=SEVERE, statement_ms=18.0, pool=2, lifted_pool=10), (LIMIT, POOL), 0.85),
)


@dataclass(frozen=True, slots=True)
class Row:
    """A case's answers about one factor, as shares of the runs, and the median seconds to an answer."""

    case: str
    factor: str
    is_cause: bool
    runs: int
    implicated: float
    cleared: float
    undecided: float
    no_tail: float  # the passive window had no tail to explain: nothing was changed
    median_s: float | None  # None: no answer fell


@dataclass(frozen=True, slots=True)
class ComparisonBench:
    """All rows; false implications over every factor that is no cause, with a Clopper-Pearson interval (95 %)."""

    rows: tuple[Row, ...]
    false_implications: int
    innocent_answers: int
    false_rate_low: float
    false_rate_high: float
    failures: tuple[str, ...]


def run(
    runs: int = 40,
    seed: int = 1,
    cases: Sequence[Case] = CASES,
    recorded: Sequence[traces.TraceCase] = traces.CASES,
) -> ComparisonBench:
    """`runs` diagnoses of each case. Same seed, same figures."""
    noise, every = quiet_noise(), range(seed * 100_000, seed * 100_000 + runs)
    rows = tuple(row for case in cases for row in _rows(case, [diagnose(case, noise, n) for n in every]))
    rows += tuple(row for case in recorded for row in _rows(case, [traces.diagnose(case, n) for n in every]))
    innocent = [row for row in rows if not row.is_cause]
    false = round(sum(row.implicated * row.runs for row in innocent))
    answers = sum(row.runs for row in innocent)
    rate = proportion(false, answers)
    return ComparisonBench(
        rows, false, answers, rate.low, rate.high, _failures(rows, (*cases, *recorded), false, answers)
    )


def count() -> int:
    """How many cases a run has."""
    return len(CASES) + len(traces.CASES)


def quiet_noise() -> Noise:
    """The latency of a healthy system on a noisy two-core machine, 60 requests/s."""
    with np.load(fixtures() / QUIET) as recorded:
        return Noise(recorded["due_ms"].astype(np.float64), recorded["latency_ms"].astype(np.float64))


def diagnose(case: Case, noise: Noise, seed: int) -> Comparison:
    """One diagnosis, to its end."""
    simulation = Simulation(case.plant, noise, np.random.default_rng(seed))
    coins = random.Random(f"{seed}:{case.name}")
    first = {factor: bool(coins.getrandbits(1)) for factor in FACTORS}
    comparison = Comparison(FACTORS, simulation.passive(PASSIVE_S, first), SLO_MS, coins)
    settings, at_s = first, 0.0
    while not comparison.finished(at_s):
        then = comparison.draw()
        latency_ms, at_s = simulation.block(then)
        comparison.add(settings, latency_ms, at_s)
        settings = then
    return comparison


def _rows(case: AnyCase, ends: Sequence[Comparison]) -> list[Row]:
    return [_row(case, factor, ends) for factor in FACTORS]


def _row(case: AnyCase, factor: str, ends: Sequence[Comparison]) -> Row:
    decisions = [end.decisions[factor] for end in ends]
    count = Counter(decision.outcome for decision in decisions)
    times_s = [d.at_s for d in decisions if d.outcome is not Answer.UNDECIDED]
    no_tail = sum(not end.tail for end in ends)
    return Row(
        case=case.name,
        factor=factor,
        is_cause=factor in case.causes,
        runs=len(ends),
        implicated=count[Answer.IMPLICATED] / len(ends),
        cleared=count[Answer.CLEARED] / len(ends),
        undecided=(count[Answer.UNDECIDED] - no_tail) / len(ends),
        no_tail=no_tail / len(ends),
        median_s=float(np.median(times_s)) if times_s else None,
    )


def _failures(rows: Sequence[Row], cases: Sequence[AnyCase], false: int, answers: int) -> tuple[str, ...]:
    """A figure fails when binomial error alone would not explain it (one-sided, 0.1 %)."""
    least = {case.name: case.least_found for case in cases}
    missed = [
        f"{row.case}: {row.factor} implicated in {row.implicated:.0%}, at least {least[row.case]:.0%} expected"
        for row in rows
        if row.is_cause and _too_few(round(row.implicated * row.runs), row.runs, least[row.case])
    ]
    false_clears = [
        f"{r.case}: {r.factor} cleared in {r.cleared:.0%}" for r in rows if r.is_cause and r.cleared > 0.05
    ]
    rate = [f"{false} of {answers} innocent factors implicated"] if _too_many(false, answers) else []
    return (*missed, *false_clears, *rate)


def _too_few(found: int, runs: int, least: float) -> bool:
    return stats.binomtest(found, runs, least, alternative="less").pvalue < 0.001 if least else False


def _too_many(false: int, answers: int) -> bool:
    return bool(answers) and stats.binomtest(false, answers, MOST_FALSE, alternative="greater").pvalue < 0.001


def table(result: ComparisonBench) -> str:
    """The rows in plain text, and the rate of false implications."""
    lines = [f"{'case':<46}{'factor':<12}{'cause':<7}{'I':>6}{'C':>6}{'U':>6}{'no tail':>9}{'median s':>10}"]
    for r in result.rows:
        cause = "yes" if r.is_cause else ""
        shares = f"{r.implicated:>6.0%}{r.cleared:>6.0%}{r.undecided:>6.0%}{r.no_tail:>9.0%}"
        median_s = "-" if r.median_s is None else f"{r.median_s:.1f}"
        lines.append(f"{r.case:<46}{r.factor:<12}{cause:<7}{shares}{median_s:>10}")
    lines.append(rate_line(result.false_implications, result.innocent_answers))
    return "\n".join([*lines, *(f"FAILED: {failure}" for failure in result.failures)])


def rate_line(false: int, answers: int) -> str:
    """The rate of false implications with its interval, for a table's end."""
    rate = proportion(false, answers)
    return (
        f"false implications: {false} of {answers} ({false / max(answers, 1):.1%}, "
        f"95 % interval {rate.low:.1%} to {rate.high:.1%})"
    )
