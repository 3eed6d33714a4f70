"""The app's connection pool: how large it may be, how much of it is open and in use, who waits."""

from __future__ import annotations

import json
from dataclasses import fields

import aiohttp

from chaoslat.errors import SystemLost
from chaoslat.model import PoolState
from chaoslat.probes.http import ask


async def pool(session: aiohttp.ClientSession, admin_url: str) -> PoolState:
    """The pool at this instant. By hand: `curl ADMIN_URL/admin/pool`. Raises `SystemLost`."""
    url = f"{admin_url}/admin/pool"
    return parse(await ask(session, "GET", url), url)


def parse(body: str, where: str = "") -> PoolState:
    """The admin endpoint's JSON as a value. Raises `SystemLost` when it is something else."""
    try:
        state = json.loads(body)
        return PoolState(**{field.name: int(state[field.name]) for field in fields(PoolState)})
    except (ValueError, TypeError, KeyError) as error:
        why = f"{type(error).__name__}: {error} in {body[:80]!r}"
        raise SystemLost("The answer is not a pool's state", where=where, why=why) from error
