"""Test doubles for a session: a backend, custody and trial that touch no machine. For tests only.

The trial's ruling follows from the experiment's name (`wrong-...`, `invalid-...`, `unsure-...`, else correct), and
each trial is noted in `ran.log` in the current directory, so that a test can see that nothing ran.
"""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from chaoslat.backends.base import SystemInfo
from chaoslat.model import Diagnosis, Evidence, Finding, Outcome, Ruling, Symptom, Verdict
from chaoslat.recording import Recording
from chaoslat.session import Keep, Session

RAN = "ran.log"
RULINGS = {"wrong": Ruling.MISATTRIBUTED, "invalid": Ruling.INVALID, "unsure": Ruling.INCONCLUSIVE}


def verdict(
    name="cpu-limit", *, expect=("cpu-throttling",), ruling=Ruling.CORRECT, seed=7, folder="", recovered=True
):
    """A verdict of that ruling, with a finding and its evidence."""
    causes = {Ruling.CORRECT: expect, Ruling.MISATTRIBUTED: ("pool-wait",)}.get(ruling, ())
    finding = Finding(
        step="cpu-limit",
        hypothesis="CFS throttling",
        outcome=Outcome.IMPLICATED,
        cause="cpu-throttling",
        sentence="half of the periods were throttled",
        evidence=(Evidence("throttled periods", 0.5, "fraction", "50 of 100"),),
        interventions=("lifted the CPU limit",),
    )
    missing = ("pool-wait: undecided",) if ruling is Ruling.INCONCLUSIVE else ()
    invalid = ruling is Ruling.INVALID
    return Verdict(
        experiment=name,
        truth=tuple(expect),
        ruling=ruling,
        reason={
            Ruling.INVALID: "no steady state",
            Ruling.INCONCLUSIVE: "inconclusive, because pool-wait: undecided",
        }.get(ruling, "as it is"),
        diagnosis=None if invalid else Diagnosis("ladder", causes, (finding,), missing, took_s=12.5),
        symptom=Symptom(240, 2.0, 12.0, 55.0, 80.0, 0.03, 0, 60.0, 0.2),
        injected={"limit": "0.100 cores"},
        seed=seed,
        backend="double",
        seconds_to_diagnosis_s=None if invalid else 12.5,
        trial_s=40.0,
        folder=folder,
        recovered=recovered,
    )


@dataclass
class DoubleSystem:
    """A system that is nothing."""

    run_id: str
    complaints: tuple[str, ...] = ()
    destroyed: bool = False

    @property
    def info(self):
        return SystemInfo(self.run_id, "double", "/nowhere", "http://127.0.0.1:1", {}, {}, {}, {}, {})

    async def check(self):
        return self.complaints

    async def stop_load(self):
        await asyncio.sleep(0)

    async def destroy(self):
        self.destroyed = True


@dataclass
class DoubleBackend:
    """Makes `DoubleSystem`s and remembers them. `fails` is raised instead."""

    name: str = "double"
    fails: BaseException | None = None
    made: list[DoubleSystem] = field(default_factory=list)

    async def create(self, run_id, progress):
        if self.fails:
            raise self.fails
        self.made.append(DoubleSystem(run_id))
        return self.made[-1]


@dataclass
class DoubleCustody:
    """Notes what a session asks of the machine."""

    calls: list[str] = field(default_factory=list)
    busy: BaseException | None = None
    reaper_alive: bool = True

    def watched(self, run_id):
        return self.reaper_alive

    def enter(self, purpose):
        if self.busy:
            raise self.busy
        self.calls.append("enter")

    def open_run(self):
        run_id = f"{sum(call.startswith('open') for call in self.calls) + 1:08x}"
        self.calls.append(f"open {run_id}")
        return run_id

    def heal(self, run_id):
        self.calls.append(f"heal {run_id}")

    def keep(self, run_id, lease_s, backend):
        self.calls.append(f"keep {run_id}")

    def leave(self):
        self.calls.append("leave")


async def double_trial(system, experiment, *, seed, folder, runbook, progress):
    """A trial whose ruling follows from the experiment's name."""
    progress(f"trial of {experiment.name} on {system.run_id}")
    with Path(RAN).open("a") as log:
        log.write(f"{experiment.name} {seed} {runbook or experiment.runbook}\n")
    ruling = RULINGS.get(experiment.name.partition("-")[0], Ruling.CORRECT)
    made = verdict(experiment.name, expect=experiment.expect, ruling=ruling, seed=seed, folder=str(folder))
    Recording(folder).verdict(made)
    return made


def session(
    out, *, seed=7, keep=Keep.NEVER, progress=print, backend=None, custody=None, run_trial=double_trial
):
    """A session on doubles."""
    return Session(
        backend or DoubleBackend(),
        out=Path(out),
        seed=seed,
        progress=progress,
        keep=keep,
        custody=custody or DoubleCustody(),
        run_trial=run_trial,
    )


def open_session(state):
    """Takes the place of `chaoslat.plugin.state.open_session`."""
    return session(state.out, seed=state.seed, keep=Keep(state.settings.keep))


def ran(folder="."):
    """The trials that ran, one line each."""
    log = Path(folder) / RAN
    return log.read_text().splitlines() if log.exists() else []
