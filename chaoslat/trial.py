"""One trial, the one place that sees both truth and diagnosis.

steady state -> inject -> symptom gate -> diagnose -> undo -> recovery proof -> verdict. A trial that was no good
(no steady state, the fault did not show, the load lagged, a part died) is invalid, with the reason. Whatever
happens, what was injected is undone, a cancellation included.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from chaoslat import faults
from chaoslat.backends.base import Operator, Progress, System
from chaoslat.errors import ChaoslatError, SystemLost
from chaoslat.experiment import Experiment
from chaoslat.faults import together
from chaoslat.faults.base import Bench, Fault
from chaoslat.gate import Invalid, mean_hold_ms, shows, stood_still, symptom_of, words
from chaoslat.load.log import Requests
from chaoslat.load.summary import judge_health
from chaoslat.model import Diagnosis, Ruling, Symptom, Verdict
from chaoslat.recording import Recording, record
from chaoslat.runbooks import diagnose, load
from chaoslat.verdict import judge

WARM_S = 1.5
STEADY_WINDOW_S, STEADY_LOOKS = 4.0, 5
GATE_WINDOW_S, GATE_LOOKS = 4.0, 6
RECOVERY_WINDOW_S, RECOVERY_LOOKS = 3.0, 6
RATE_WINDOW_S, RATE_ROUNDS = 2.5, 3
RATES_RPS = (10.0, 500.0)  # bounds of a rate that is set from the hold time
UNDO_DEADLINE_S = 60.0


@dataclass
class Course:
    """A trial under way."""

    system: System
    experiment: Experiment
    seed: int
    recording: Recording
    progress: Progress
    operator: Operator
    before: dict[str, str] = field(default_factory=dict)
    active: list[Fault] = field(default_factory=list)
    injected: dict[str, str] = field(default_factory=dict)
    symptom: Symptom | None = None
    diagnosis: Diagnosis | None = None
    gate_passed_s: float = 0.0
    rate_rps: float = 0.0  # of the steady state
    scaled: bool = False  # whether a fault changed it since

    def event(self, kind: str, **data: Any) -> None:
        self.recording.event(kind, self.operator.now_s(), **data)

    async def look(self, since_s: float) -> Requests:
        return await self.operator.requests(since_s, self.operator.now_s())


async def run_trial(
    system: System,
    experiment: Experiment,
    *,
    seed: int,
    folder: Path,
    runbook: str | None = None,
    progress: Progress,
) -> Verdict:
    """Run one trial and leave its recording in `folder`.

    Never raises for what happens inside the trial (that is `invalid`, with the reason). Raises ChaoslatError when
    the recording cannot be written, UsageError for an unknown runbook, and CancelledError after the undo.
    """
    chosen = load(runbook or experiment.runbook)
    course = Course(system, experiment, seed, Recording(folder), progress, system.operator)
    course.recording.describe(**_about(course, chosen.name))
    started_s = time.monotonic()
    reason = await _measure(course, chosen)
    recovered = await _undo_shielded(course)
    verdict = _verdict(course, reason, recovered, time.monotonic() - started_s)
    course.recording.verdict(verdict)
    return verdict


def _about(course: Course, runbook: str) -> dict[str, Any]:
    experiment, info = course.experiment, course.system.info
    return {
        "experiment": experiment.name,
        "description": experiment.description,
        "expect": list(experiment.expect),
        "faults": [{"fault": i.fault, "params": dict(i.params)} for i in experiment.faults],
        "symptom": experiment.symptom,
        "slo_ms": experiment.slo_ms,
        "workload": experiment.workload.to_json(),
        "busy_connections": experiment.busy_connections,
        "runbook": runbook,
        "seed": course.seed,
        "backend": info.backend,
        "versions": info.versions,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


async def _measure(course: Course, runbook: Any) -> str:
    """Everything up to the diagnosis. Returns why the trial is invalid; empty when it is good."""
    try:
        await _steady_state(course)
        await _inject(course)
        await _symptom_gate(course)
        await _diagnose(course, runbook)
    except (Invalid, SystemLost, ChaoslatError) as error:
        course.event("invalid", reason=str(error))
        return str(error)
    except BaseException as error:  # a cancellation, or a bug of ours: nothing stays injected
        course.event("broken off", by=repr(error))
        await _undo_shielded(course)
        raise
    return ""


# --- steady state ---


async def _steady_state(course: Course) -> None:
    if problems := await course.system.check():
        raise Invalid("the system is not healthy: " + "; ".join(problems))
    course.progress("steady state")
    course.rate_rps = course.experiment.workload.rate_rps
    await course.system.start_load(course.experiment.workload, course.seed, course.recording.latencies)
    await course.operator.sleep(WARM_S)
    if course.experiment.busy_connections is not None:
        await _set_busy_connections(course, course.experiment.busy_connections)
    for _ in range(STEADY_LOOKS):
        start_s = course.operator.now_s()
        await course.operator.sleep(STEADY_WINDOW_S)
        seen = symptom_of(await course.look(start_s), STEADY_WINDOW_S, course.experiment.slo_ms)
        course.event("steady", p50_ms=seen.p50_ms, p95_ms=seen.p95_ms, p99_ms=seen.p99_ms, failed=seen.failed)
        if seen.p99_ms <= course.experiment.slo_ms and not seen.failed:
            course.before = await course.system.saboteur.snapshot()
            return
    raise Invalid(f"no steady state: without a fault {words(seen)}")


async def _set_busy_connections(course: Course, wanted: float) -> None:
    """Set the rate that keeps so many connections busy: rate = connections / mean hold time (Little's law)."""
    for _ in range(RATE_ROUNDS):  # the hold time falls while caches and JIT get warm, and depends on the rate
        start_s = course.operator.now_s()
        await course.operator.sleep(RATE_WINDOW_S)
        hold_ms = mean_hold_ms(await course.look(start_s))
        rate_rps = min(max(wanted / hold_ms * 1000.0, RATES_RPS[0]), RATES_RPS[1])
        await course.system.set_rate(rate_rps)
        course.rate_rps = rate_rps
        course.event("rate", rate_rps=rate_rps, hold_ms=hold_ms, busy_connections=wanted)
        course.progress(f"a request holds its connection for {hold_ms:.1f} ms: {rate_rps:.0f} requests/s")


# --- inject, and see it ---


async def _inject(course: Course) -> None:
    for fault, params in await _wanted(course):
        course.progress(f"inject {fault.name}")
        level = await fault.inject(_bench(course), params)
        course.injected |= level
        await _nothing_lost(course, f"while {fault.name} was injected")
        course.event("injected", fault=fault.name, level=level)


async def _wanted(course: Course) -> list[together.Wanted]:
    """The faults with their parameters; where several causes are expected, with those that break the SLO alone."""
    wanted = [
        (fault, fault.params.model_validate(dict(injection.params)))
        for injection in course.experiment.faults
        for fault in (faults.get(injection.fault),)
    ]
    course.active += [fault for fault, _ in wanted]  # what was not injected takes an undo, too
    if len(course.experiment.expect) < 2:
        return wanted
    found = await together.found_alone(_bench(course), wanted)
    course.event("found alone", levels={fault.name: params.model_dump() for fault, params in found})
    return found


def _bench(course: Course) -> Bench:
    rng = random.Random(f"{course.seed}:fault")
    slo_ms = course.experiment.slo_ms
    scale = partial(_scale_load, course)
    return Bench(course.system.saboteur, course.operator, slo_ms, rng, course.progress, scale)


async def _scale_load(course: Course, factor: float) -> None:
    """The arrival rate, as a multiple of that of the steady state."""
    course.scaled = factor != 1.0
    await course.system.set_rate(course.rate_rps * factor)
    course.event("rate", rate_rps=course.rate_rps * factor, factor=factor)


async def _symptom_gate(course: Course) -> None:
    """The SLO breaks as the experiment says, over a window that grows: few requests make a noisy P99."""
    course.progress("symptom gate")
    start_s = course.operator.now_s()
    for _ in range(GATE_LOOKS):
        await course.operator.sleep(GATE_WINDOW_S)
        seen = await course.look(start_s)
        symptom = symptom_of(seen, course.operator.now_s() - start_s, course.experiment.slo_ms)
        course.symptom = symptom
        health = judge_health(seen)
        if not health.sound:  # the machine stood still: the requests around that say nothing, look afresh
            course.event("unsound", why=health.sentence)
            start_s = course.operator.now_s()
        elif shows(course.experiment.symptom, symptom, course.experiment.slo_ms):
            return _gate_passed(course)
    await _nothing_lost(course, "before the symptom showed")
    if not health.sound:
        raise Invalid(f"the load was not sound: {health.sentence}")
    raise Invalid(f"the symptom is not {course.experiment.symptom!r}: with {_truth(course)} {words(symptom)}")


def _gate_passed(course: Course) -> None:
    course.gate_passed_s = course.operator.now_s()
    course.event(
        "symptom", **{k: getattr(course.symptom, k) for k in ("p50_ms", "p95_ms", "p99_ms", "over_slo")}
    )


def _truth(course: Course) -> str:
    return ", ".join(f"{k} {v}" for k, v in course.injected.items()) or "no fault"


# --- diagnose ---


async def _diagnose(course: Course, runbook: Any) -> None:
    """Blind: the runbook gets an operator, the SLO and a seed."""
    course.event("diagnose", runbook=runbook.name)
    course.diagnosis = await diagnose(
        runbook,
        record(course.operator, course.recording),
        slo_ms=course.experiment.slo_ms,
        seed=course.seed,
        progress=course.progress,
        note=lambda kind, data: course.event(kind, **data),
    )
    course.recording.findings(course.diagnosis)
    course.event("diagnosis", label=course.diagnosis.label, took_s=course.diagnosis.took_s)
    diagnosed_s = course.operator.now_s()
    await _nothing_lost(course, "during the diagnosis")
    if why := stood_still(await course.operator.requests(course.gate_passed_s, diagnosed_s)):
        raise Invalid(why)
    for sentence in await course.system.advice(course.diagnosis.causes):
        course.event("advice", sentence=sentence)
        course.progress(sentence)


async def _nothing_lost(course: Course, when: str) -> None:
    if problems := await course.system.lost():
        raise Invalid(f"a part of the system was lost {when}: " + "; ".join(problems))


# --- undo, and prove it ---


async def _undo_shielded(course: Course) -> bool:
    """Undo to the end even when somebody cancels meanwhile; the cancellation is raised afterwards."""
    task = asyncio.ensure_future(_undo(course))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=UNDO_DEADLINE_S)
        raise


