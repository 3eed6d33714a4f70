"""Step 1: CFS throttling. Counters first, of the app's cgroup and every ancestor; then the limit lifted, in blocks.

No throttled period anywhere: the quota cannot be the cause, and nothing is changed. Otherwise the limit is lifted
in randomised blocks. Implicated takes both: periods that stop being throttled, and a tail that falls.
"""

from __future__ import annotations

from chaoslat.model import CgroupCpu, Evidence, Finding, Outcome
from chaoslat.runbooks.base import Answer, Case, StepDef, StepParams
from chaoslat.runbooks.limits import CPU, SET_CPU, answer, throttling


class CpuLimitParams(StepParams):
    """No parameters: the mechanism and the comparison decide."""


async def run(case: Case, _params: CpuLimitParams) -> Finding:
    throttled = throttling(case)
    figures = tuple(_figure(c) for c in throttled or case.window.app_cpu[:1])
    if not throttled and (above := case.missing(("ancestors",))):
        text = f"no period was throttled in the app's own cgroup. Not here: {above[0]}"
        return STEP.finding(Outcome.INCONCLUSIVE, text, *figures)
    if not throttled:
        text = "no period was throttled, in the app's cgroup or any ancestor: a quota cannot be the cause"
        return STEP.finding(Outcome.CLEARED, text, *figures)
    if why := case.obstacle(SET_CPU):
        text = f"{where(throttled)} throttles; whether that makes the tail is not known. Not here: {why}"
        return STEP.finding(Outcome.INCONCLUSIVE, text, *figures)
    found = await answer(case, CPU)
    if found is None:
        return STEP.finding(Outcome.INCONCLUSIVE, "throttling began after the comparison had run", *figures)
    return _read(case, throttled, found, figures)


def _read(
    case: Case, throttled: tuple[CgroupCpu, ...], found: Answer, figures: tuple[Evidence, ...]
) -> Finding:
    worst, place = _worst(throttled), where(throttled)
    figures += found.evidence
    if found.outcome == "cleared":
        return STEP.finding(
            Outcome.CLEARED, f"{place} throttles, and lifting its limit does not help", *figures
        )
    if found.outcome == "undecided":
        return STEP.finding(
            Outcome.INCONCLUSIVE, f"{place} throttles; the comparison did not decide", *figures
        )
    if not found.mechanism_fell:
        text = f"the tail falls with the limit of {place}, but its throttling does not"
        return STEP.finding(Outcome.INCONCLUSIVE, text, *figures)
    text = f"{place} is throttled {found.original:.1f} times a second; lifted, {found.lifted:.1f}, and the tail falls"
    lifted = (f"limit of {worst.path} lifted",)
    return STEP.finding(Outcome.IMPLICATED, text, *figures, settles=_alone(case), interventions=lifted)


def _worst(throttled: tuple[CgroupCpu, ...]) -> CgroupCpu:
    return max(throttled, key=lambda c: c.throttled_periods)


def where(throttled: tuple[CgroupCpu, ...]) -> str:
    """The cgroup that throttles most, and its limit."""
    worst = _worst(throttled)
    return f"{worst.path} (limit {worst.limit_cores or 0:.2f} cores)"


def _alone(case: Case) -> bool:
    """The SLO is back, and the pool's answer is not still to be read."""
    others = [a for name, a in (case.answers or {}).items() if name != CPU]
    return case.cured and all(a.outcome != "implicated" for a in others)


def _figure(cgroup: CgroupCpu) -> Evidence:
    limit = "no limit" if cgroup.limit_cores is None else f"limit {cgroup.limit_cores:.3f} cores"
    note = f"{cgroup.path}, {limit}, {cgroup.periods} periods, {cgroup.throttled_s * 1000:.0f} ms throttled"
    return Evidence("throttled periods", cgroup.throttled_periods, "periods", note)


STEP = StepDef(
    name="cpu-limit",
    cause="cpu-throttling",
    hypothesis="CFS throttling: the CPU limit cuts bursts short",
    params=CpuLimitParams,
    run=run,
    needs=("app_cpu",),
)
