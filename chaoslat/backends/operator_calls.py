"""The calls of an operator by name, and what is done beside them: outside, and once."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from chaoslat.backends.base import Operator

METHODS = tuple(
    name for name, member in inspect.getmembers(Operator, inspect.isfunction) if not name.startswith("_")
)
Outside = Callable[[Operator, Path | None], Awaitable[Any]]
"""Something that is done outside: gets the bare operator and the recording's folder, and returns JSON types."""


@runtime_checkable
class Witness(Protocol):
    """An operator that records what is done outside, or gives what was recorded."""

    async def outside(self, name: str, key: list[str], act: Outside) -> Any: ...


async def outside(operator: Operator, name: str, key: list[str], act: Outside) -> Any:
    """Do what cannot be done again without a system, such as running a program: once, and its result is recorded.

    `act` gets the bare operator (what it asks is in its result, not in the recording) and the recording's folder,
    None where nothing is recorded; it returns JSON types. A replay gives the recorded result of the same `name` and
    `key`. Raises NotRecorded in a replay that has none, and what `act` raises.
    """
    if isinstance(operator, Witness):
        return await operator.outside(name, key, act)
    return await act(operator, None)
