"""Diagnose and judge a recorded trial again, without a system and without privileges.

The same runbook asks the recorded operator the same questions and must come to the same diagnosis; another runbook
gets answers as far as the recording holds them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from chaoslat.errors import NotRecorded
from chaoslat.model import Diagnosis, Ruling, Verdict
from chaoslat.recording import read_trial, read_verdict, replay_operator
from chaoslat.runbooks import diagnose, load
from chaoslat.verdict import judge


def _quiet(_line: str) -> None:
    return None


async def replay(folder: Path, runbook: str | None = None) -> Verdict:
    """The verdict that the recording in `folder` gives today.

    A trial that was invalid stays invalid. Raises ExperimentError for a damaged recording.
    """
    try:
        return await rejudge(folder, runbook)
    except NotRecorded as error:
        name = runbook or str(read_trial(folder)["runbook"])
        return _judged(folder, read_verdict(folder), Diagnosis(name, (), (), missing=(error.what,)))


async def rejudge(folder: Path, runbook: str | None = None) -> Verdict:
    """The same, but raises NotRecorded where the runbook asks for more than the recording holds."""
    about, recorded = read_trial(folder), read_verdict(folder)
    if recorded.ruling is Ruling.INVALID:
        return replace(recorded, folder=str(folder))
    return _judged(folder, recorded, await _diagnose_again(folder, about, runbook or str(about["runbook"])))


def _judged(folder: Path, recorded: Verdict, diagnosis: Diagnosis) -> Verdict:
    ruling, reason = judge(recorded.truth, diagnosis)
    return replace(
        recorded,
        ruling=ruling,
        reason=reason,
        diagnosis=diagnosis,
        seconds_to_diagnosis_s=diagnosis.took_s,
        folder=str(folder),
    )


async def _diagnose_again(folder: Path, about: dict[str, Any], name: str) -> Diagnosis:
    operator = replay_operator(folder)
    return await diagnose(
        load(name),
        operator,
        slo_ms=float(about["slo_ms"]),
        seed=int(about["seed"]),
        progress=_quiet,
    )
