"""Scales of an axis: a value to a coordinate, and the ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass

_STEPS = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from `low` to `high` on coordinates from `start` to `end`; what is beyond is put at the edge."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        value = min(max(value, self.low), self.high)
        low, high, at = (_log(v) if self.log else v for v in (self.low, self.high, value))
        share = (at - low) / (high - low) if high > low else 0.0
        return self.start + share * (self.end - self.start)

    def ticks(self, wanted: int = 6) -> list[float]:
        """Round values within the scale, about as many as wanted."""
        return _log_ticks(self.low, self.high) if self.log else _linear_ticks(self.low, self.high, wanted)


def _log(value: float) -> float:
    return math.log10(max(value, 1e-12))


def _log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten; over more than two decades 1 and 3, over more than four the powers."""
    decades = _log(high) - _log(low)
    steps: tuple[int, ...] = (1, 2, 5) if decades <= 2 else ((1, 3) if decades <= 4 else (1,))
    powers = range(math.floor(_log(low)), math.ceil(_log(high)) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps]
    return [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]


def _linear_ticks(low: float, high: float, wanted: int) -> list[float]:
    rough = (high - low) / max(wanted, 1)
    if rough <= 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((s * power for s in (*_STEPS, 10) if s * power >= rough), 10 * power)
    first = math.ceil(low / step)
    return [i * step for i in range(first, math.floor(high / step) + 1)]


def figure(value: float) -> str:
    """A figure as a tick shows it: `0.1`, `30`, `1000`."""
    return f"{value:g}"
