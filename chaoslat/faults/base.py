"""What a fault is: one condition that can be injected, read back and undone.

A fault is one file. It offers `FAULT`, an object with the members of `Fault`; `chaoslat/faults/__init__.py` lists
it in one tuple, and third parties offer theirs as the entry point `chaoslat.faults`. To write the next one, read
`pool_size.py`: a frozen pydantic model for its parameters (all optional: none given means "calibrate"), `inject`
that ends with reading the system back, and `undo` that may be called twice or without an injection.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from chaoslat.backends.base import Operator, Progress, Saboteur
from chaoslat.load.log import Requests
from chaoslat.model import Cause

SETTLE_S = 0.5  # after a change, until requests that began before it are mostly gone


class Params(BaseModel):
    """Base of a fault's parameters: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class Bench:
    """What a fault works with: the saboteur's tools and a view of the latency that it causes."""

    saboteur: Saboteur
    operator: Operator
    slo_ms: float
    rng: random.Random
    progress: Progress
    scale_load: Callable[[float], Awaitable[None]] | None = None  # the rate over that of the steady state

    async def measure(self, duration_s: float, settle_s: float = SETTLE_S) -> Requests:
        """The requests due in a window that starts `settle_s` from now and lasts `duration_s`."""
        await self.operator.sleep(settle_s)
        start_s = self.operator.now_s()
        await self.operator.sleep(duration_s)
        return await self.operator.requests(start_s, start_s + duration_s)


Level = dict[str, str]
"""What is in force now, read back from the system: parameter -> value with its unit."""


@runtime_checkable
class Fault(Protocol):
    """One condition; see the module's docstring."""

    @property
    def name(self) -> str: ...
    @property
    def cause(self) -> Cause: ...
    @property
    def doc(self) -> str: ...
    @property
    def params(self) -> type[Params]: ...
    @property
    def inject(self) -> Callable[[Bench, Any], Any]:
        """`async (bench, params) -> Level`. Raises ChaoslatError when the read-back differs from the wish."""
        ...

    @property
    def undo(self) -> Callable[[Saboteur], Any]:
        """`async (saboteur) -> None`; idempotent."""
        ...

    @property
    def again(self) -> Callable[[Saboteur], Any] | None:
        """`async (saboteur) -> Params`: what injects again the level that is in force now. None: it has no level."""
        ...


@dataclass(frozen=True, slots=True)
class FaultDef:
    """The ordinary way to be a `Fault`: two functions and a description."""

    name: str
    cause: Cause
    doc: str
    params: type[Params]
    inject: Callable[[Bench, Any], Any]
    undo: Callable[[Saboteur], Any]
    again: Callable[[Saboteur], Any] | None = None
