"""What tests of one's own get: the session's system, and trials."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from chaoslat.errors import ChaoslatError
from chaoslat.plugin.items import skip_unless_offered
from chaoslat.plugin.state import State, find_experiment, keep_verdict

if TYPE_CHECKING:
    from chaoslat.backends.base import System, SystemInfo
    from chaoslat.experiment import Experiment
    from chaoslat.model import Verdict
    from chaoslat.session import Session

T = TypeVar("T")
NAMES = frozenset({"chaos_system", "chaos_trial"})
"""A test that uses one of these gets the mark `chaos`: without it a plain `pytest` would start a system."""


class ChaosSystem:
    """The session's system. It lives in a loop of its own; work on it is handed over to that loop."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def info(self) -> SystemInfo:
        """Run id, url, pids, cgroups, ports, namespaces, versions."""
        return self._session.system().info

    def call(self, work: Callable[[System], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine on the system and wait: `chaos_system.call(lambda s: s.operator.pool())`."""
        return self._session.call(work)

    async def run(self, work: Callable[[System], Coroutine[Any, Any, T]]) -> T:
        """The same in an async test, whose own loop goes on meanwhile."""
        return await self._session.call_async(work)


class ChaosTrial:
    """Runs trials for one test: `chaos_trial("cpu-limit")`, or `await chaos_trial.run("cpu-limit")`.

    Both take an experiment's name, path or value, and give the verdict. An invalid trial fails the test (it shows
    nothing, so no assertion about it means anything), unless `allow_invalid`.
    """

    def __init__(self, item: pytest.Item, state: State) -> None:
        self._item, self._state = item, state

    def __call__(
        self, wanted: str | Path | Experiment, *, runbook: str | None = None, allow_invalid: bool = False
    ) -> Verdict:
        """Run a trial and wait for it (from an async test too, whose loop stands still meanwhile)."""
        __tracebackhide__ = True
        experiment = self._experiment(wanted)
        session = self._state.session()
        verdict = self._plainly(lambda: session.trial(experiment, runbook=self._runbook(runbook)))
        return self._noted(verdict, allow_invalid)

    async def run(
        self, wanted: str | Path | Experiment, *, runbook: str | None = None, allow_invalid: bool = False
    ) -> Verdict:
        """The same in an async test, whose own loop goes on meanwhile."""
        __tracebackhide__ = True
        experiment = self._experiment(wanted)
        session = self._state.session()
        try:
            verdict = await session.trial_async(experiment, runbook=self._runbook(runbook))
        except ChaoslatError as error:
            pytest.fail(str(error), pytrace=False)
        return self._noted(verdict, allow_invalid)

    def _runbook(self, runbook: str | None) -> str | None:
        return runbook or self._state.settings.runbook

    def _experiment(self, wanted: str | Path | Experiment) -> Experiment:
        __tracebackhide__ = True
        experiment = self._plainly(lambda: find_experiment(self._state, wanted))
        skip_unless_offered(experiment)
        return experiment

    def _plainly(self, act: Callable[[], T]) -> T:
        __tracebackhide__ = True
        try:
            return act()
        except ChaoslatError as error:
            pytest.fail(str(error), pytrace=False)

    def _noted(self, verdict: Verdict, allow_invalid: bool) -> Verdict:
        from chaoslat.model import Ruling
        from chaoslat.report.terminal import explain, headline

        __tracebackhide__ = True
        keep_verdict(self._item, verdict)
        self._item.add_report_section("call", "chaoslat", explain(verdict))
        if verdict.ruling is Ruling.INVALID and not allow_invalid:
            pytest.fail(headline(verdict), pytrace=False)
        return verdict
