"""The comparison: coins in, answers out. It knows no system, no clock and no thread."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from chaoslat.compare.evidence import mean
from chaoslat.compare.factor import FactorEvidence
from chaoslat.compare.result import (
    Answer,
    BlockRecord,
    Cell,
    ComparisonResult,
    Decision,
    Skipped,
    SkippedBlock,
)
from chaoslat.compare.statistic import LEAST_REQUESTS, Latencies, Passive, block_statistic, tail_floor_ms

LEAST_TAIL = 0.1
"""Mean passive statistic below which there is no tail to explain."""
IMPLICATE_AT = {1: 20.0, 2: 40.0}
"""By number of factors: either way the chance of any false implication is at most 1 in 20."""
CLEAR_AT = 20.0
MOST_S = 45.0

Settings = Mapping[str, bool]


@dataclass(frozen=True, slots=True)
class _Call:
    """The moment an answer fell."""

    outcome: Answer
    e_value: float
    clear_value: float
    at_s: float
    blocks: int


class _Factor:
    """One factor's evidence, its answer so far, and the setting it is held at, if it is."""

    def __init__(self, name: str, passive: tuple[float, ...], levels: int) -> None:
        self.name = name
        self.evidence = FactorEvidence(passive, levels)
        self.call: _Call | None = None
        self.cleared_before_s: float | None = None
        self.harms = False

    @property
    def implicated(self) -> bool:
        return self.call is not None and self.call.outcome is Answer.IMPLICATED

    @property
    def held(self) -> bool | None:
        """True: stays lifted (a cause). False: stays original (lifting harms). None: drawn."""
        if self.implicated:
            return True
        return False if self.harms and self.call else None

    def reopen(self) -> None:
        """The other factor is fixed now: an answer that fell before it was is tested again."""
        if self.call and self.call.outcome is Answer.CLEARED and not self.harms:
            self.cleared_before_s, self.call = self.call.at_s, None


