"""Several causes at once: each is found alone, and has to break the SLO alone; then all are put in.

A level that is found while another fault is in force may harm nobody by itself. Curing the other would bring the SLO
back, and a diagnosis that names the other only would be right, whatever the experiment expects.
"""

from __future__ import annotations

from collections.abc import Sequence

from chaoslat.errors import ChaoslatError
from chaoslat.faults.base import Bench, Fault, Params
from chaoslat.faults.calibrate import WINDOW_S, over
from chaoslat.proportion import exceeds

ALLOWED = 0.01  # of the requests over the SLO, which is on P99
P_VALUE = 0.01
LOOKS = 3
CALM_S = 1.0  # after an undo, until queues have drained

Wanted = tuple[Fault, Params]


async def found_alone(bench: Bench, wanted: Sequence[Wanted]) -> list[Wanted]:
    """The same faults, with parameters with which each breaks the SLO while the others are out.

    The last one stays in force. Raises ChaoslatError when one breaks nothing by itself.
    """
    found: list[Wanted] = []
    for fault, params in wanted:
        if found:
            await found[-1][0].undo(bench.saboteur)
            await bench.operator.sleep(CALM_S)
        found.append((fault, await _alone(bench, fault, params)))
    return found


async def _alone(bench: Bench, fault: Fault, params: Params) -> Params:
    bench.progress(f"{fault.name} alone")
    level = await fault.inject(bench, params)
    over_slo = await _breaks(bench)
    if over_slo is None:
        words = ", ".join(f"{name} {value}" for name, value in level.items())
        raise ChaoslatError(
            f"{fault.name} does not break the SLO by itself now ({words}): no cause of its own"
        )
    bench.progress(f"{fault.name} alone puts {over_slo:.1%} over the SLO")
    return await fault.again(bench.saboteur) if fault.again else params


async def _breaks(bench: Bench) -> float | None:
    """The fraction over the SLO once it is significantly above what is allowed; None when it never is."""
    late = count = 0
    for _ in range(LOOKS):
        seen = await bench.measure(WINDOW_S)
        late, count = late + round(over(seen, bench.slo_ms) * len(seen)), count + len(seen)
        if exceeds(late, count, ALLOWED, P_VALUE):
            return late / count
    return None
