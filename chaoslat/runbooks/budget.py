"""The latency budget: what would the tail look like without one part of each request's time?

A request's latency is the sum of what it waited for a connection, its statements (server time and path), its CPU
section, and the rest. Taking one part away from every request bounds what a cure of that part can bring: a part
that leaves the tail as it is cannot be its cause. (It bounds from one side only: queueing behind slow requests
would shrink too, so a small relief clears, a large one implicates only together with the mechanism.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chaoslat.load.log import Requests

Floats = NDArray[np.float64]
IDLE_POOL = 0.2  # of the connections busy: a wait is then rare and short, for a pool of one too


@dataclass(frozen=True, slots=True)
class Relief:
    """Fractions of requests over the SLO, as measured and with the part taken away."""

    over_before: float
    over_after: float

    @property
    def share(self) -> float:
        """How much of the tail goes with the part: 0 nothing, 1 all of it. 0 where there is no tail."""
        return 1.0 - self.over_after / self.over_before if self.over_before else 0.0


def relief(requests: Requests, part_ms: Floats, slo_ms: float) -> Relief:
    """The tail with `part_ms` (one value a request, nan where unknown: counts as nothing) taken away."""
    if not len(requests):
        return Relief(0.0, 0.0)
    latency_ms = requests.latency_ms
    left_ms = latency_ms - np.nan_to_num(np.maximum(part_ms, 0.0))
    return Relief(float((latency_ms > slo_ms).mean()), float((left_ms > slo_ms).mean()))


def relief_with_queue(
    requests: Requests, part_ms: Floats, slo_ms: float, connections: int, duration_s: float
) -> Relief:
    """The same; and where the part is what fills the pool, the wait for a connection goes with it.

    Little's law: what holds a connection, less the part, times the rate is how many would be busy without it. Where
    those are few of the pool nobody would wait, and what is still waiting in the queue says nothing yet.
    """
    known = requests.select(requests.done & np.isfinite(requests.acquire_ms))
    part_ms = part_ms[requests.done & np.isfinite(requests.acquire_ms)]
    if not len(known):
        return relief(requests, np.zeros(len(requests)), slo_ms)
    left_ms = known.latency_ms - known.acquire_ms - part_ms
    busy = float(np.maximum(left_ms, 0.0).mean()) / 1000.0 * len(requests) / duration_s
    queue_ms = known.acquire_ms if busy <= IDLE_POOL * connections else np.zeros(len(known))
    return relief(known, part_ms + queue_ms, slo_ms)


def path_part_ms(requests: Requests, round_trip_ms: float) -> Floats:
    """Time of each request on the path: its statements, one round trip each, never more than its query time."""
    counted = np.maximum(requests.statements, 0)  # -1: the app did not say
    return np.minimum(counted * round_trip_ms, np.nan_to_num(requests.query_ms))


def server_part_ms(requests: Requests, round_trip_ms: float) -> Floats:
    """Time of each request in the database: its query time less its time on the path."""
    return np.nan_to_num(requests.query_ms) - path_part_ms(requests, round_trip_ms)


def unspent_part_ms(requests: Requests, server_ms: float, round_trip_ms: float) -> Floats:
    """Time of each request that nobody is known to have spent: what `unexplained_part_ms` says, and its query time
    beyond that of its statements.

    `server_ms`: the server's own time for all statements of the window. How long a single request's statements took
    on the server is not known: the usual time is assumed, and where that leaves more unspent query time than there is
    in the window (some statements are slow ones) each request gets its share of what there is.
    """
    query_ms = np.nan_to_num(requests.query_ms)
    statements = np.maximum(requests.statements, 0)
    path_ms = path_part_ms(requests, round_trip_ms)
    usual_ms = server_ms / max(int(statements.sum()), 1) * statements
    beyond_ms = np.maximum(query_ms - path_ms - usual_ms, 0.0)
    unspent_ms = max(float(query_ms.sum() - path_ms.sum()) - server_ms, 0.0)
    share = min(unspent_ms / float(beyond_ms.sum()), 1.0) if beyond_ms.any() else 0.0
    return share * beyond_ms + np.nan_to_num(unexplained_part_ms(requests))


def unexplained_part_ms(requests: Requests) -> Floats:
    """Time that neither pool, query nor CPU section accounts for: the event loop, the edge, the machine."""
    known_ms = requests.acquire_ms + requests.query_ms + requests.cpu_ms
    return np.maximum(requests.latency_ms - known_ms, 0.0)
