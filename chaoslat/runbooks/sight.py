"""What can be seen of a system, and what cannot: a probe that is not here reads as nothing, and is named with why.

Whoever reads a blank as a figure would be wrong with confidence, so that a step names what it needs (`StepDef.needs`),
and is inconclusive with the reason where that is missing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from chaoslat.errors import NotHere
from chaoslat.load.log import Requests
from chaoslat.model import (
    AppMetrics,
    CgroupCpu,
    DbProcess,
    MemoryCgroups,
    NodeCpu,
    NoopSample,
    StatementStats,
)

T = TypeVar("T")
_UNSAID = {
    "acquire": "how long a request waited for a connection",
    "query": "how long its statements took",
    "cpu": "how long its CPU section took",
}


# What stands where nothing was seen.
BLANK_CPU: tuple[CgroupCpu, ...] = ()
BLANK_STATEMENTS: tuple[StatementStats, ...] = ()
BLANK_APP = AppMetrics(0, 0.0, 0, 0.0, 0.0, 0.0, 0.0, 0)
BLANK_DB = DbProcess(0.0, 0.0, (), "", None, 0, 0, 0, 0)
BLANK_MEMORY = MemoryCgroups(0, 0)
BLANK_NODE = NodeCpu(0.0, 0.0, 0.0, 0)
BLANK_NOOP = NoopSample((), 0.0)


@dataclass(slots=True)
class Sight:
    """Asks, and remembers what is not here: call -> why. That is not asked for again."""

    not_here: dict[str, str] = field(default_factory=dict)

    async def ask(self, call: str, question: Callable[[], Awaitable[T]], blank: T) -> T:
        """The answer, or `blank` when there can be none. Raises what else the question raises."""
        if call in self.not_here:
            return blank
        try:
            return await question()
        except NotHere as error:
            self.not_here[call] = error.what
            return blank


def unsaid(seen: Requests) -> dict[str, str]:
    """`acquire`, `query`, `cpu`: parts of their time that none of the answered requests told (Server-Timing)."""
    if not seen.done.any():
        return {}
    return {
        part: f"the app does not say {what} (Server-Timing: {part})"
        for part, what in _UNSAID.items()
        if not np.isfinite(getattr(seen, f"{part}_ms")).any()
    }
