"""Is the node out of CPU, with somebody else using it?

Mechanism first: the node is busy, most of that neither the app nor its database, and no quota throttles the app. Then
whether the app waits for a core at all: the wall time of each request's CPU section against the CPU time that the app
used per request. Its sections overlap on several threads, so without contention the wall time is the shorter of the
two (0.6 to 0.7 of it, measured); what it has beyond is time in a run queue. Then how much of the tail that is: an app
that waits for a core also takes its answers late, which reads as query time that neither the server nor the path knows
of. A busy node on which nobody waits is no cause. Nothing is changed: a neighbour is not ours to stop.
"""

from __future__ import annotations

import numpy as np

from chaoslat.model import Evidence, Finding, Outcome
from chaoslat.runbooks.base import Case, StepDef, StepParams
from chaoslat.runbooks.budget import Floats, path_part_ms, relief, unexplained_part_ms
from chaoslat.runbooks.limits import LEAST_RELIEF, pool_relief, throttling
from chaoslat.runbooks.window import Window


class NodeCpuContentionParams(StepParams):
    """`busy`: fraction of the node; `foreign`: others' share of what is used; `stretch`: wall over CPU time."""

    busy: float = 0.9
    foreign: float = 0.5
    stretch: float = 1.5
    implicates: float = 0.5
    clears: float = 0.2


async def run(case: Case, params: NodeCpuContentionParams) -> Finding:
    window = case.window
    busy, foreign, stretch = busy_share(window), foreign_share(window), section_stretch(window)
    gain = relief(window.requests, _waited_ms(case), case.slo_ms)
    figures = (
        Evidence("node's CPU in use", busy, "fraction", f"{window.node.cores} cores"),
        Evidence("of that, neither app nor database", foreign, "fraction"),
        Evidence("wall time of a CPU section over CPU time a request", stretch, "ratio"),
        Evidence("share of the tail that waits for a core", gain.share, "fraction"),
    )
    if busy < params.busy or foreign < params.foreign:
        text = (
            f"the node's CPU is {busy:.0%} in use, {foreign:.0%} of that by others: no contention to speak of"
        )
        return STEP.finding(Outcome.CLEARED, text, *figures)
    if stretch < params.stretch or gain.share < params.clears:
        text = f"the node is busy, but waiting for a core is {gain.share:.0%} of the tail"
        return STEP.finding(Outcome.CLEARED, text, *figures)
    if throttling(case) or gain.share < params.implicates:
        text = f"the node is busy, and {gain.share:.0%} of the tail waits; a quota or another cause may do it too"
        return STEP.finding(Outcome.INCONCLUSIVE, text, *figures)
    text = (
        f"the node's CPU is {busy:.0%} in use, {foreign:.0%} of that by others; no quota throttles the app, and "
        f"yet its CPU sections take {stretch:.1f} times their CPU time: {gain.share:.0%} of the tail waits for a core"
    )
    return STEP.finding(Outcome.IMPLICATED, text, *figures, settles=True)


def busy_share(window: Window) -> float:
    """How much of the node's CPU was in use."""
    total_s = window.node.busy_s + window.node.idle_s
    return window.node.busy_s / total_s if total_s else 0.0


def foreign_share(window: Window) -> float:
    """The part of the node's used CPU that neither the app nor the database used."""
    own_s = window.app_cpu[0].usage_s + window.db.user_s + window.db.system_s
    return max(1.0 - own_s / window.node.busy_s, 0.0) if window.node.busy_s else 0.0


def section_stretch(window: Window) -> float:
    """Mean wall time of the requests' CPU sections over the CPU time that the app used per request."""
    known_ms = window.requests.cpu_ms[np.isfinite(window.requests.cpu_ms)]
    used_ms = _used_ms(window)
    return float(known_ms.mean()) / used_ms if len(known_ms) and used_ms else 0.0


def _waited_ms(case: Case) -> Floats:
    """The time spent waiting for a core; and for a connection, where that alone is not what makes the tail: then the
    pool is held by those who wait for a core."""
    waited_ms = waiting_part_ms(case.window)
    if pool_relief(case).share >= LEAST_RELIEF:
        return waited_ms
    return waited_ms + np.nan_to_num(case.window.requests.acquire_ms)


def waiting_part_ms(window: Window) -> Floats:
    """What of each request was spent waiting for a core in the app: its section beyond its CPU time, the rest, and
    the query time that nobody spent."""
    requests = window.requests
    beyond_ms = np.maximum(np.nan_to_num(requests.cpu_ms) - _used_ms(window), 0.0)
    late_ms = unspent_query_share(window) * np.nan_to_num(requests.query_ms)
    return beyond_ms + late_ms + np.nan_to_num(unexplained_part_ms(requests))


def unspent_query_share(window: Window) -> float:
    """The part of the query time that was neither on the server nor on the path."""
    query_ms = float(np.nansum(window.requests.query_ms))
    path_ms = float(path_part_ms(window.requests, window.noop_p50_ms).sum())
    return max(1.0 - (window.server_ms + path_ms) / query_ms, 0.0) if query_ms else 0.0


def _used_ms(window: Window) -> float:
    return 1000.0 * window.app_cpu[0].usage_s / max(len(window.requests), 1)


STEP = StepDef(
    name="node-cpu-contention",
    cause="node-cpu-contention",
    hypothesis="a neighbour uses the node's CPU, and the app waits for a core",
    params=NodeCpuContentionParams,
    run=run,
    needs=("acquire", "query", "cpu", "noop", "statements", "app_cpu", "db_process", "node_cpu"),
)
