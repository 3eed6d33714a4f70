"""Round trips of a no-op statement from a prober beside the app, and the server's own time for it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from chaoslat.errors import SystemLost
from chaoslat.model import NoopSample, StatementStats
from chaoslat.probes.mysql import MysqlSession
from chaoslat.probes.statements import statements

GAP_MS = 20.0
DEADLINE_S = 30.0  # on top of what the gaps take: each statement may be slow
_DIGEST_TEXT = "DO ?"


async def noop(prober: Path, session: MysqlSession, count: int) -> NoopSample:
    """`count` no-op statements over one connection of the prober that listens at `prober`.

    It connects as the app does, through whatever lies on the app's path, so it is the one figure that sees a
    delay inside a user-space proxy: round trip less the server's own time. The latter is the difference of
    the statement's digest, and 0.0 where the server does not count it. By hand, in a container beside the
    app: `mysqlslap --query="DO 0" --number-of-queries=COUNT`. Raises `SystemLost`.
    """
    before = await asyncio.to_thread(_server_side, session)
    round_trip_ms = await _round_trips(prober, count)
    after = await asyncio.to_thread(_server_side, session)
    return NoopSample(round_trip_ms, server_mean_ms(before, after))


def server_mean_ms(before: StatementStats | None, after: StatementStats | None) -> float:
    """Mean server time of the no-op between two readings in ms; 0.0 where it was not counted."""
    if after is None:
        return 0.0
    count = after.count - (before.count if before else 0)
    wait_ms = after.wait_ms - (before.wait_ms if before else 0.0)
    return wait_ms / count if count > 0 and wait_ms >= 0 else 0.0


def _server_side(session: MysqlSession) -> StatementStats | None:
    return next((stats for stats in statements(session, None) if stats.digest_text == _DIGEST_TEXT), None)


async def _round_trips(prober: Path, count: int) -> tuple[float, ...]:
    request = json.dumps({"count": count, "gap_ms": GAP_MS}).encode() + b"\n"
    deadline_s = count * GAP_MS / 1000 + DEADLINE_S
    try:
        async with asyncio.timeout(deadline_s):
            line = await _exchange(prober, request)
        return parse(line)
    except (OSError, TimeoutError, ValueError, KeyError, TypeError) as error:
        why = str(error) or f"no answer within {deadline_s:.0f} s"
        raise SystemLost("The no-op prober gives no figures", where=str(prober), why=why) from error


async def _exchange(prober: Path, request: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(str(prober), limit=1 << 22)
    try:
        writer.write(request)
        await writer.drain()
        return await reader.readline()
    finally:
        writer.close()
        await writer.wait_closed()


def parse(line: bytes) -> tuple[float, ...]:
    """The round trips of the prober's reply, in ms. Raises ValueError with the prober's own error."""
    reply = json.loads(line)
    if "error" in reply:
        raise ValueError(reply["error"])
    return tuple(float(value) for value in reply["round_trip_ms"])
