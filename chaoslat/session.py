"""One session of trials: one loop, the machine's custody, and one system that is kept between trials.

The command line and the pytest plugin both work through a `Session`. It is synchronous outside (`trial`) and has
an asynchronous door too (`trial_async`); a system is created when it is first needed.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from chaoslat.capabilities import missing
from chaoslat.custody import Custody, MachineCustody
from chaoslat.errors import ChaoslatError, EnvironmentMissing
from chaoslat.interruption import interruptible
from chaoslat.loop_thread import LoopThread
from chaoslat.model import Ruling, Verdict
from chaoslat.seeds import trial_seed

if TYPE_CHECKING:  # importing the protocols costs numpy, which starting pytest must not pay for
    from chaoslat.backends.base import Backend, Progress, System, SystemInfo
    from chaoslat.experiment import Experiment

KEPT_LEASE_S = 2 * 3600.0
T = TypeVar("T")


class Keep(StrEnum):
    """Whether a system stays when the session ends."""

    NEVER = "never"
    ON_FAILURE = "on-failure"
    ALWAYS = "always"


class RunTrial(Protocol):
    """The signature of `chaoslat.trial.run_trial`."""

    def __call__(
        self,
        system: System,
        experiment: Experiment,
        *,
        seed: int,
        folder: Path,
        runbook: str | None,
        progress: Progress,
    ) -> Coroutine[Any, Any, Verdict]: ...


@dataclass(frozen=True, slots=True)
class Kept:
    """A system that outlives its session."""

    info: SystemInfo
    lease_s: float

    def __str__(self) -> str:
        run = self.info.run_id
        return (
            f"kept: {self.info.backend} system {run} at {self.info.url}, for {self.lease_s / 3600:.1f} h, without load"
            f"\n  look:   chaoslat status {run}"
            + "".join(f"\n  {name}: {value}" for name, value in self.info.access.items())
            + f"\n  remove: chaoslat down {run}"
        )


class Session:
    """Trials, one after another, on a system that is created once.

    `seed` decides the seeds of the trials; `out` gets one folder a trial. Close it (or use it in `with`): that
    destroys the system, or keeps it as `keep` says. Not safe for use from two threads at once.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        out: Path,
        seed: int,
        progress: Progress,
        keep: Keep = Keep.NEVER,
        custody: Custody | None = None,
        run_trial: RunTrial | None = None,
    ) -> None:
        self.out, self.seed, self.verdicts = out, seed, list[Verdict]()
        self._backend, self._progress, self._keep = backend, progress, keep
        self._custody = custody or MachineCustody()
        self._run_trial = run_trial or _real_trial()
        self._loop: LoopThread | None = None
        self._system: System | None = None
        self._run_id = ""
        self._seen: Counter[str] = Counter()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # trials ------------------------------------------------------------------------------------------------

    def trial(
        self, experiment: Experiment, *, runbook: str | None = None, seed: int | None = None
    ) -> Verdict:
        """Run one trial and wait for it. `seed` is the trial's; without it one follows from the session's.

        Raises ChaoslatError when there is no system to run it on; what goes wrong in the trial itself is a verdict
        (`invalid`). KeyboardInterrupt is raised after the undo.
        """
        return self._call(self._trial(experiment, runbook, seed))

    async def trial_async(self, experiment: Experiment, *, runbook: str | None = None) -> Verdict:
        """The same from a coroutine of another loop, which goes on running meanwhile."""
        return await self._thread().wait(self._trial(experiment, runbook))

    def system(self) -> System:
        """The session's system, created if need be. Raises ChaoslatError."""
        return self._call(self._healthy_system())

    def call(self, work: Callable[[System], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine with the system, in the loop that the system lives in, and wait for it."""

        return self._call(self._with_system(work))

    async def call_async(self, work: Callable[[System], Coroutine[Any, Any, T]]) -> T:
        """The same from a coroutine of another loop, which goes on running meanwhile."""
        return await self._thread().wait(self._with_system(work))

    def close(self) -> Kept | None:
        """End the session: the system is destroyed, or kept and described. May be called twice."""
        if self._loop is None:
            return None
        try:
            return self._call(self._end())
        finally:
            self._loop.stop()
            self._loop = None
            self._custody.leave()

    # in the loop's thread ------------------------------------------------------------------------------------

    async def _trial(self, experiment: Experiment, runbook: str | None, wanted: int | None = None) -> Verdict:
        _check_needs(experiment)
        _check_runbook(runbook or experiment.runbook)
        was_there = self.out.exists()
        folder, seed = self._next(experiment.name)
        seed = seed if wanted is None else wanted
        system = await self._system_for(folder, was_there)
        try:
            verdict = await self._run_trial(
                system, experiment, seed=seed, folder=folder, runbook=runbook, progress=self._progress
            )
        except BaseException:
            await self._discard("the trial was broken off")
            raise
        self.verdicts.append(verdict)
        if not verdict.recovered:
            await self._discard("it did not recover from the trial")
        return verdict

    def _next(self, name: str) -> tuple[Path, int]:
        """The folder and the seed of the next trial. Recordings of earlier sessions in `out` are left alone."""
        folder = _new_folder(self.out, name)
        seed = trial_seed(self.seed, name, self._seen[name])
        self._seen[name] += 1
        return folder, seed

    async def _system_for(self, folder: Path, out_was_there: bool) -> System:
        """The system; where there is none (the machine is taken, a tool is missing), no empty folder is left."""
        try:
            return await self._healthy_system()
        except BaseException:
            with suppress(OSError):  # never more than empty folders
                folder.rmdir()
                if not out_was_there:
                    folder.parent.rmdir()
            raise

    async def _with_system(self, work: Callable[[System], Coroutine[Any, Any, T]]) -> T:
        return await work(await self._healthy_system())

    async def _healthy_system(self) -> System:
        if self._system is not None:
            if not await asyncio.to_thread(self._custody.watched, self._run_id):
                self._progress("the reaper had died: another watches over the run now")
            complaints = await self._system.check()
            if complaints:
                await self._discard("; ".join(complaints))
        return self._system or await self._create()

    async def _create(self) -> System:
        self._custody.enter(f"trials on backend {self._backend.name}")
        self._run_id = self._custody.open_run()
        self._progress(f"starting a system ({self._backend.name}, run {self._run_id})")
        try:
            self._system = await self._backend.create(self._run_id, self._progress)
        except BaseException:
            await self._heal()
            raise
        return self._system

    async def _discard(self, why: str) -> None:
        self._progress(f"discarding the system: {why}")
        await self._destroy()

    async def _destroy(self) -> None:
        system, self._system = self._system, None
        try:
            if system is not None:
                await system.destroy()
        finally:
            await self._heal()

    async def _heal(self) -> None:
        run_id, self._run_id = self._run_id, ""
        if run_id:
            await asyncio.to_thread(self._custody.heal, run_id)

    async def _end(self) -> Kept | None:
        if self._system is None:
            return None
        if not self._wanted():
            self._progress("removing the system")
            await self._destroy()
            return None
        await self._system.stop_load()
        self._custody.keep(self._run_id, KEPT_LEASE_S, self._backend.name)
        return Kept(self._system.info, KEPT_LEASE_S)

    def _wanted(self) -> bool:
        failed = any(verdict.ruling is not Ruling.CORRECT for verdict in self.verdicts)
        return self._keep is Keep.ALWAYS or (self._keep is Keep.ON_FAILURE and failed)

    # from outside --------------------------------------------------------------------------------------------

    def _thread(self) -> LoopThread:
        if self._loop is None:
            self._loop = LoopThread()
        return self._loop

    def _call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        with interruptible():
            return self._thread().call(coroutine, self._progress)


def _new_folder(out: Path, name: str) -> Path:
    """A folder for a recording, numbered after those that are there. Raises ChaoslatError."""
    found = (re.match(r"(\d+)-", path.name) for path in out.glob("*-*"))
    last = max((int(match[1]) for match in found if match), default=0)
    folder = out / f"{last + 1:02d}-{name}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        why = error.strerror or str(error)
        raise ChaoslatError(
            "A recording cannot be written", where=str(folder), why=why, fix="use --out"
        ) from error
    return folder


def _check_needs(experiment: Experiment) -> None:
    lacking = missing(experiment.needs)
    if lacking:
        raise EnvironmentMissing(
            f"This machine does not offer what experiment {experiment.name} needs: {', '.join(lacking)}",
            where=experiment.path,
            fix="chaoslat doctor",
        )


def _check_runbook(name: str) -> None:
    """Before a system is made for it. Raises UsageError or ExperimentError."""
    from chaoslat.runbooks import load

    load(name)


def _real_trial() -> RunTrial:
    from chaoslat.trial import run_trial

    return run_trial
