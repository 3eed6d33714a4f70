"""The `Server-Timing` header of the app: `acquire;dur=0.021, query;dur=1.234;desc="n=3", cpu;dur=3.100`.

Durations are milliseconds. `acquire` is the wait for a pooled connection, `query` the time of all
statements of the request, `n` their number, `cpu` the time of the CPU section.
"""

from __future__ import annotations

import re
from typing import NamedTuple

UNKNOWN_US = 0xFFFF_FFFF
UNKNOWN_COUNT = 0xFFFF

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_PARAMETER = re.compile(rf"\s*;\s*({_TOKEN})(?:\s*=\s*({_QUOTED}|{_TOKEN}))?")
_METRIC = re.compile(rf"\s*({_TOKEN})((?:{_PARAMETER.pattern})*)\s*(?:,|$)")
_MAX_CHARS = 1_024  # the search is quadratic on garbage
_STATEMENTS = re.compile(r"n=([0-9]{1,5})")


class ServerTiming(NamedTuple):
    """What the app said of one request, in us; `UNKNOWN_US` and `UNKNOWN_COUNT` where it did not."""

    acquire_us: int = UNKNOWN_US
    query_us: int = UNKNOWN_US
    cpu_us: int = UNKNOWN_US
    statements: int = UNKNOWN_COUNT


UNKNOWN = ServerTiming()


def parse_server_timing(value: str) -> ServerTiming:
    """Read the header's value. What cannot be read is unknown; never raises. The first of a name counts."""
    metrics = _metrics(value)
    query = metrics.get("query", {})
    return ServerTiming(
        acquire_us=_duration_us(metrics.get("acquire", {})),
        query_us=_duration_us(query),
        cpu_us=_duration_us(metrics.get("cpu", {})),
        statements=_statements(query),
    )


def _metrics(value: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for match in _METRIC.finditer(value[:_MAX_CHARS]):
        found.setdefault(match[1].lower(), _parameters(match[2]))
    return found


def _parameters(text: str) -> dict[str, str]:
    return {match[1].lower(): (match[2] or "").strip('"') for match in _PARAMETER.finditer(text)}


def _duration_us(parameters: dict[str, str]) -> int:
    try:
        microseconds = float(parameters.get("dur", "nan")) * 1000.0
    except ValueError:
        return UNKNOWN_US
    return round(microseconds) if 0.0 <= microseconds < UNKNOWN_US - 1 else UNKNOWN_US


def _statements(query: dict[str, str]) -> int:
    match = _STATEMENTS.search(query.get("desc", ""))
    return min(int(match[1]), UNKNOWN_COUNT - 1) if match else UNKNOWN_COUNT
