"""All the evidence about one factor, with the other factor's setting taken into account."""

from __future__ import annotations

from collections.abc import Sequence

from chaoslat.compare.evidence import Clearing, Implicating, mean, product_mean


class FactorEvidence:
    """Wealth for and against one factor, kept apart by the other factor's setting (level 0 original, 1 lifted).

    With one factor there is one level, and its wealth is the evidence. With two, the implicating wealth is an
    average of four strategies, each an e-process of "lifting this factor changes nothing": betting at level 0, at
    level 1, at both with separate learning, and on all blocks with common learning. The last one learns twice as
    fast where the other factor does not matter; the first three find a cause that the other one hides.
    """

    def __init__(self, passive: Sequence[float], levels: int) -> None:
        """`passive`: block statistics of the passive window; `levels`: 1, or 2 when there is another factor."""
        at_rest = mean(passive)
        self._passive_largest = max(passive)
        self._two = levels == 2
        self._implicating = [Implicating(high=at_rest), Implicating()][:levels]
        self._implicating_all = Implicating(high=at_rest)
        self._harming_all = Implicating(low=at_rest)
        self._clearing = [Clearing(passive), Clearing()][:levels]
        self._clearing_all = Clearing(passive)

    def add(self, lifted: bool, statistic: float, *, level: int = 0, other_fixed: bool = False) -> None:
        """One block: this factor's setting, the block's statistic, and the other factor's setting as level."""
        # level 1 has no passive window of its own; until the other factor is known to matter, its bursts count
        elsewhere = self._passive_largest if level == 1 and not other_fixed else 0.0
        self._implicating[level].add(lifted, statistic)
        self._clearing[level].add(lifted, statistic, elsewhere)
        self._implicating_all.add(lifted, statistic)
        self._clearing_all.add(lifted, statistic)
        self._harming_all.add(not lifted, statistic)

    @property
    def alone(self) -> float:
        """Evidence that lifting helps on its own, with the other factor as it was."""
        return self._implicating[0].e_value

    @property
    def once_other_fixed(self) -> float | None:
        """Evidence that lifting helps once the other factor is lifted; None with one factor."""
        return self._implicating[1].e_value if self._two else None

    @property
    def together(self) -> float:
        """Joint evidence of both levels."""
        return self._joint(self._implicating) if self._two else self.alone

    @property
    def regardless(self) -> float:
        """Evidence from all blocks, whatever the other factor was."""
        return self._implicating_all.e_value

    @property
    def e_value(self) -> float:
        if not self._two:
            return self.alone
        return (self.together + self.alone + self._implicating[1].e_value + self.regardless) / 4

    @property
    def harm_e_value(self) -> float:
        """Evidence that lifting makes it worse."""
        return self._harming_all.e_value

    def clear_value(self, *, other_fixed: bool) -> float:
        """Evidence that lifting is not relevant.

        Once the other factor is fixed, only blocks with it lifted count: that is how the system will stay.
        """
        if not self._two:
            return self._clearing[0].e_value
        if other_fixed:
            return self._clearing[1].e_value
        return (self._joint(self._clearing) + self._clearing_all.e_value) / 2

    def clears(self, at: float, *, other_fixed: bool) -> bool:
        """Whether the clearing evidence has reached `at` and no level speaks against it."""
        levels = self._clearing[1:] if other_fixed and self._two else self._clearing
        return self.clear_value(other_fixed=other_fixed) >= at and all(c.e_value >= 1.0 for c in levels)

    @staticmethod
    def _joint(levels: Sequence[Implicating] | Sequence[Clearing]) -> float:
        return product_mean(levels[0].wealth, levels[1].wealth)
