"""The latency log's format, version 1, and its writer (without numpy, for the generator's sake).

Little-endian throughout. A preamble of 20 bytes: magic `CHLATLOG`, version (u16), bytes per record (u16),
bytes of the header (u32), CRC-32 of the header (u32). The header: JSON (`LogHeader`). Then records of 40
bytes:

| bytes | field      | |
|-------|------------|-|
| 0     | kind       | 1 sent, 2 done, 3 the rate changed |
| 1     | check      | makes the sum of the record's bytes 0 modulo 256 |
| 2-3   | shape      | index into the workload's shapes |
| 4-5   | status     | HTTP status; 0: no response |
| 6-7   | statements | number of SQL statements; 65535 unknown |
| 8-11  | seq        | 0, 1, 2 ... in the order of the due times; of a rate change: the next seq |
| 12-15 | lag_us     | due time to the start of sending |
| 16-23 | due_ns     | CLOCK_MONOTONIC, absolute; of a rate change: when |
| 24-27 | latency_us | due time to the last byte; of a rate change: the new rate in 1/1000 requests/s |
| 28-31 | acquire_us | wait for a pooled connection, said by the app; 4294967295 unknown |
| 32-35 | query_us   | same, time of the statements |
| 36-39 | cpu_us     | same, time of the CPU section |

A request has one `sent` record, and one `done` record when it ended. Records are appended unbuffered as
things happen: whoever kills the writer loses nothing that had ended. Only the last record can be torn.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from chaoslat.errors import ChaoslatError
from chaoslat.load.server_timing import UNKNOWN, ServerTiming

MAGIC = b"CHLATLOG"
VERSION = 1
PREAMBLE = struct.Struct("<8sHHII")
RECORD = struct.Struct("<BBHHHIIqIIII")
SENT, DONE, RATE = 1, 2, 3
MAX_U32 = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class LogHeader:
    """Who wrote the log, when and how. `started_ns` is CLOCK_MONOTONIC, `started_unix_s` the wall clock."""

    started_ns: int
    started_unix_s: float
    seed: int
    workload: dict[str, Any]
    target: str
    timer: str
    engine: str
    scheduling: str
    pid: int

    def to_bytes(self) -> bytes:
        """Preamble and header."""
        body = json.dumps(asdict(self)).encode()
        return PREAMBLE.pack(MAGIC, VERSION, RECORD.size, len(body), zlib.crc32(body)) + body


class LogWriter:
    """Appends to a new log (never to one that exists). Raises `ChaoslatError` where it cannot."""

    def __init__(self, path: Path, header: LogHeader) -> None:
        self._path = path
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise self._failure(error) from error
        self._append(header.to_bytes())

    def sent(self, seq: int, shape: int, due_ns: int, lag_us: int) -> None:
        self._record(SENT, shape, 0, seq, lag_us, due_ns, 0, UNKNOWN)

    def done(
        self,
        seq: int,
        shape: int,
        status: int,
        due_ns: int,
        lag_us: int,
        latency_us: int,
        timing: ServerTiming = UNKNOWN,
    ) -> None:
        self._record(DONE, shape, status, seq, lag_us, due_ns, latency_us, timing)

    def rate(self, at_ns: int, rate_rps: float, next_seq: int) -> None:
        self._record(RATE, 0, 0, next_seq, 0, at_ns, round(rate_rps * 1000), UNKNOWN)

    def close(self) -> None:
        os.close(self._fd)

    def _record(
        self,
        kind: int,
        shape: int,
        status: int,
        seq: int,
        lag_us: int,
        due_ns: int,
        latency_us: int,
        timing: ServerTiming,
    ) -> None:
        record = bytearray(
            RECORD.pack(
                kind,
                0,
                shape,
                status,
                timing.statements,
                seq,
                min(lag_us, MAX_U32),
                due_ns,
                min(latency_us, MAX_U32),
                timing.acquire_us,
                timing.query_us,
                timing.cpu_us,
            )
        )
        record[1] = -sum(record) & 0xFF
        self._append(record)

    def _append(self, data: bytes | bytearray) -> None:
        try:
            written = os.write(self._fd, data)
        except OSError as error:
            raise self._failure(error) from error
        if written != len(data):
            raise ChaoslatError(
                "the latency log could not be written in full", where=str(self._path), why="disk full?"
            )

    def _failure(self, error: OSError) -> ChaoslatError:
        return ChaoslatError(
            "the latency log cannot be written", where=str(self._path), why=error.strerror or ""
        )
