"""Reads a latency log: live while it grows, or finished, with the same answers. The format is in `record`."""

from __future__ import annotations

import json
import math
import zlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from chaoslat.errors import ChaoslatError
from chaoslat.load.percentiles import percentile
from chaoslat.load.record import DONE, MAGIC, PREAMBLE, RATE, RECORD, SENT, VERSION, LogHeader
from chaoslat.load.server_timing import UNKNOWN_COUNT, UNKNOWN_US

NS_PER_S = 1_000_000_000
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

RECORD_DTYPE = np.dtype(
    [
        ("kind", "u1"),
        ("check", "u1"),
        ("shape", "<u2"),
        ("status", "<u2"),
        ("statements", "<u2"),
        ("seq", "<u4"),
        ("lag_us", "<u4"),
        ("due_ns", "<i8"),
        ("latency_us", "<u4"),
        ("acquire_us", "<u4"),
        ("query_us", "<u4"),
        ("cpu_us", "<u4"),
    ]
)
assert RECORD_DTYPE.itemsize == RECORD.size


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests as parallel arrays, in the order of their due times (`due_s`: CLOCK_MONOTONIC).

    `latency_ms` counts from the due time; of a request that is not `done` it is the age so far. `status` is
    0 for no response (and while not done). The app's own times are nan where it did not say, `statements`
    then -1.
    """

    due_s: Floats
    latency_ms: Floats
    lag_ms: Floats
    done: Bools
    status: Ints
    shape: Ints
    acquire_ms: Floats
    query_ms: Floats
    cpu_ms: Floats
    statements: Ints

    def __len__(self) -> int:
        return len(self.due_s)

    def select(self, mask: Bools) -> Requests:
        """Those where the mask is true."""
        return Requests(**{field.name: getattr(self, field.name)[mask] for field in fields(self)})

    def percentile(self, q: float) -> float:
        """Percentile `q` (0..100) of the latency in ms (HdrHistogram); nan of nothing."""
        return percentile(self.latency_ms, q)

    def over(self, slo_ms: float) -> float:
        """The fraction that took longer than `slo_ms` (failures are counted apart); nan of nothing."""
        return float(np.mean(self.latency_ms > slo_ms)) if len(self) else float("nan")

    @property
    def failures(self) -> Bools:
        """Which ones ended without a response or with a status of 500 and above."""
        failed: Bools = self.done & ((self.status == 0) | (self.status >= 500))
        return failed

    @property
    def failed(self) -> int:
        """How many failed. They keep their latency."""
        return int(np.count_nonzero(self.failures))


class RateChange(NamedTuple):
    """From `at_s` (CLOCK_MONOTONIC) on the load is meant to be `rate_rps`."""

    at_s: float
    rate_rps: float


class LatencyLog:
    """A log on disk. Reading is incremental; a torn last record is left for the next time.

    Raises `ChaoslatError` when the file is missing, foreign or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header, self._offset = _read_header(path)
        self._rows = np.empty(1024, RECORD_DTYPE)  # row = seq; a done record replaces the sent one
        self._count = 0
        self._rates: list[RateChange] = []

    def between(self, since_s: float, until_s: float, now_s: float) -> Requests:
        """Requests due in [since, until), as known at `now_s` (all CLOCK_MONOTONIC seconds).

        What ended or was sent after `now_s` is not known yet, so that the finished file answers as the
        growing one did. Live callers pass a `now_s` a few ms in the past: the writer needs a moment.
        """
        self._tail()
        due_ns = self._rows["due_ns"][: self._count]
        first, end = np.searchsorted(due_ns, [_to_ns(since_s), _to_ns(until_s)])
        return _as_known(self._rows[first:end], _to_ns(now_s))

    @property
    def mean_gap_s(self) -> float:
        """Between the requests read so far; 0 of fewer than two."""
        due_ns = self._rows["due_ns"][: self._count]
        return float(due_ns[-1] - due_ns[0]) / 1e9 / (self._count - 1) if self._count > 1 else 0.0

    @property
    def last_due_s(self) -> float:
        """When the last request read so far was due; -inf before the first."""
        return float(self._rows["due_ns"][self._count - 1]) / 1e9 if self._count else -math.inf

    def rates(self) -> tuple[RateChange, ...]:
        """The intended rate: at the start, and each change so far."""
        self._tail()
        start = RateChange(self.header.started_ns / NS_PER_S, float(self.header.workload["rate_rps"]))
        return (start, *self._rates)

    def _tail(self) -> None:
        while (records := self._read_new()) is not None:
            self._take_sent(records[records["kind"] == SENT])
            self._take_done(records[records["kind"] == DONE])
            self._take_rates(records[records["kind"] == RATE])
            self._offset += records.nbytes

    def _read_new(self) -> npt.NDArray[np.void] | None:
        data = _read_from(self.path, self._offset)
        whole = len(data) - len(data) % RECORD.size
        if not whole:
            return None
        records = np.frombuffer(data[:whole], RECORD_DTYPE)
        self._refuse(_unsound(records), "a record's check does not match")
        return records

    def _take_sent(self, sent: npt.NDArray[np.void]) -> None:
        expected = np.arange(self._count, self._count + len(sent))
        self._refuse(sent["seq"] != expected, "a request is missing or out of order")
        before = self._rows["due_ns"][self._count - 1 : self._count]
        self._refuse(np.diff(np.concatenate([before, sent["due_ns"]])) < 0, "due times run backwards")
        self._reserve(self._count + len(sent))
        self._rows[self._count : self._count + len(sent)] = sent
        self._count += len(sent)

    def _take_done(self, done: npt.NDArray[np.void]) -> None:
        self._refuse(done["seq"] >= self._count, "a request ended that was never sent")
        self._rows[done["seq"]] = done

    def _take_rates(self, changes: npt.NDArray[np.void]) -> None:
        self._rates += [
            RateChange(float(change["due_ns"]) / NS_PER_S, float(change["latency_us"]) / 1000)
            for change in changes
        ]

    def _reserve(self, count: int) -> None:
        if count > len(self._rows):
            grown = np.empty(max(count, 2 * len(self._rows)), RECORD_DTYPE)
            grown[: self._count] = self._rows[: self._count]
            self._rows = grown

    def _refuse(self, bad: Bools, why: str) -> None:
        if bad.any():
            raise ChaoslatError(
                "the latency log is damaged",
                where=f"{self.path}, after byte {self._offset}",
                why=why,
                fix="record the trial again",
            )


