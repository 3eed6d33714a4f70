"""Recordings of real trials are diagnosed and judged again, without a system: the same to the last digit."""

from dataclasses import replace
from pathlib import Path

import pytest

from chaoslat.model import Ruling
from chaoslat.recording import read_verdict
from chaoslat.replay import replay

TRIALS = Path(__file__).parents[2] / "fixtures" / "recordings" / "trials"
FOLDERS = sorted(path for path in TRIALS.iterdir() if path.is_dir())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
async def test_a_recording_gives_the_same_verdict_again(folder):
    recorded = read_verdict(folder)
    again = await replay(folder)
    assert replace(again, folder="") == replace(recorded, folder="")


def test_every_cause_and_none_has_a_recording():
    truths = {read_verdict(folder).truth for folder in FOLDERS}
    assert truths == {(), ("cpu-throttling",), ("pool-wait",), ("network-path",), ("node-memory-cgroups",)}
    assert all(read_verdict(folder).ruling is Ruling.CORRECT for folder in FOLDERS)


async def test_another_runbook_gets_no_invented_answers():
    found = await replay(TRIALS / "network-latency", runbook="classic")
    assert found.ruling is Ruling.INCONCLUSIVE
    assert "the recording holds no further answer" in found.reason
