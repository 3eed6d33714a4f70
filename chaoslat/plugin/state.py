"""What the plugin knows in one pytest session, and the chaoslat session that it opens when a trial needs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from chaoslat.plugin.asked import could_ask, on_command_line
from chaoslat.plugin.finish import Files, check_gate, read_gate, score_lines, write_files
from chaoslat.plugin.options import Settings, worker_input

if TYPE_CHECKING:  # heavy: imported when the first trial needs them
    from chaoslat.backends.base import Backend
    from chaoslat.experiment import Experiment
    from chaoslat.model import Ruling, Verdict
    from chaoslat.score import Gate, Ruled
    from chaoslat.session import Session

STATE = pytest.StashKey["State"]()
VERDICTS = pytest.StashKey[list["Verdict"]]()
WORKER_KEY = "chaoslat"


class State:
    """Settings, what was asked for, and the session once it is open."""

    def __init__(self, config: pytest.Config, parser: pytest.Parser) -> None:
        self._config = config
        self.settings = Settings.of(config)
        told = (worker_input(config) or {}).get(WORKER_KEY)
        self.expression: str = (
            told["expression"] if told else on_command_line(parser, config.invocation_params.args)
        )
        self.asked = could_ask(self.expression)
        self.gate: Gate = read_gate(self.settings.gate, config.rootpath) if self.asked else ()
        self.notes: list[str] = []
        self.expects_trials = False  # whether a trial is among the items that run here
        self.failed = False  # the gate was missed, or a file could not be written
        self._seed: int | None = told["seed"] if told else self.settings.seed
        self._out: str | None = told["out"] if told else None
        self._session: Session | None = None

    @property
    def seed(self) -> int:
        """The session's seed; drawn once when none was given."""
        if self._seed is None:
            from chaoslat.seeds import fresh_seed

            self._seed = fresh_seed()
        return self._seed

    @property
    def out(self) -> Path:
        """Where the recordings go."""
        if self._out is None:
            self._out = str(self._config.invocation_params.dir / (self.settings.out or self._default_out()))
        return Path(self._out)

    @property
    def shown_out(self) -> str:
        """The same as a person sees it from where pytest was started."""
        start = self._config.invocation_params.dir
        return str(self.out.relative_to(start) if self.out.is_relative_to(start) else self.out)

    def progress(self, line: str) -> None:
        """To standard output: pytest captures it, shows it when the item fails, and lets it through with -s."""
        if self._session is not None:  # when it is being closed nobody captures any more
            print(line, flush=True)

    def for_worker(self) -> dict[str, Any]:
        """What a worker has to know, in plain values."""
        return {"expression": self.expression, "seed": self.seed, "out": str(self.out)}

    def session(self) -> Session:
        """The chaoslat session; opened at the first call. Raises ChaoslatError."""
        if self._session is None:
            self._session = open_session(self)
        return self._session

    def close(self) -> None:
        """Close the session, if one is open: the system goes (or is kept), the summary is written."""
        session, self._session = self._session, None
        kept = session.close() if session else None
        if kept:
            self.notes.append(str(kept))
        verdicts = session.verdicts if session else []
        if verdicts or self.expects_trials:
            self._conclude(verdicts)

    def gate_counts(self, ruling: Ruling) -> bool:
        """Whether a trial of that ruling is left to the gate."""
        bounds_invalid = any(demand.measure == "invalid" for demand in self.gate)
        return bool(self.gate) and (str(ruling) != "invalid" or bounds_invalid)

    def _conclude(self, verdicts: Sequence[Verdict]) -> None:
        """Apply the gate, and leave the summary and what else was asked for."""
        ruled = check_gate(self.gate, verdicts)
        self.failed = not all(each.held for each in ruled)
        if verdicts:
            self._write(verdicts, ruled)
        if verdicts and self.settings.repeat > 1:
            self.notes += score_lines(verdicts)
        self.notes += [("" if each.held else "FAIL ") + each.sentence for each in ruled]

    def _write(self, verdicts: Sequence[Verdict], ruled: Sequence[Ruled]) -> None:
        from chaoslat.report import summary

        about: dict[str, Any] = {"seed": self.seed, "backend": self.settings.backend}
        summary.write(verdicts, out=self.out, **about)
        files = Files.of(self.settings, self.out, self._config.invocation_params.dir)
        problems = write_files(files, verdicts, ruled, **about)
        self.failed = self.failed or bool(problems)
        self.notes += problems

    def _default_out(self) -> Path:
        from chaoslat.report.summary import out_folder

        return out_folder(self.seed)


def open_session(state: State) -> Session:
    """A session on the real machine. Tests of the plugin put another one in its place."""
    from chaoslat.session import Keep, Session

    return Session(
        _backend(state.settings),
        out=state.out,
        seed=state.seed,
        progress=state.progress,
        keep=Keep(state.settings.keep),
    )


def _backend(settings: Settings) -> Backend:
    """The backend, on the cluster that the options name. Raises UsageError when it takes none."""
    from chaoslat import backends
    from chaoslat.backends.kube import KubeBackend
    from chaoslat.errors import UsageError

    found = backends.get(settings.backend)
    if not (settings.context or settings.namespace):
        return found
    if not isinstance(found, KubeBackend):
        raise UsageError(
            f"--chaos-context and --chaos-namespace are for --chaos-backend=kube, not {found.name}"
        )
    return found.at(settings.context, settings.namespace)


def find_experiment(state: State, wanted: str | Path | Experiment) -> Experiment:
    """An experiment by name, by path or as it is. Raises ExperimentError."""
    from chaoslat.experiment import Experiment, load, resolve

    if isinstance(wanted, Experiment):
        return wanted
    folders: list[Path | None] = [folder for folder in state.settings.folders if folder.is_dir()]
    return load(_first(lambda folder: resolve(str(wanted), folder), folders or [None]))


def _first(find: Callable[[Path | None], Path], folders: list[Path | None]) -> Path:
    """What the first folder gives that has it; the error of the last one when none has."""
    from chaoslat.errors import ExperimentError

    for folder in folders[:-1]:
        try:
            return find(folder)
        except ExperimentError:
            continue
    return find(folders[-1])


def keep_verdict(item: pytest.Item, verdict: Verdict) -> None:
    """Note a trial of an item, for its report, the table and JUnit."""
    from chaoslat.report.rows import Row

    item.stash.setdefault(VERDICTS, []).append(verdict)
    item.user_properties.extend(Row.of(verdict).properties())