def _as_known(rows: npt.NDArray[np.void], now_ns: int) -> Requests:
    due_ns = rows["due_ns"]
    rows = rows[due_ns + rows["lag_us"].astype(np.int64) * 1000 <= now_ns]
    due_ns = rows["due_ns"]
    latency_ns = rows["latency_us"].astype(np.int64) * 1000
    done: Bools = (rows["kind"] == DONE) & (due_ns + latency_ns <= now_ns)
    return Requests(
        due_s=due_ns / NS_PER_S,
        latency_ms=np.where(done, latency_ns, now_ns - due_ns) / 1e6,
        lag_ms=rows["lag_us"] / 1000.0,
        done=done,
        status=np.where(done, rows["status"], 0).astype(np.int64),
        shape=rows["shape"].astype(np.int64),
        acquire_ms=_known_ms(rows["acquire_us"], done),
        query_ms=_known_ms(rows["query_us"], done),
        cpu_ms=_known_ms(rows["cpu_us"], done),
        statements=np.where(
            done & (rows["statements"] != UNKNOWN_COUNT), rows["statements"].astype(np.int64), -1
        ),
    )


def _known_ms(values_us: npt.NDArray[np.uint32], done: Bools) -> Floats:
    return np.where(done & (values_us != UNKNOWN_US), values_us / 1000.0, np.nan)


def _unsound(records: npt.NDArray[np.void]) -> Bools:
    sums = records.view(np.uint8).reshape(len(records), RECORD.size).sum(axis=1, dtype=np.uint8)
    bad: Bools = (sums != 0) | (records["kind"] < SENT) | (records["kind"] > RATE)
    return bad


def _to_ns(seconds: float) -> int:
    return round(seconds * NS_PER_S)


def _read_from(path: Path, offset: int, size_bytes: int = -1) -> bytes:
    """At most `size_bytes` from `offset` on; all of it by default."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(size_bytes)
    except OSError as error:
        raise ChaoslatError(
            "the latency log cannot be read", where=str(path), why=error.strerror or ""
        ) from error


def _read_header(path: Path) -> tuple[LogHeader, int]:
    """The header, and where the records begin."""
    preamble = _read_from(path, 0, PREAMBLE.size)
    if len(preamble) < PREAMBLE.size or preamble[: len(MAGIC)] != MAGIC:
        raise _foreign(path, "it does not begin with the log's magic")
    _, version, record_bytes, header_bytes, crc = PREAMBLE.unpack(preamble)
    if (version, record_bytes) != (VERSION, RECORD.size):
        raise _foreign(path, f"version {version}, records of {record_bytes} bytes")
    body = _read_from(path, PREAMBLE.size, header_bytes)
    if len(body) != header_bytes or zlib.crc32(body) != crc:
        raise _foreign(path, "the header is damaged")
    return _parse_header(path, json.loads(body)), PREAMBLE.size + header_bytes


def _parse_header(path: Path, values: dict[str, Any]) -> LogHeader:
    try:
        return LogHeader(**values)
    except TypeError as error:
        raise _foreign(path, str(error)) from error


def _foreign(path: Path, why: str) -> ChaoslatError:
    return ChaoslatError(f"not a latency log of version {VERSION}", where=str(path), why=why)
