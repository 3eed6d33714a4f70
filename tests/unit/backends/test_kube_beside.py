"""What is asked beside the app and how its answers are read: the program there is the one that is sent."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pymysql
import pytest

from chaoslat.backends.pods import beside, beside_agent
from chaoslat.backends.pods.beside import Later
from chaoslat.errors import SystemLost
from chaoslat.probes.fresh_connect import min_rtt_ms

PROBER = """
class Prober:
    def __init__(self, host, port, user, password):
        self.told = (host, port, user, password)
    def round_trips_ms(self, count, gap_ms):
        if count < 0:
            raise OSError("gone")
        return [float(count), gap_ms]
"""


@pytest.fixture
def server():
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made.getsockname()[1]


def spoken(port, *questions):
    """The answers of the real program, which is started as it is in the container, with another prober."""
    login = {"host": "localhost", "port": port, "user": "me", "password": "secret"}
    lines = "".join(json.dumps(one) + "\n" for one in (login, *questions))
    source = Path(beside_agent.__file__).read_text()
    done = subprocess.run(
        [sys.executable, "-I", "-c", source, PROBER],
        input=lines,
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_it_greets_and_answers_line_by_line(server):
    ready, noop, fresh = spoken(server, {"noop": 3, "gap_ms": 20.0}, {"connect": True})
    assert ready == {"ready": True}
    assert noop == {"round_trip_ms": [3.0, 20.0]}
    assert fresh["connect_ms"] > 0
    assert min_rtt_ms(bytes.fromhex(fresh["tcp_info"])) > 0


def test_an_error_is_an_answer_and_the_next_question_is_answered(server):
    _, failed, answered = spoken(server, {"noop": -1, "gap_ms": 1.0}, {"noop": 1, "gap_ms": 1.0})
    assert failed["error"] == "OSError: gone"
    assert answered["round_trip_ms"] == [1.0, 1.0]


class DoubleOfBeside:
    """Gives one answer."""

    def __init__(self, answer):
        self.said = answer

    def answer(self, question):
        return self.said


class TestStatements:
    def test_rows_are_tuples(self):
        session = beside._Session(DoubleOfBeside({"rows": [["a", 1, 2.5]]}))
        assert session.rows("SELECT 1") == [("a", 1, 2.5)]

    def test_the_servers_own_refusal_is_told_as_by_any_session(self):
        said = {"error": "OperationalError: ...", "args": ["1054", "Unknown column"]}
        with pytest.raises(pymysql.OperationalError) as raised:
            beside._Session(DoubleOfBeside(said)).rows("SELECT 1")
        assert raised.value.args == (1054, "Unknown column")

    @pytest.mark.parametrize("args", [["2003", "no connection"], ["timed out"], []])
    def test_no_answer_is_a_loss(self, args):
        said = {"error": "OperationalError", "args": args}
        with pytest.raises(SystemLost, match="does not answer beside the app"):
            beside._Session(DoubleOfBeside(said)).rows("SELECT 1")


class TestLater:
    def test_it_is_made_once_when_asked_for_and_closed_once(self):
        made = []

        class Double:
            def close(self, stop):
                made.append(stop)
                raise SystemLost("the pod is gone")

        later = Later(lambda: made.append("made") or Double(), stop=True)
        assert made == []
        assert later.get() is later.get()
        later.close()
        later.close()
        assert made == ["made", True]
