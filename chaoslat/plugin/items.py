"""Experiment files as pytest items."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from chaoslat.errors import ChaoslatError, ExperimentError
from chaoslat.plugin.asked import MARK
from chaoslat.plugin.state import STATE, State, keep_verdict

if TYPE_CHECKING:
    from chaoslat.experiment import Experiment
    from chaoslat.model import Verdict

_OURS = re.compile(rb"""^\s*["']?apiVersion["']?\s*:\s*["']?chaoslat/""", re.MULTILINE)
_LOOKED_AT_BYTES = 1_000_000


def is_candidate(path: Path, folders: tuple[Path, ...]) -> bool:
    """A YAML file in one of the folders."""
    return path.suffix in (".yaml", ".yml") and any(path.is_relative_to(folder) for folder in folders)


def is_experiment(path: Path, folders: tuple[Path, ...]) -> bool:
    """A YAML file in one of the folders that says it is ours. Reads the text; parses nothing."""
    if not is_candidate(path, folders):
        return False
    try:
        with path.open("rb") as file:
            return bool(_OURS.search(file.read(_LOOKED_AT_BYTES)))
    except OSError:
        return False


class TrialFailed(Exception):
    """A trial did not end with a correct diagnosis. Says what each step found, and carries the verdict."""

    def __init__(self, verdict: Verdict) -> None:
        from chaoslat.report.terminal import account

        super().__init__(account(verdict))
        self.verdict = verdict


class ExperimentFile(pytest.File):
    """One YAML file: one item."""

    def collect(self) -> Iterator[pytest.Item]:
        """The experiment; or, when the file is no good, an item that fails and says why.

        The failing item carries no mark `chaos` unless chaos was asked for, so that a broken file is seen in the
        ordinary run too (it costs a parse and injects nothing), and by `-m chaos` as well.
        """
        from chaoslat.experiment import load

        try:
            experiment = load(self.path)
        except ExperimentError as error:
            yield BrokenExperiment.from_parent(self, name=self.path.stem, error=error)
        else:
            yield from self._repeated(experiment)

    def _repeated(self, experiment: Experiment) -> Iterator[pytest.Item]:
        """One item a repeat: `cpu-limit[1]`, `cpu-limit[2]`; plain `cpu-limit` when there is but one."""
        repeat = self.config.stash[STATE].settings.repeat
        for number in range(1, repeat + 1):
            name = experiment.name if repeat == 1 else f"{experiment.name}[{number}]"
            yield ExperimentItem.from_parent(self, name=name, experiment=experiment, number=number)


class _Item(pytest.Item):
    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, 0, f"experiment {self.name}"

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Plain words for what a user can meet; a traceback is for bugs only."""
        if isinstance(excinfo.value, (ChaoslatError, TrialFailed)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)


class BrokenExperiment(_Item):
    """Fails with file, line, key and what is allowed."""

    def __init__(self, *, error: ExperimentError, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._error = error
        if self.config.stash[STATE].asked:
            self.add_marker(MARK)

    def runtest(self) -> None:
        raise self._error


class ExperimentItem(_Item):
    """Runs one trial. Passes when the runbook found what the experiment expects, and in no other case.

    An invalid or inconclusive trial fails: it is no pass, since nothing was shown, and a skip would turn a suite
    green that tested nothing. Its message begins with its own word, so that it cannot be taken for a wrong
    diagnosis. What an experiment says that it `needs` and the machine does not offer is a skip.

    Under a gate a trial that is wrong or inconclusive is an expected failure (xfailed): it is counted, and the gate
    decides over all of them. An invalid one still fails, unless the gate says how many may be.
    """

    def __init__(self, *, experiment: Experiment, number: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._experiment = experiment
        self.number = number
        self.add_marker(MARK)

    def setup(self) -> None:
        skip_unless_offered(self._experiment)

    def runtest(self) -> None:
        from chaoslat.model import Ruling

        state = self.config.stash[STATE]
        verdict = state.session().trial(
            self._experiment, runbook=state.settings.runbook, seed=self._seed(state)
        )
        keep_verdict(self, verdict)
        if verdict.ruling is Ruling.CORRECT:
            return
        if state.gate_counts(verdict.ruling):
            self._leave_to_the_gate(verdict)
        raise TrialFailed(verdict)

    def _seed(self, state: State) -> int | None:
        """A repeat has the seed of its number, so that it can be run again alone."""
        from chaoslat.seeds import trial_seed

        if state.settings.repeat == 1:
            return None
        return trial_seed(state.seed, self._experiment.name, self.number - 1)

    def _leave_to_the_gate(self, verdict: Verdict) -> None:
        from chaoslat.report.terminal import account, headline

        self.add_report_section("call", "chaoslat", account(verdict))
        pytest.xfail(f"left to the gate: {headline(verdict)}")


def in_turns(items: list[pytest.Item]) -> None:
    """Repeats go round: each experiment once, then each again, so that a machine that drifts favours none.

    All other items keep their places.
    """
    places = [place for place, item in enumerate(items) if isinstance(item, ExperimentItem)]
    ours = [item for item in items if isinstance(item, ExperimentItem)]
    for place, item in zip(places, sorted(ours, key=lambda item: item.number), strict=True):
        items[place] = item


def skip_unless_offered(experiment: Experiment) -> None:
    """Skip the item when the machine lacks what the experiment says that it needs."""
    from chaoslat.capabilities import missing

    lacking = missing(experiment.needs)
    if lacking:
        pytest.skip(f"this machine does not offer {', '.join(lacking)} (`chaoslat doctor`)")