async def _undo(course: Course) -> bool:
    """Whether everything reads as before and the load is back within the SLO."""
    course.progress("undo")
    steps: list[tuple[str, Callable[[], Awaitable[object]]]] = [
        ("interventions", course.system.operator.undo_interventions)
    ]
    steps += [(f.name, partial(f.undo, course.system.saboteur)) for f in reversed(course.active)]
    if course.scaled:
        steps.append(("load", partial(_scale_load, course, 1.0)))
    good = all([await _try(course, name, undo) for name, undo in steps])
    good = good and await _try(course, "recovery", lambda: _prove_recovery(course))
    await _try(course, "load", course.system.stop_load)
    course.event("undone", recovered=good)
    return good


async def _try(course: Course, what: str, act: Callable[[], Awaitable[object]]) -> bool:
    try:
        await act()
    except (ChaoslatError, Invalid) as error:
        course.event("undo failed", what=what, reason=str(error))
        course.progress(f"undo of {what} failed: {error}")
        return False
    return True


async def _prove_recovery(course: Course) -> None:
    """Read back equal, and a window within the SLO. Nothing to prove where no steady state was."""
    if not course.before:
        return
    after = await course.system.saboteur.snapshot()
    changed = [k for k in course.before.keys() | after.keys() if course.before.get(k) != after.get(k)]
    if changed:
        raise Invalid("; ".join(f"{k}: {course.before.get(k)} -> {after.get(k)}" for k in sorted(changed)))
    if lost := await course.system.lost():
        raise Invalid("; ".join(lost))
    for _ in range(RECOVERY_LOOKS):
        start_s = course.operator.now_s()
        await course.operator.sleep(RECOVERY_WINDOW_S)
        seen = symptom_of(await course.look(start_s), RECOVERY_WINDOW_S, course.experiment.slo_ms)
        if seen.p99_ms <= course.experiment.slo_ms and not seen.failed:
            course.event("recovered", p99_ms=seen.p99_ms)
            return
    raise Invalid(f"the load did not come back within the SLO: {words(seen)}")


# --- verdict ---


def _verdict(course: Course, invalid: str, recovered: bool, trial_s: float) -> Verdict:
    base = Verdict(
        experiment=course.experiment.name,
        truth=course.experiment.expect,
        ruling=Ruling.INVALID,
        reason=invalid,
        diagnosis=course.diagnosis,
        symptom=course.symptom,
        injected=course.injected,
        seed=course.seed,
        backend=course.system.info.backend,
        trial_s=trial_s,
        folder=str(course.recording.folder),
        recovered=recovered,
    )
    if invalid or course.diagnosis is None:
        return base
    ruling, reason = judge(course.experiment.expect, course.diagnosis)
    return replace(base, ruling=ruling, reason=reason, seconds_to_diagnosis_s=course.diagnosis.took_s)
