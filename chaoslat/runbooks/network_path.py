"""Step 3: the network path, from the app's network namespace.

The figure that decides is the round trip of a no-op statement less the server's own time for it: it sees whatever
lies between, proxies included. The kernel's figures stand beside it, because they mislead: srtt of a pooled socket
follows the server's think time, and a user-space proxy hides its delay from the handshake and from minrtt. They
do tell where the delay is: a fresh handshake that is slow too means the packets' way, else something above it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from chaoslat.model import Evidence, Finding, Outcome
from chaoslat.runbooks.base import Case, StepDef, StepParams
from chaoslat.runbooks.budget import Relief, path_part_ms, relief_with_queue
from chaoslat.runbooks.window import Window

QUICKEST = 0.1


class NetworkPathParams(StepParams):
    """`least_ms`: a shorter round trip is never called the cause; `implicates` and `clears`: share of the tail."""

    least_ms: float = 1.5
    implicates: float = 2 / 3
    clears: float = 0.2


async def run(case: Case, params: NetworkPathParams) -> Finding:
    window = case.window
    trip_ms = window.noop_p50_ms
    if math.isnan(trip_ms):
        return STEP.finding(Outcome.INCONCLUSIVE, "no no-op statement came back")
    if lacking := case.missing(("acquire", "query", "pool")):
        return _by_itself(params, window, lacking[0])
    part_ms = path_part_ms(window.requests, trip_ms)
    gain = relief_with_queue(window.requests, part_ms, case.slo_ms, window.pool[-1].max, window.duration_s)
    figures = (*_figures(window), Evidence("share of the tail on the path", gain.share, "fraction"))
    return _read(params, window, gain, figures)


def _by_itself(params: NetworkPathParams, window: Window, lacking: str) -> Finding:
    """What the round trip says where it cannot be set against the requests' own times."""
    words = f"a no-op statement takes {window.noop_p50_ms:.1f} ms of path"
    if window.noop_p50_ms < params.least_ms:
        return STEP.finding(Outcome.CLEARED, f"{words}: too little to be called a cause", *_figures(window))
    text = f"{words}; how much of the tail that is cannot be told. Not here: {lacking}"
    return STEP.finding(Outcome.INCONCLUSIVE, text, *_figures(window))


def _read(params: NetworkPathParams, window: Window, gain: Relief, figures: tuple[Evidence, ...]) -> Finding:
    trip_ms = window.noop_p50_ms
    implicated = trip_ms >= params.least_ms and gain.share >= params.implicates
    if implicated and "node_cpu" in window.not_here and not _always(window, params.least_ms):
        text = (
            f"a no-op statement takes {trip_ms:.1f} ms of path, but not always: a prober that waits for a core sees "
            f"the same. Not here: {window.not_here['node_cpu']}"
        )
        return STEP.finding(Outcome.INCONCLUSIVE, text, *figures)
    if implicated:
        text = (
            f"a no-op statement takes {trip_ms:.1f} ms of path; without it {gain.over_after:.1%} instead of "
            f"{gain.over_before:.1%} would be over the SLO. {_where(window)}"
        )
        return STEP.finding(Outcome.IMPLICATED, text, *figures, settles=gain.over_after <= 0.01)
    if trip_ms < params.least_ms or gain.share < params.clears:
        text = f"a no-op statement takes {trip_ms:.1f} ms of path: {gain.share:.0%} of the tail"
        return STEP.finding(Outcome.CLEARED, text, *figures)
    text = f"the path takes {trip_ms:.1f} ms a statement: {gain.share:.0%} of the tail, a part but not the most of it"
    return STEP.finding(Outcome.INCONCLUSIVE, text, *figures)


def _always(window: Window, least_ms: float) -> bool:
    """Nearly every round trip is that long: a path delays all, a busy node or a quota only those that meet it."""
    return _quantile(window.noop.round_trip_ms, QUICKEST) - window.noop.server_mean_ms >= least_ms


def _where(window: Window) -> str:
    connect_ms = _median(f.connect_ms for f in window.fresh)
    if connect_ms > 0.5 * window.noop_p50_ms:
        return f"A fresh connect takes {connect_ms:.1f} ms too: the packets' way itself"
    return (
        f"A fresh connect takes {connect_ms:.2f} ms: it is not the packets' way to what answers there, but a proxy "
        "above TCP, or the way behind it"
    )


def _figures(window: Window) -> tuple[Evidence, ...]:
    one_shot = window.monitor[-1] if window.monitor else ()
    every = [socket for sockets in window.monitor for socket in sockets]
    return (
        Evidence(
            "no-op round trip less server time, P50",
            window.noop_p50_ms,
            "ms",
            f"{len(window.noop.round_trip_ms)} no-ops",
        ),
        Evidence("no-op round trip, P99", _quantile(window.noop.round_trip_ms, 0.99), "ms"),
        Evidence("fresh connect", _median(f.connect_ms for f in window.fresh), "ms"),
        Evidence("minrtt of a fresh socket", _median(f.minrtt_ms for f in window.fresh), "ms"),
        Evidence("srtt, one shot", _median(s.rtt_ms for s in one_shot), "ms", f"{len(one_shot)} sockets"),
        Evidence(
            "srtt, once a second", _median(s.rtt_ms for s in every), "ms", f"{len(window.monitor)} looks"
        ),
        Evidence("minrtt of pooled sockets", _median(s.minrtt_ms for s in every), "ms"),
    )


def _median(values: Iterable[float]) -> float:
    return _quantile(tuple(values), 0.5)


def _quantile(values: tuple[float, ...], q: float) -> float:
    return float(np.quantile(values, q)) if values else 0.0


STEP = StepDef(
    name="network-path",
    cause="network-path",
    hypothesis="the network path between app and database is slow",
    params=NetworkPathParams,
    run=run,
    needs=("noop",),
)
