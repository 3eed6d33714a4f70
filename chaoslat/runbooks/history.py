"""What the access log says of the time before the tail: its last stretch within the SLO."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chaoslat.load.log import Requests
from chaoslat.runbooks.base import Case
from chaoslat.runbooks.symptom import BUDGET, over

HISTORY_S = 300.0
SURELY = BUDGET / 2  # a stretch of a tail near the budget is within it at times, and no calm
BIN_S = 1.0
CALM = (8, 5, 3)  # bins in a row; a longer calm says more of what was usual, and a tail has no such pauses


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the access log: when it began, how long it is, its requests, the fraction of them over the SLO."""

    since_s: float
    length_s: float
    requests: Requests
    over_slo: float

    @property
    def rate_rps(self) -> float:
        return len(self.requests) / self.length_s


@dataclass(frozen=True, slots=True)
class History:
    """The log before the first look, in bins, oldest first; and its last stretch within the SLO, if it has one."""

    past: list[Stretch]
    calm: Stretch | None

    @property
    def since(self) -> list[Stretch]:
        """The bins after the calm."""
        until_s = self.calm.since_s + self.calm.length_s if self.calm else 0.0
        return [s for s in self.past if s.since_s + s.length_s / 2 > until_s]


async def before(case: Case, history_s: float = HISTORY_S) -> History:
    """The `history_s` before this diagnosis began. The longest of `CALM` that there is gives its calm."""
    begin_s = case.windows[0].since_s
    seen = await case.operator.requests(begin_s - history_s, begin_s)
    past = stretches(seen, begin_s, BIN_S, case.slo_ms)
    rows = (last_calm(past, wanted) for wanted in CALM)
    return History(past, _joined(next((row for row in rows if row), []), seen, case.slo_ms))


def stretches(seen: Requests, until_s: float, bin_s: float, slo_ms: float) -> list[Stretch]:
    """The log in bins that end at `until_s`, oldest first; bins before the first request are left out."""
    back = np.floor((until_s - seen.due_s) / bin_s).astype(np.int64)
    found = []
    for number in range(int(back.max(initial=-1)), -1, -1):
        within = seen.select(back == number)
        found.append(Stretch(until_s - (number + 1) * bin_s, bin_s, within, over(within, slo_ms)))
    return found


def last_calm(past: list[Stretch], wanted: int) -> list[Stretch]:
    """The last `wanted` stretches in a row that keep the SLO together, none of them empty; [] without any."""
    for end in range(len(past), wanted - 1, -1):
        row = past[end - wanted : end]
        if all(len(s.requests) for s in row) and _over(row) <= SURELY:
            return row
    return []


def mean_rate_rps(row: list[Stretch]) -> float:
    """The arrival rate over all of them; 0 of none."""
    return sum(len(s.requests) for s in row) / sum(s.length_s for s in row) if row else 0.0


def _over(row: list[Stretch]) -> float:
    late = sum(s.over_slo * len(s.requests) for s in row)
    return late / sum(len(s.requests) for s in row)


def _joined(row: list[Stretch], seen: Requests, slo_ms: float) -> Stretch | None:
    if not row:
        return None
    since_s, until_s = row[0].since_s, row[-1].since_s + row[-1].length_s
    within = seen.select((seen.due_s >= since_s) & (seen.due_s < until_s))
    return Stretch(since_s, until_s - since_s, within, over(within, slo_ms))
