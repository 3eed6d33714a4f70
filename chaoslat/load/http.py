"""HTTP/1.1 responses from bytes as they come, without I/O (RFC 9112).

Only what a load generator needs: the status, whether the connection may be used again, `Server-Timing`, and
where the body ends. Bodies are counted and thrown away.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol

from chaoslat.load.server_timing import UNKNOWN, ServerTiming, parse_server_timing

MAX_HEAD_BYTES = 65_536
MAX_CHUNK_LINE_BYTES = 4_096
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [^\r\n]*)?")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?", re.DOTALL)


class BadResponse(Exception):
    """The bytes are not an HTTP/1.1 response."""


class Response(NamedTuple):
    """A whole response. `reusable`: the connection may carry another request."""

    status: int
    reusable: bool
    timing: ServerTiming


class _Head(NamedTuple):
    status: int
    reusable: bool
    chunked: bool
    length: int | None
    timing: ServerTiming


class _Body(Protocol):
    until_close: bool

    def take(self, buffer: bytearray) -> bool:
        """Remove what belongs to the body from the buffer's front; True when the body is complete."""
        ...


class ResponseReader:
    """Reads responses one after another. `feed` and `close` raise `BadResponse`."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head: _Head | None = None
        self._body: _Body | None = None

    @property
    def untouched(self) -> bool:
        """No byte of a response has come since the last one was complete."""
        return self._head is None and not self._buffer

    def feed(self, data: bytes) -> Response | None:
        """Take bytes; the response, once its last byte has come."""
        self._buffer += data
        while self._body is None:
            if not self._read_head():
                return None
        return self._complete() if self._body.take(self._buffer) else None

    def close(self) -> Response | None:
        """The peer closed: completes a response whose body runs until then, else None."""
        return self._complete() if self._body is not None and self._body.until_close else None

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0 and len(self._buffer) <= MAX_HEAD_BYTES:
            return False
        if not 0 <= end <= MAX_HEAD_BYTES:
            raise BadResponse("the head is longer than 64 KiB")
        head = _parse_head(bytes(self._buffer[:end]))
        del self._buffer[: end + 4]
        if head.status >= 200:  # 1xx announces another head
            self._head, self._body = head, _body_of(head)
        return True

    def _complete(self) -> Response:
        assert self._head is not None
        assert self._body is not None
        reusable = self._head.reusable and not self._body.until_close and not self._buffer
        response = Response(self._head.status, reusable, self._head.timing)
        self._head = self._body = None
        return response


def _parse_head(head: bytes) -> _Head:
    status_line, *lines = head.split(b"\r\n")
    match = _STATUS_LINE.fullmatch(status_line)
    if match is None:
        raise BadResponse(f"not a status line: {status_line[:80]!r}")
    headers = _headers(lines)
    return _Head(
        status=int(match[2]),
        reusable=_keeps_alive(headers.get(b"connection", b""), old=match[1] == b"0"),
        chunked=b"chunked" in headers.get(b"transfer-encoding", b"").lower(),
        length=_length(headers),
        timing=_timing(headers),
    )


def _headers(lines: list[bytes]) -> dict[bytes, bytes]:
    headers: dict[bytes, bytes] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon:
            raise BadResponse(f"not a header: {line[:80]!r}")
        key = name.lower()
        headers[key] = headers[key] + b", " + value.strip() if key in headers else value.strip()
    return headers


def _keeps_alive(connection: bytes, *, old: bool) -> bool:
    options = connection.lower()
    return b"keep-alive" in options if old else b"close" not in options


def _length(headers: dict[bytes, bytes]) -> int | None:
    text = headers.get(b"content-length")
    if text is None:
        return None
    if not text.isdigit() or len(text) > 15:
        raise BadResponse(f"not a content length: {text[:80]!r}")
    return int(text)


def _timing(headers: dict[bytes, bytes]) -> ServerTiming:
    text = headers.get(b"server-timing")
    return parse_server_timing(text.decode("latin-1")) if text else UNKNOWN


def _body_of(head: _Head) -> _Body:
    if head.status in (204, 304):
        return _LengthBody(0)
    if head.chunked:
        return _ChunkedBody()
    return _CloseBody() if head.length is None else _LengthBody(head.length)


class _LengthBody:
    until_close = False

    def __init__(self, length: int) -> None:
        self._left = length

    def take(self, buffer: bytearray) -> bool:
        taken = min(self._left, len(buffer))
        del buffer[:taken]
        self._left -= taken
        return self._left == 0


class _CloseBody:
    until_close = True

    def take(self, buffer: bytearray) -> bool:
        buffer.clear()
        return False


class _ChunkedBody:
    """Chunks, each a line with its size, the data and an empty line; then trailers up to an empty line."""

    until_close = False

    def __init__(self) -> None:
        self._data = _LengthBody(0)
        self._in_trailers = False

    def take(self, buffer: bytearray) -> bool:
        while self._data.take(buffer):
            line = _take_line(buffer)
            if line is None:
                return False
            if not self._in_trailers:
                self._read_size(line)
            elif not line:
                return True
        return False

    def _read_size(self, line: bytes) -> None:
        match = _CHUNK_SIZE.fullmatch(line)
        if match is None:
            raise BadResponse(f"not a chunk size: {line[:80]!r}")
        size = int(match[1], 16)
        self._in_trailers = size == 0
        self._data = _LengthBody(size + 2 if size else 0)  # the data's own line end comes with it


def _take_line(buffer: bytearray) -> bytes | None:
    end = buffer.find(b"\r\n")
    if end < 0 and len(buffer) > MAX_CHUNK_LINE_BYTES:
        raise BadResponse("a chunk's line is too long")
    if end < 0:
        return None
    line = bytes(buffer[:end])
    del buffer[: end + 2]
    return line
