"""A recording that was cut off or edited is refused in words; it never gives another verdict."""

import json
import shutil
from pathlib import Path

import pytest

from chaoslat.errors import ChaoslatError, ExperimentError
from chaoslat.load.log import LatencyLog
from chaoslat.recording import LATENCIES, OPERATOR, TRIAL
from chaoslat.replay import replay

TRIALS = Path(__file__).parents[2] / "fixtures" / "recordings" / "trials"
NAMES = sorted(path.name for path in TRIALS.iterdir())


@pytest.fixture
def copy(tmp_path):
    def make(name):
        return Path(shutil.copytree(TRIALS / name, tmp_path / name))

    return make


def edit(folder, **values):
    about = json.loads((folder / TRIAL).read_text())
    (folder / TRIAL).write_text(json.dumps(about | values))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
async def test_a_cut_latency_log_is_refused(copy, name, share):
    folder = copy(name)
    whole = (folder / LATENCIES).read_bytes()
    (folder / LATENCIES).write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(ExperimentError, match="damaged"):
        await replay(folder)


def test_the_mean_gap_is_that_of_the_rate():
    """What counts as an end too early follows the load: at one request in 2 s a gap of 10 s is nothing."""
    log = LatencyLog(TRIALS / "none" / LATENCIES)
    assert log.mean_gap_s == 0.0  # nothing read yet
    log.between(0.0, 1e9, 1e9)
    assert log.mean_gap_s == pytest.approx(1 / 60, rel=0.1)


@pytest.mark.parametrize("slo_ms", [float("nan"), float("inf"), -1, 0, "30", None])
async def test_an_impossible_slo_is_refused(copy, slo_ms):
    folder = copy("pool-size")
    edit(folder, slo_ms=slo_ms)
    with pytest.raises(ExperimentError, match="no recording"):
        await replay(folder)


@pytest.mark.parametrize("text", ["{}", "[" * 100_000, "null", '{"seed": []}', '{"runbook": 3}'])
async def test_a_trial_of_another_shape_is_refused(copy, text):
    folder = copy("pool-size")
    (folder / TRIAL).write_text(text)
    with pytest.raises(ChaoslatError):
        await replay(folder)


async def test_an_answer_of_another_type_is_refused(copy):
    folder = copy("pool-size")
    lines = (folder / OPERATOR).read_text().splitlines()
    first = json.loads(lines[0])
    (folder / OPERATOR).write_text("\n".join([json.dumps(first | {"answer": "soon"}), *lines[1:]]) + "\n")
    with pytest.raises(ExperimentError, match="damaged"):
        await replay(folder)
