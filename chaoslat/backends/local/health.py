"""What is wrong with a local system, in sentences."""

from __future__ import annotations

import asyncio

from chaoslat.backends.local import proxy_part
from chaoslat.backends.local.proxy import Toxiproxy
from chaoslat.backends.local.saboteur import LocalSaboteur
from chaoslat.backends.local.state import State
from chaoslat.errors import ChaoslatError


async def check(state: State, saboteur: LocalSaboteur) -> tuple[str, ...]:
    """Dead processes; else what does not answer, and every setting that is not as it was at rest."""
    if dead := lost(state):
        return dead
    try:
        wrong = (await state.app.unhealthy(), await _proxy_down(state), *await _not_at_rest(state, saboteur))
    except ChaoslatError as error:
        return (str(error),)
    return tuple(filter(None, wrong))


def lost(state: State) -> tuple[str, ...]:
    """The parts whose process has died."""
    watched = (*state.parts, *([state.load] if state.load else []))
    return tuple(str(part.died()) for part in watched if not part.alive)


async def _proxy_down(state: State) -> str:
    toxiproxy = Toxiproxy(state.ports["toxiproxy"])
    return (
        ""
        if await asyncio.to_thread(toxiproxy.enabled, proxy_part.NAME)
        else "The proxy to the database is down"
    )


async def _not_at_rest(state: State, saboteur: LocalSaboteur) -> tuple[str, ...]:
    now, rest = await saboteur.snapshot(), state.at_rest
    changed = sorted(key for key in now | rest if now.get(key) != rest.get(key))
    return tuple(f"{key} is {now.get(key)}; at rest it was {rest.get(key)}" for key in changed)
