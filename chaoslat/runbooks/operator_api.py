"""The operator's view as calls with JSON arguments and answers, for programs that are not ours.

The calls are the methods of `Operator`, by name and with the arguments in their order, and `latency`, which sums up
the last seconds. `undo_interventions` is not among them: the trial undoes.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from chaoslat.backends.base import Operator
from chaoslat.backends.operator_calls import METHODS
from chaoslat.errors import ChaoslatError, UsageError
from chaoslat.load.log import Requests
from chaoslat.load.summary import summarise

INTERVENTIONS: Mapping[str, str] = {
    "set_cpu_quota": "CPU quota of {0} set",
    "set_pool_size": "pool size set",
    "reclaim": "memory cgroup {0} emptied",
    "remove_volume": "volume {0} removed",
}
CALLS = tuple(name for name in METHODS if name != "undo_interventions")
LATENCY = "latency"
MOST_CALLS = 20_000
Row = dict[str, Any]


class OperatorApi:
    """Answers calls, and keeps what was asked and answered. Raises UsageError for a call that makes no sense."""

    def __init__(self, operator: Operator, slo_ms: float) -> None:
        self._operator, self._slo_ms = operator, slo_ms
        self.calls: list[Row] = []

    async def answer(self, name: str, args: Sequence[Any]) -> Any:
        """The answer in JSON types. Raises ChaoslatError as the operator does."""
        at_s = self._operator.now_s()
        try:
            answer = await self._ask(name, args)
        except ChaoslatError as error:
            self._keep(at_s, name, args, error=str(error))
            raise
        self._keep(at_s, name, args, answer=_kept(name, answer))
        return answer

    def _keep(self, at_s: float, name: str, args: Sequence[Any], **more: Any) -> None:
        self.calls.append({"at_s": at_s, "call": name, "args": list(args), **more})

    async def _ask(self, name: str, args: Sequence[Any]) -> Any:
        if len(self.calls) >= MOST_CALLS:
            raise UsageError(f"more than {MOST_CALLS} calls")
        if name == LATENCY:
            return await self._latency(*check_args(_LatencyArgs.latency, name, args))
        if name not in CALLS:
            raise UsageError(f"there is no call {name!r}", fix=f"known: {', '.join((*CALLS, LATENCY))}")
        method = getattr(Operator, name)
        found = getattr(self._operator, name)(*check_args(method, name, args))
        if inspect.isawaitable(found):
            found = await found
        return in_json(get_type_hints(method)["return"], found)

    async def _latency(self, last_s: float) -> Row:
        until_s = self._operator.now_s()
        seen = await self._operator.requests(until_s - last_s, until_s)
        summed: Row = clean(asdict(summarise(seen, last_s)) | {"over_slo": seen.over(self._slo_ms)})
        return summed


class _LatencyArgs:
    def latency(self, last_s: float) -> None:
        """Latency of the requests of the last `last_s` seconds: count, percentiles in ms, fraction over the SLO."""


def check_args(method: Any, name: str, args: Sequence[Any]) -> list[Any]:
    """The arguments in the types that the method takes. Raises UsageError."""
    hints = get_type_hints(method)
    names = [each for each in inspect.signature(method).parameters if each != "self"]
    if len(args) != len(names):
        raise UsageError(f"{name} takes ({', '.join(names)}) and got {len(args)} arguments")
    return [_checked(hints[key], value, f"{name}: {key}") for key, value in zip(names, args, strict=True)]


def _checked(kind: Any, value: Any, where: str) -> Any:
    try:
        return _adapter(kind).validate_python(value)
    except ValidationError as error:
        raise UsageError(f"{where}: {error.errors()[0]['msg']}, not {value!r}") from error


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def in_json(kind: Any, value: Any) -> Any:
    """An operator's answer in JSON types; requests as columns."""
    if isinstance(value, Requests):
        return clean({name: getattr(value, name).tolist() for name in Requests.__dataclass_fields__})
    return clean(_adapter(kind).dump_python(value, mode="json"))


def clean(value: Any) -> Any:
    """JSON knows no NaN: what is not known is null."""
    if isinstance(value, dict):
        return {key: clean(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _kept(name: str, answer: Any) -> Any:
    """Requests are in the latency log already."""
    return {"count": len(answer["due_s"])} if name == "requests" else answer


def describe() -> dict[str, str]:
    """Every call with its arguments and what it says."""
    found = {name: getattr(Operator, name) for name in CALLS} | {LATENCY: _LatencyArgs.latency}
    return {name: _signature(method) for name, method in found.items()}


def _signature(method: Any) -> str:
    names = ", ".join(each for each in inspect.signature(method).parameters if each != "self")
    words = " ".join((method.__doc__ or "").split())
    return f"({names}) {words}".strip()
