"""Responses, cut anywhere."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoslat.load.http import MAX_HEAD_BYTES, BadResponse, Response, ResponseReader
from chaoslat.load.server_timing import UNKNOWN, ServerTiming

TIMING = b'Server-Timing: acquire;dur=0.021, query;dur=1.234;desc="n=3", cpu;dur=3.100\r\n'
KNOWN = ServerTiming(acquire_us=21, query_us=1234, cpu_us=3100, statements=3)

WHOLE = {
    "length": (
        b"HTTP/1.1 200 OK\r\n" + TIMING + b"Content-Length: 5\r\n\r\nhello",
        Response(200, True, KNOWN),
    ),
    "empty": (b"HTTP/1.1 503 \r\ncontent-length:0\r\n\r\n", Response(503, True, UNKNOWN)),
    "no reason": (b"HTTP/1.1 404\r\nContent-Length: 1\r\n\r\nx", Response(404, True, UNKNOWN)),
    "204": (b"HTTP/1.1 204 No Content\r\n\r\n", Response(204, True, UNKNOWN)),
    "interim": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        Response(200, True, UNKNOWN),
    ),
    "chunked": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" + TIMING + b"\r\n"
        b"5\r\nhello\r\n1A;name=value\r\nabcdefghijklmnopqrstuvwxyz\r\n2\r\n\r\n\r\n0\r\n\r\n",
        Response(200, True, KNOWN),
    ),
    "chunked with trailers": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\nx\r\n0\r\nDigest: 1\r\nMore: 2\r\n\r\n",
        Response(200, True, UNKNOWN),
    ),
    "close": (
        b"HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nok",
        Response(200, False, UNKNOWN),
    ),
    "old": (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", Response(200, False, UNKNOWN)),
    "old, kept": (
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok",
        Response(200, True, UNKNOWN),
    ),
    "two headers of a name": (
        b'HTTP/1.1 200 OK\r\nserver-timing: acquire;dur=0.021\r\nServer-Timing: query;dur=1.234;desc="n=3", '
        b"cpu;dur=3.100\r\nContent-Length: 0\r\n\r\n",
        Response(200, True, KNOWN),
    ),
}
CASES = pytest.mark.parametrize(("data", "expected"), WHOLE.values(), ids=WHOLE)


def feed(reader: ResponseReader, pieces: list[bytes]) -> list[Response]:
    answers = [reader.feed(piece) for piece in pieces]
    assert answers[:-1] == [None] * (len(pieces) - 1), "complete only with the last byte"
    return [answer for answer in answers if answer is not None]


@CASES
def test_whole_and_split_at_every_byte(data: bytes, expected: Response) -> None:
    assert feed(ResponseReader(), [data]) == [expected]
    for cut in range(1, len(data)):
        assert feed(ResponseReader(), [data[:cut], data[cut:]]) == [expected]


@CASES
def test_byte_by_byte_and_again_on_the_same_connection(data: bytes, expected: Response) -> None:
    reader = ResponseReader()
    for _ in range(2):
        assert reader.untouched
        assert feed(reader, [bytes([byte]) for byte in data]) == [expected]


@given(st.data())
def test_any_pieces(data: st.DataObject) -> None:
    whole, expected = data.draw(st.sampled_from(sorted(WHOLE.values(), key=str)))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(whole) - 1), max_size=8)))
    edges = [0, *cuts, len(whole)]
    pieces = [whole[begin:end] for begin, end in itertools.pairwise(edges)]
    assert feed(ResponseReader(), pieces) == [expected]


def test_a_body_until_the_connection_closes() -> None:
    reader = ResponseReader()
    assert reader.feed(b"HTTP/1.1 200 OK\r\n\r\nsome") is None
    assert reader.feed(b" more") is None
    assert reader.close() == Response(200, False, UNKNOWN)


@pytest.mark.parametrize("cut", [1, 20, 40, -1])
def test_a_connection_that_closes_too_early_gives_nothing(cut: int) -> None:
    reader = ResponseReader()
    assert reader.feed(WHOLE["length"][0][:cut]) is None
    assert not reader.untouched
    assert reader.close() is None


def test_bytes_after_the_response_end_the_connection() -> None:
    assert ResponseReader().feed(WHOLE["length"][0] + b"H") == Response(200, False, KNOWN)


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 5000,
        b"x" * (MAX_HEAD_BYTES + 1),
    ],
)
def test_refuses_what_is_not_a_response(data: bytes) -> None:
    with pytest.raises(BadResponse):
        ResponseReader().feed(data)


@given(st.binary())
def test_garbage_is_refused_or_waited_for(data: bytes) -> None:
    try:
        assert ResponseReader().feed(data) is None
    except BadResponse:
        assert b"\r\n\r\n" in data
