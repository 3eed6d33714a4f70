"""A recording answers as the recorded operator did, and says so when it cannot."""

import json

import pytest

from chaoslat.backends.base import Operator
from chaoslat.errors import ChaoslatError, ExperimentError, NotRecorded, SystemLost
from chaoslat.load.record import LogHeader, LogWriter
from chaoslat.model import CgroupCpu, PoolState
from chaoslat.recording import METHODS, OPERATOR, Recording, read_rows, read_trial, record, replay_operator
from tests.doubles import VirtualTime

SECOND_NS = 1_000_000_000


class Canned(VirtualTime):
    """Unit-test double: an operator with fixed answers."""

    async def app_cpu(self):
        return (CgroupCpu("/app", None, 100_000, 7, 1, 0.25, 1.5), CgroupCpu("/", 5, 100_000, 0, 0, 0.0, 0.0))

    async def pool(self):
        return PoolState(max=10, open=3, in_use=1, waiting=0)

    async def set_pool_size(self, size):
        return PoolState(max=size, open=3, in_use=1, waiting=0)

    async def memory_cgroups(self):
        raise SystemLost("the node is gone")

    async def set_cpu_quota(self, path, quota_us):
        return None


@pytest.fixture
def recording(tmp_path):
    made = Recording(tmp_path / "trial")
    header = LogHeader(95 * SECOND_NS, 0.0, 1, {"rate_rps": 60.0}, "t", "t", "t", "t", 1)
    writer = LogWriter(made.latencies, header)
    for seq in range(20):
        writer.sent(seq, 0, (95 * SECOND_NS) + seq * SECOND_NS // 4, 100)
    writer.close()
    return made


async def ask(operator):
    """A conversation; what it got, and the error at its end."""
    got = [
        operator.now_s(),
        await operator.app_cpu(),
        await operator.pool(),
        await operator.set_pool_size(30),
    ]
    await operator.set_cpu_quota("/app", None)
    await operator.sleep(1.5)
    seen = await operator.requests(95.0, 99.0)
    got += [operator.now_s(), seen.latency_ms.tolist(), seen.due_s.tolist(), await operator.pool()]
    with pytest.raises(SystemLost, match="the node is gone"):
        await operator.memory_cgroups()
    return got


async def test_the_replayed_operator_answers_as_the_recorded_one_did(recording):
    live = await ask(record(Canned(), recording))
    assert await ask(replay_operator(recording.folder)) == live
    assert len(live[5]) == 16


async def test_a_question_that_was_not_asked_is_not_answered(recording):
    operator = record(Canned(), recording)
    await operator.pool()
    replayed = replay_operator(recording.folder)
    await replayed.pool()
    with pytest.raises(NotRecorded, match="pool"):
        await replayed.pool()
    with pytest.raises(NotRecorded, match="set_pool_size"):
        await replayed.set_pool_size(99)


def test_every_method_of_an_operator_is_recorded():
    assert set(METHODS) == {name for name in vars(Operator) if not name.startswith("_")}


async def test_only_what_an_operator_has_can_be_asked(recording):
    with pytest.raises(AttributeError):
        _ = record(Canned(), recording).leak_cgroups


async def test_a_torn_last_row_is_dropped_and_a_damaged_one_named(recording):
    operator = record(Canned(), recording)
    await operator.pool()
    await operator.pool()
    path = recording.folder / OPERATOR
    whole = path.read_text()
    path.write_text(whole + '{"call": "po')
    assert len(read_rows(path)) == 2
    path.write_text("{broken\n" + whole)
    with pytest.raises(ExperimentError) as caught:
        read_rows(path)
    assert caught.value.where.endswith(":1")


@pytest.mark.parametrize("content", ["", "{", "[]", "null"])
def test_a_folder_without_a_whole_description_is_no_recording(tmp_path, content):
    (tmp_path / "trial.json").write_text(content)
    with pytest.raises(ExperimentError, match="no recording"):
        read_trial(tmp_path)


def test_a_folder_that_cannot_be_made_says_where_and_what_to_do(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ChaoslatError, match="cannot be written") as caught:
        Recording(tmp_path / "file" / "trial")
    assert "--out" in caught.value.fix


def test_rows_are_json_lines(recording):
    recording.event("steady", 1.5, p99_ms=7.0)
    rows = [json.loads(line) for line in (recording.folder / "events.jsonl").read_text().splitlines()]
    assert rows == [{"at_s": 1.5, "event": "steady", "p99_ms": 7.0}]
