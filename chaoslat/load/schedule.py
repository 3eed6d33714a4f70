"""When requests are due and what they ask for: Poisson arrivals from one seed.

The gaps are unit exponentials divided by the rate (inverse-transform sampling of a Poisson process; a
change of rate is the time change of an inhomogeneous one), so that the sequence of choices is the same at
any rate.
"""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from chaoslat.errors import ChaoslatError

NS_PER_S = 1_000_000_000
MAX_RATE_RPS = 100_000.0
_PLACEHOLDER = re.compile(r"(\{[^{}]*\})")
_REQUEST_TARGET = re.compile(r"/[!-~]*")


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of request. `path` may hold `{hot}` (a row in 1..hot_rows) and `{any}` (a row in 1..rows)."""

    name: str
    weight: float
    path: str


@dataclass(frozen=True, slots=True)
class Workload:
    """An open-loop workload: a mean rate in requests per second, and a weighted list of shapes.

    Raises `ChaoslatError` where a value makes no sense.
    """

    rate_rps: float
    shapes: tuple[Shape, ...]
    rows: int = 1
    hot_rows: int = 1

    def __post_init__(self) -> None:
        check_rate(self.rate_rps)
        if not 1 <= self.hot_rows <= self.rows:
            raise ChaoslatError(f"hot_rows {self.hot_rows} is not in 1..{self.rows} (rows)", where="workload")
        if not self.shapes:
            raise ChaoslatError("a workload needs at least one shape", where="workload: shapes")
        for shape in self.shapes:
            _check_shape(shape)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"shapes": [asdict(shape) for shape in self.shapes]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Workload:
        """The inverse of `to_json`. Raises `ChaoslatError` on missing, foreign or mistyped keys."""
        try:
            shapes = tuple(Shape(**shape) for shape in data["shapes"])
            return cls(**{**data, "shapes": shapes})
        except (KeyError, TypeError, AttributeError) as error:
            raise ChaoslatError("not a workload", where="workload", why=str(error)) from error


def check_rate(rate_rps: float) -> float:
    """The same rate, if it can be generated. Raises `ChaoslatError`."""
    if not 0 < rate_rps <= MAX_RATE_RPS:  # refuses nan too
        raise ChaoslatError(
            f"rate_rps {rate_rps} is not in (0, {MAX_RATE_RPS:.0f}]", where="workload: rate_rps"
        )
    return rate_rps


def _check_shape(shape: Shape) -> None:
    where = f"workload: shape {shape.name!r}"
    if not 0 < shape.weight < float("inf"):
        raise ChaoslatError(f"weight {shape.weight} is not a positive number", where=where)
    if not _REQUEST_TARGET.fullmatch(shape.path):
        raise ChaoslatError(f"{shape.path!r} is not a path of printable ASCII from '/' on", where=where)
    unknown = set(_PLACEHOLDER.findall(shape.path)) - {"{hot}", "{any}"}
    if unknown:
        raise ChaoslatError(f"unknown placeholder {min(unknown)}", where=where, fix="use {hot} or {any}")


class Arrival(NamedTuple):
    """One request to make: due at `due_ns` on CLOCK_MONOTONIC."""

    due_ns: int
    shape: int
    path: str


class Schedule:
    """An endless series of arrivals: the same workload, seed and start give the same series."""

    def __init__(self, workload: Workload, seed: int, start_ns: int) -> None:
        self._random = random.Random(seed)
        self._weights = list(accumulate(shape.weight for shape in workload.shapes))
        self._paths = [_PathTemplate(shape.path, workload) for shape in workload.shapes]
        self._rate_rps = workload.rate_rps
        self._due_ns = float(start_ns)
        self._draw_gap()

    @property
    def due_ns(self) -> int:
        """When the next arrival is due."""
        return int(self._due_ns)

    @property
    def rate_rps(self) -> float:
        return self._rate_rps

    def take(self) -> Arrival:
        """The next arrival; the one after it becomes next."""
        due_ns = self.due_ns
        shape = self._draw_shape()
        path = self._paths[shape].fill(self._random)
        self._draw_gap()
        return Arrival(due_ns, shape, path)

    def set_rate(self, rate_rps: float, now_ns: int) -> None:
        """Change the rate from `now_ns` on: what is left of the current gap is stretched, not drawn anew."""
        check_rate(rate_rps)
        left_ns = self._due_ns - now_ns
        if left_ns > 0:  # else it is overdue already, and stays so
            self._due_ns = now_ns + left_ns * self._rate_rps / rate_rps
        self._rate_rps = rate_rps

    def _draw_gap(self) -> None:
        self._due_ns += self._random.expovariate(1.0) / self._rate_rps * NS_PER_S

    def _draw_shape(self) -> int:
        point = self._random.random() * self._weights[-1]
        return min(bisect_right(self._weights, point), len(self._weights) - 1)


class _PathTemplate:
    """A path cut at its placeholders once, so that filling it in is quick."""

    def __init__(self, path: str, workload: Workload) -> None:
        limits = {"{hot}": workload.hot_rows, "{any}": workload.rows}
        self._parts = [limits.get(part, part) for part in _PLACEHOLDER.split(path)]

    def fill(self, rng: random.Random) -> str:
        return "".join(
            part if isinstance(part, str) else str(1 + int(rng.random() * part)) for part in self._parts
        )