class Comparison:
    """One or two factors, each drawn by a fair coin in every block, until the evidence about each is in.

    Use: `draw()` before a block, `add()` when its requests are known (the next draw may come first), until
    `finished()`. An implicated factor stays lifted and the other is judged as the system then stands: if it had
    been cleared before, it is tested again. A factor that is cleared and shown to do harm stays original.
    """

    def __init__(
        self,
        factors: tuple[str, ...],
        passive: Passive,
        slo_ms: float,
        rng: random.Random,
        *,
        implicate_at: float | None = None,
        clear_at: float = CLEAR_AT,
        max_s: float = MOST_S,
        least_tail: float = LEAST_TAIL,
    ) -> None:
        """`implicate_at` defaults to 20 for one factor and 40 for two.

        Raises ValueError for other numbers of factors, equal names, an empty passive window or an SLO < 10 ms.
        """
        if len(factors) not in IMPLICATE_AT or len(set(factors)) != len(factors):
            raise ValueError(f"one or two different factors, not {factors!r}")
        self.factors, self.slo_ms, self.clear_at, self.max_s = factors, slo_ms, clear_at, max_s
        self.implicate_at = IMPLICATE_AT[len(factors)] if implicate_at is None else implicate_at
        self.floor_ms = tail_floor_ms(passive.latencies_ms, slo_ms)
        statistics = passive.statistics(self.floor_ms)
        self.passive_mean = mean(statistics)
        self.tail = self.passive_mean >= least_tail
        self._rng = rng
        self._factors = [_Factor(name, statistics, len(factors)) for name in factors]
        self._blocks: list[BlockRecord] = []
        self._skipped: list[SkippedBlock] = []

    def draw(self) -> dict[str, bool]:
        """Settings of the next block: True is lifted.

        One coin a factor a block, in the order of the factors and also for one that is held, so that the schedule
        depends on the seed and the answers only.
        """
        coins = [bool(self._rng.getrandbits(1)) for _ in self._factors]
        held = [factor.held for factor in self._factors]
        return {
            name: coin if hold is None else hold
            for name, coin, hold in zip(self.factors, coins, held, strict=True)
        }

    def add(self, settings: Settings, latencies_ms: Latencies, at_s: float, *, void: bool = False) -> None:
        """A finished block: its settings, the latencies of its requests, when it was known (s from the start).

        `void`: its load was not as ordered. Void blocks and those with fewer than 3 requests are only counted.
        Raises ValueError when `settings` does not name exactly the factors.
        """
        if set(settings) != set(self.factors):
            raise ValueError(f"settings for {sorted(settings)}, factors are {sorted(self.factors)}")
        lifted = tuple(name for name in self.factors if settings[name])
        if void or len(latencies_ms) < LEAST_REQUESTS:
            why = Skipped.VOID if void else Skipped.FEW_REQUESTS
            self._skipped.append(SkippedBlock(at_s, lifted, why))
            return
        statistic = block_statistic(latencies_ms, self.floor_ms)
        self._learn(settings, statistic)
        over_slo = int((np.asarray(latencies_ms) > self.slo_ms).sum())
        self._record(at_s, lifted, len(latencies_ms), over_slo, statistic)
        for factor in self._factors:
            self._judge(factor, at_s)

    @property
    def decisions(self) -> dict[str, Decision]:
        """The answer about each factor as it stands."""
        return {factor.name: self._decision(factor) for factor in self._factors}

    def finished(self, at_s: float) -> bool:
        """Whether to stop: every answer is in, time is up, or there was no tail to begin with."""
        return not self.tail or at_s >= self.max_s or all(factor.call for factor in self._factors)

    @property
    def result(self) -> ComparisonResult:
        return ComparisonResult(
            factors=self.factors,
            slo_ms=self.slo_ms,
            floor_ms=self.floor_ms,
            passive_mean=self.passive_mean,
            tail=self.tail,
            implicate_at=self.implicate_at,
            clear_at=self.clear_at,
            decisions=tuple(self.decisions.values()),
            blocks=tuple(self._blocks),
            skipped=tuple(self._skipped),
        )

    def _other(self, factor: _Factor) -> _Factor | None:
        return next((other for other in self._factors if other is not factor), None)

    def _other_fixed(self, factor: _Factor) -> bool:
        other = self._other(factor)
        return other is not None and other.implicated

    def _learn(self, settings: Settings, statistic: float) -> None:
        # all factors learn under the answers that stood when the block was drawn: none of them changes here
        for factor in self._factors:
            if factor.held is not None:
                continue  # no coin was tossed for it
            other = self._other(factor)
            level = int(other is not None and settings[other.name])
            fixed = self._other_fixed(factor)
            factor.evidence.add(settings[factor.name], statistic, level=level, other_fixed=fixed)

    def _record(
        self, at_s: float, lifted: tuple[str, ...], requests: int, over_slo: int, statistic: float
    ) -> None:
        e_values = tuple(factor.evidence.e_value for factor in self._factors)
        clear_values = tuple(self._clear_value(factor) for factor in self._factors)
        self._blocks.append(BlockRecord(at_s, lifted, requests, over_slo, statistic, e_values, clear_values))

    def _clear_value(self, factor: _Factor) -> float:
        return factor.evidence.clear_value(other_fixed=self._other_fixed(factor))

    def _judge(self, factor: _Factor, at_s: float) -> None:
        factor.harms = factor.harms or factor.evidence.harm_e_value >= self.implicate_at
        if factor.call:
            return
        if factor.evidence.e_value >= self.implicate_at:
            self._settle(factor, Answer.IMPLICATED, at_s)
            other = self._other(factor)
            if other is not None:
                other.reopen()
        elif factor.evidence.clears(self.clear_at, other_fixed=self._other_fixed(factor)):
            self._settle(factor, Answer.CLEARED, at_s)

    def _settle(self, factor: _Factor, outcome: Answer, at_s: float) -> None:
        evidence = factor.evidence
        factor.call = _Call(outcome, evidence.e_value, self._clear_value(factor), at_s, len(self._blocks))

    def _decision(self, factor: _Factor) -> Decision:
        evidence = factor.evidence
        last_s = self._blocks[-1].at_s if self._blocks else 0.0
        call = factor.call or _Call(
            Answer.UNDECIDED, evidence.e_value, self._clear_value(factor), last_s, len(self._blocks)
        )
        return Decision(
            factor=factor.name,
            outcome=call.outcome,
            e_value=call.e_value,
            clear_value=call.clear_value,
            at_s=call.at_s,
            blocks=call.blocks,
            cells=self._cells(),
            alone=evidence.alone,
            once_other_fixed=evidence.once_other_fixed,
            together=evidence.together,
            regardless=evidence.regardless,
            harm_e_value=evidence.harm_e_value,
            harms=factor.harms,
            cleared_before_s=factor.cleared_before_s,
        )

    def _cells(self) -> tuple[Cell, ...]:
        combinations = product((False, True), repeat=len(self.factors))
        return tuple(self._cell(combination) for combination in combinations)

    def _cell(self, combination: tuple[bool, ...]) -> Cell:
        lifted = tuple(name for name, on in zip(self.factors, combination, strict=True) if on)
        inside = [block for block in self._blocks if block.lifted == lifted]
        requests = sum(block.requests for block in inside)
        return Cell(
            lifted=lifted,
            blocks=len(inside),
            requests=requests,
            mean_statistic=mean([block.statistic for block in inside]) if inside else None,
            over_slo=sum(block.over_slo for block in inside) / requests if requests else None,
        )
