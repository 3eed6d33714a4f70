"""The plan of a run that can be resumed: which trials, with which seeds, of which files.

It is on disk (`plan.json`, beside the recordings) before the first trial. A run that was broken off goes on with the
trials that have no verdict; one that was invalid or wrong has one, and is not tried again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from chaoslat.errors import ChaoslatError, UsageError
from chaoslat.model import Verdict
from chaoslat.recording import TRIAL, VERDICT, read_verdict
from chaoslat.seeds import trial_seed

PLAN = "plan.json"
GUESS_S = 50.0  # a trial's time before any has been seen


@dataclass(frozen=True, slots=True)
class Plan:
    """`trials`: the experiments' names in order, a repeated one as often as it is repeated."""

    seed: int
    backend: str
    runbook: str | None
    trials: tuple[str, ...]
    digests: dict[str, str] = field(default_factory=dict)  # of each experiment's file

    def seeds(self) -> tuple[int, ...]:
        """The seed of each trial."""
        seen: Counter[str] = Counter()
        seeds = []
        for name in self.trials:
            seeds.append(trial_seed(self.seed, name, seen[name]))
            seen[name] += 1
        return tuple(seeds)


def digest(path: Path) -> str:
    """What a file's content is told apart by."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def recorded(out: Path) -> Plan | None:
    """The plan in that folder; None where there is none. Raises ChaoslatError when it is damaged."""
    path = out / PLAN
    if not path.exists():
        return None
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return Plan(**(data | {"trials": tuple(data["trials"])}))
    except (OSError, ValueError, TypeError, KeyError) as error:
        why = f"{type(error).__name__}: {error}"
        raise ChaoslatError(
            "The plan of the run is damaged", where=str(path), why=why, fix=_anew(out)
        ) from error


def settle(plan: Plan, out: Path) -> Plan:
    """Write the plan, or check that the one in the folder is the same. Raises UsageError where it differs."""
    found = recorded(out)
    if found is None:
        _write(plan, out)
        return plan
    for what, then, now in _differences(found, plan):
        raise UsageError(f"The run in {out} has other {what}", why=f"{then} then, {now} now", fix=_anew(out))
    return found


def finished(plan: Plan, out: Path) -> dict[int, Verdict]:
    """The verdicts that are there, by their trial's seed. Raises ExperimentError for a damaged one."""
    folders = sorted(path.parent for path in out.glob(f"*/{VERDICT}"))
    verdicts = [read_verdict(folder) for folder in folders]
    wanted = set(plan.seeds())
    return {verdict.seed: verdict for verdict in verdicts if verdict.seed in wanted}


def clear_broken_off(out: Path) -> int:
    """Remove the recordings of trials that have no verdict, and say how many there were."""
    broken = [path.parent for path in out.glob(f"*/{TRIAL}") if not (path.parent / VERDICT).exists()]
    for folder in broken:
        shutil.rmtree(folder, ignore_errors=True)
    return len(broken)


def left_s(verdicts: Sequence[Verdict], left: int) -> float:
    """How long so many trials may take: the median of those that were run, or a guess before the first."""
    times_s = [verdict.trial_s for verdict in verdicts if verdict.trial_s > 0]
    return left * (statistics.median(times_s) if times_s else GUESS_S)


def _differences(then: Plan, now: Plan) -> list[tuple[str, object, object]]:
    names = sorted(then.digests.keys() | now.digests.keys())
    changed = [name for name in names if then.digests.get(name) != now.digests.get(name)]
    pairs: list[tuple[str, object, object]] = [
        ("seed", then.seed, now.seed),
        ("backend", then.backend, now.backend),
        ("runbook", then.runbook, now.runbook),
        ("trials", f"{len(then.trials)} trials", f"{len(now.trials)} trials"),
    ]
    differing = [pair for pair in pairs if pair[1] != pair[2]]
    if changed and then.trials == now.trials:
        differing.append(("experiments", "another file", f"{', '.join(changed)} has changed"))
    elif then.trials != now.trials and not differing:
        differing.append(("trials", ", ".join(then.trials), ", ".join(now.trials)))
    return differing


def _anew(out: Path) -> str:
    return f"begin anew in another folder (--out), or remove {out}"


def _write(plan: Plan, out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / PLAN).write_text(json.dumps(asdict(plan), indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        why = error.strerror or str(error)
        raise ChaoslatError(
            "The plan of the run cannot be written", where=str(out / PLAN), why=why, fix="use --out"
        ) from error
