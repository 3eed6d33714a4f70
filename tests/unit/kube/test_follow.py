"""A followed log: whole lines, stamped; what ends it."""

from __future__ import annotations

import pytest
import urllib3
from hypothesis import given
from hypothesis import strategies as st

from chaoslat.errors import SystemLost
from chaoslat.kube.follow import Follower, Line, split, stamped

FIRST, SECOND = b"2026-12-01T05:00:00.5Z one\n", b"2026-12-01T05:00:01.123456789Z two words\n"
LINES = (Line(1796101200.5, "one"), Line(1796101201.123456, "two words"))


class DoubleOfAResponse:
    """Gives its chunks; an error among them is raised."""

    def __init__(self, *chunks):
        self.chunks, self.closed = chunks, False

    def stream(self, amt):
        for chunk in self.chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk

    def close(self):
        self.closed = True


class DoubleOfTheApi:
    """A client whose one call opens a log."""

    namespace = "default"

    def __init__(self, response):
        self.response, self.core, self.asked = response, self, {}

    def read_namespaced_pod_log(self):
        raise AssertionError("goes through call")

    def call(self, act, *args, **named):
        self.asked = named
        return self.response


@given(st.lists(st.text(alphabet="ab é", max_size=5)), st.integers(1, 7))
def test_lines_do_not_depend_on_the_chunks(lines: list[str], size: int) -> None:
    data = "".join(f"{line}\n" for line in lines).encode()
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    assert list(split([*chunks, b"half"])) == lines


def test_stamps_are_rfc_3339_with_nanoseconds() -> None:
    assert tuple(stamped(line.decode().rstrip()) for line in (FIRST, SECOND)) == LINES


def test_an_empty_line_has_a_stamp_too() -> None:
    assert stamped("2026-12-01T05:00:00.5Z").text == ""


def test_a_line_without_a_stamp_is_refused() -> None:
    with pytest.raises(ValueError):
        stamped("unable to retrieve container logs")


def test_it_asks_for_what_is_new() -> None:
    api = DoubleOfTheApi(DoubleOfAResponse())
    Follower(api, "pod", "debug").close()
    assert (api.asked["follow"], api.asked["timestamps"], api.asked["tail_lines"]) == (True, True, 0)
    assert api.asked["container"] == "debug"


@pytest.mark.parametrize(
    ("ending", "why"),
    [
        ((), "its container ended"),
        ((b"no stamp\n",), "Invalid isoformat"),
        ((urllib3.exceptions.ProtocolError("cut"),), "cut"),
    ],
)
def test_a_log_that_breaks_off_is_lost(ending, why) -> None:
    response = DoubleOfAResponse(FIRST, *ending)
    follower = Follower(DoubleOfTheApi(response), "pod", "debug")
    follower._thread.join()
    with pytest.raises(SystemLost, match="A log broke off") as raised:
        follower.lines()
    assert why in raised.value.why
    assert "container debug of pod default/pod" in raised.value.where


def test_one_that_was_closed_is_not_lost() -> None:
    class Endless(DoubleOfAResponse):
        def stream(self, amt):
            while True:
                yield FIRST

    follower = Follower(DoubleOfTheApi(Endless()), "pod", "debug")
    follower.close()
    assert set(follower.lines()) == {LINES[0]}
