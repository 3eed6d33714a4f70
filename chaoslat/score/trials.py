"""A trial as it is scored, and where trials come from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from chaoslat.errors import UsageError
from chaoslat.experiment import named
from chaoslat.model import NONE, Cause, Diagnosis, Ruling, Verdict
from chaoslat.recording import TRIAL, VERDICT, read_trial, read_verdict

INCONCLUSIVE, INVALID = "inconclusive", "invalid"
ORDER: tuple[Cause, ...] = (
    "cpu-throttling",
    "pool-wait",
    "network-path",
    "database",
    "node-memory-cgroups",
)


@dataclass(frozen=True, slots=True)
class Trial:
    """What counts of one trial. `truth` and `found` are in the order of `ORDER`, then of the alphabet.

    `recording` is its folder. `truth` may be `("inconclusive",)`: the experiment expects that nobody can tell.
    """

    experiment: str
    runbook: str
    seed: int
    truth: tuple[Cause, ...]
    found: tuple[Cause, ...]
    ruling: Ruling
    reason: str
    undecided: bool
    to_diagnosis_s: float | None
    interventions: int
    recording: str
    group: str = ""

    @classmethod
    def of(cls, verdict: Verdict, runbook: str = "", group: str = "") -> Trial:
        """The trial of a verdict.

        `runbook` names the runbook where there is no diagnosis to name it; `group` is the folder of the experiment
        below `experiments/`, such as `decoys`.
        """
        diagnosis = verdict.diagnosis
        return cls(
            experiment=verdict.experiment,
            runbook=diagnosis.runbook if diagnosis else runbook,
            seed=verdict.seed,
            truth=in_order(set(verdict.truth) - {NONE}),
            found=in_order(diagnosis.causes) if diagnosis else (),
            ruling=verdict.ruling,
            reason=verdict.reason,
            undecided=_undecided(verdict.ruling, diagnosis),
            to_diagnosis_s=verdict.seconds_to_diagnosis_s,
            interventions=diagnosis.intervention_count if diagnosis else 0,
            recording=verdict.folder,
            group=group,
        )

    @property
    def valid(self) -> bool:
        """An invalid trial counts neither for nor against the runbook."""
        return self.ruling is not Ruling.INVALID

    @property
    def correct(self) -> bool:
        return self.ruling is Ruling.CORRECT

    @property
    def row(self) -> str:
        """Its row of the matrix: the truth."""
        return label(self.truth)

    @property
    def column(self) -> str:
        """Its column of the matrix: the diagnosis, `inconclusive` or `invalid`."""
        if not self.valid:
            return INVALID
        return INCONCLUSIVE if self.undecided else label(self.found)

    @property
    def name(self) -> str:
        """How a person refers to it: the end of its recording's path, else experiment and seed."""
        if self.recording:
            return "/".join(Path(self.recording).parts[-2:])
        return f"{self.experiment}, seed {self.seed}"


def _undecided(ruling: Ruling, diagnosis: Diagnosis | None) -> bool:
    return ruling is Ruling.INCONCLUSIVE or diagnosis is None or diagnosis.inconclusive


def in_order(causes: Iterable[Cause]) -> tuple[Cause, ...]:
    """Without doubles: ours first, in the order of the ladder, then the others by name."""
    return tuple(sorted(set(causes), key=_rank))


def _rank(cause: Cause) -> tuple[int, str]:
    return (ORDER.index(cause) if cause in ORDER else len(ORDER), cause)


def label(causes: Sequence[Cause]) -> str:
    """`cpu-throttling + pool-wait`, or `none`."""
    return " + ".join(causes) or NONE


def label_rank(text: str) -> tuple[int, int, tuple[tuple[int, str], ...]]:
    """Sorts labels: single causes, then sets of causes, then none, inconclusive, invalid."""
    last = (NONE, INCONCLUSIVE, INVALID)
    causes = text.split(" + ")
    group = 1 + last.index(text) if text in last else 0
    return (group, len(causes), tuple(_rank(cause) for cause in causes))


@dataclass(frozen=True, slots=True)
class Found:
    """The trials in some folders. `unfinished`: recordings without a verdict, of trials that were broken off."""

    verdicts: tuple[Verdict, ...]
    trials: tuple[Trial, ...]
    unfinished: tuple[str, ...]


def read(folders: Sequence[Path]) -> Found:
    """Every recorded verdict at or below the folders. Raises UsageError and ExperimentError."""
    recordings = find_recordings(folders)
    whole = [folder for folder in recordings if (folder / VERDICT).is_file()]
    unfinished = tuple(str(folder) for folder in recordings if folder not in whole)
    return of_verdicts([read_verdict(folder) for folder in whole], unfinished)


def of_verdicts(verdicts: Sequence[Verdict], unfinished: tuple[str, ...] = ()) -> Found:
    """The trials of verdicts that are at hand. Raises ExperimentError for a damaged recording."""
    groups = known_groups()
    trials = tuple(Trial.of(v, _runbook(Path(v.folder)), groups.get(v.experiment, "")) for v in verdicts)
    return Found(tuple(verdicts), trials, unfinished)


def known_groups() -> dict[str, str]:
    """Experiment -> the folder that it is kept in below `experiments/`, for those that are in one."""
    paths = (name.rpartition("/") for name in named())
    return {name: group for group, _, name in paths if group}


def _runbook(folder: Path) -> str:
    return str(read_trial(folder).get("runbook", "")) if (folder / TRIAL).is_file() else ""


def find_recordings(folders: Sequence[Path]) -> list[Path]:
    """The recordings at or below these folders, in order. Raises UsageError for a folder that holds none."""
    found = [recording for folder in folders for recording in _below(folder)]
    return list(dict.fromkeys(found))


def _below(folder: Path) -> list[Path]:
    inside = sorted(path.parent for path in folder.rglob(TRIAL)) if folder.is_dir() else []
    if not inside:
        raise UsageError(
            "There is no recording",
            where=str(folder),
            fix="name the folder of a trial, or the --out of a run",
        )
    return inside
