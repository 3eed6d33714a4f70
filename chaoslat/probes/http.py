"""How probes ask the app over HTTP: one request, one deadline, one kind of error."""

from __future__ import annotations

import aiohttp

from chaoslat.errors import SystemLost

DEADLINE_S = 10.0  # a throttled app answers late, and an engineer would wait for it


async def ask(session: aiohttp.ClientSession, method: str, url: str, json: object = None) -> str:
    """The body of the answer. Raises `SystemLost` when none comes within `DEADLINE_S`, or not with 200."""
    try:
        timeout = aiohttp.ClientTimeout(total=DEADLINE_S)
        async with session.request(method, url, json=json, timeout=timeout) as answer:
            body = await answer.text()
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        why = str(error) or f"no answer within {DEADLINE_S:.0f} s"
        raise SystemLost("The app does not answer", where=url, why=why) from error
    if answer.status != 200:
        raise SystemLost(f"The app answers with status {answer.status}", where=url, why=body[:200])
    return body
