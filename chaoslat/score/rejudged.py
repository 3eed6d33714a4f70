"""Pairs of trials for two runbooks: the same recording where it answers both, else two recordings of one seed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from chaoslat.errors import NotRecorded, UsageError
from chaoslat.recording import read_trial, read_verdict
from chaoslat.replay import rejudge
from chaoslat.runbooks import load
from chaoslat.score.trials import Trial

ONE_RECORDING, ONE_SEED = "one recording", "one seed"
Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Pair:
    """One trial judged by both runbooks. `how`: `one recording`, or `one seed` (two recordings)."""

    experiment: str
    seed: int
    a: Trial
    b: Trial
    how: str


@dataclass(frozen=True, slots=True)
class Unpaired:
    """A trial that `lacks` these of the two runbooks. `why`: what the recording could not answer."""

    experiment: str
    seed: int
    recording: str
    lacks: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class PairedUp:
    """What became of all trials; the names are those that the runbooks give themselves."""

    a: str
    b: str
    pairs: tuple[Pair, ...]
    unpaired: tuple[Unpaired, ...]


@dataclass(frozen=True, slots=True)
class _Answers:
    """What one recording says of each runbook: a trial, or why not."""

    folder: Path
    trials: dict[str, Trial]
    why: str


async def pair_up(folders: Sequence[Path], a: str, b: str, progress: Callable[[str], None]) -> PairedUp:
    """Judge every recording by both runbooks (names or files) and pair what came out.

    Raises UsageError and ExperimentError.
    """
    names = (load(a).name, load(b).name)
    if names[0] == names[1]:
        raise UsageError(f"both runbooks are called {names[0]!r}", fix="give one of them another `name`")
    known = {names[0]: a, names[1]: b}
    trials: dict[Key, list[_Answers]] = defaultdict(list)
    for folder in folders:
        progress(f"judging {folder}")
        about = read_trial(folder)
        trials[str(about["experiment"]), int(about["seed"])].append(await _ask(folder, about, known))
    found = [_pair(key, answers, names) for key, answers in trials.items()]
    pairs = tuple(each for each in found if isinstance(each, Pair))
    return PairedUp(*names, pairs, tuple(each for each in found if isinstance(each, Unpaired)))


async def _ask(folder: Path, about: dict[str, object], known: dict[str, str]) -> _Answers:
    trials: dict[str, Trial] = {}
    why = ""
    for name, runbook in known.items():
        try:
            trials[name] = Trial.of(await rejudge(folder, runbook), name)
        except NotRecorded as error:
            if name == about["runbook"]:  # the runbook has changed since; its own trial stays its own
                trials[name] = Trial.of(read_verdict(folder), name)
            else:
                why = error.what
    return _Answers(folder, trials, why)


def _pair(key: Key, answers: Sequence[_Answers], names: tuple[str, str]) -> Pair | Unpaired:
    a, b = names
    for each in answers:
        if a in each.trials and b in each.trials:
            return Pair(*key, each.trials[a], each.trials[b], ONE_RECORDING)
    of = {name: next((e.trials[name] for e in answers if name in e.trials), None) for name in names}
    first, second = of[a], of[b]
    if first is not None and second is not None:
        return Pair(*key, first, second, ONE_SEED)
    lacks = tuple(name for name in names if of[name] is None)
    why = next((each.why for each in answers if each.why), "")
    return Unpaired(*key, str(answers[0].folder), lacks, why)
