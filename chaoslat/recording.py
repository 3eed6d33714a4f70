"""A recording: all that a trial measured, in one folder, enough to diagnose and judge it again without a system.

    trial.json       what was tried: experiment, SLO, seed, backend, runbook, expected causes
    events.jsonl     what the trial and the runbook did, in order
    latencies.bin    every request (format: chaoslat.load.record)
    operator.jsonl   every call that the runbook made, with its answer
    findings.jsonl   one finding a step
    verdict.json     the end

Everything is written as it happens, so that a killed trial leaves what it saw.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from chaoslat.backends.base import Operator
from chaoslat.backends.operator_calls import METHODS, Outside
from chaoslat.errors import ChaoslatError, ExperimentError, NotHere, NotRecorded, SystemLost
from chaoslat.load.log import LatencyLog, Requests
from chaoslat.model import Diagnosis, Finding, Verdict

SETTLE_S = 0.03  # the load generator's records of the last moments may still be on their way
TRIAL, EVENTS, LATENCIES = "trial.json", "events.jsonl", "latencies.bin"
OPERATOR, FINDINGS, VERDICT = "operator.jsonl", "findings.jsonl", "verdict.json"


class Recording:
    """The folder of one trial, being written. Raises ChaoslatError when it cannot be written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _cannot_write(folder, error) from error

    @property
    def latencies(self) -> Path:
        return self.folder / LATENCIES

    def describe(self, **about: Any) -> None:
        self._write(TRIAL, json.dumps(about, indent=2, sort_keys=True) + "\n")

    def event(self, kind: str, at_s: float, **data: Any) -> None:
        self.append(EVENTS, {"at_s": at_s, "event": kind, **data})

    def findings(self, diagnosis: Diagnosis) -> None:
        for finding in diagnosis.findings:
            self.append(FINDINGS, to_json(Finding, finding))

    def verdict(self, verdict: Verdict) -> None:
        verdict = replace(verdict, folder="")  # a recording may move; whoever reads it knows where it is
        self._write(VERDICT, json.dumps(to_json(Verdict, verdict), indent=2, sort_keys=True) + "\n")

    def append(self, name: str, row: dict[str, Any]) -> None:
        try:
            with (self.folder / name).open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        except OSError as error:
            raise _cannot_write(self.folder / name, error) from error

    def _write(self, name: str, text: str) -> None:
        try:
            (self.folder / name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise _cannot_write(self.folder / name, error) from error


def _cannot_write(path: Path, error: OSError) -> ChaoslatError:
    return ChaoslatError(
        "the recording cannot be written",
        where=str(path),
        why=error.strerror or str(error),
        fix="free some space, or choose another folder with --out",
    )


def read_trial(folder: Path) -> dict[str, Any]:
    """What was tried. Raises ExperimentError when the folder holds no whole recording."""
    try:
        about = json.loads((folder / TRIAL).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ExperimentError("no recording of a trial", where=str(folder / TRIAL), why=str(error)) from error
    try:
        _About.model_validate(about)
    except ValidationError as error:
        first = error.errors()[0]
        why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise ExperimentError("no recording of a trial", where=str(folder / TRIAL), why=why) from error
    return cast(dict[str, Any], about)


class _About(BaseModel):
    """What a recording has to say of its trial; more is welcome."""

    model_config = ConfigDict(extra="allow", strict=True)

    experiment: str
    runbook: str
    seed: int
    slo_ms: float = Field(gt=0, le=1e6, allow_inf_nan=False)
    expect: list[str] = []
    faults: list[dict[str, Any]] = []
    versions: dict[str, str] = {}
    workload: dict[str, Any] = {}


def read_verdict(folder: Path) -> Verdict:
    """The recorded verdict. Raises ExperimentError."""
    try:
        verdict = cast(Verdict, adapter(Verdict).validate_json((folder / VERDICT).read_bytes()))
    except (OSError, ValidationError) as error:
        raise ExperimentError(
            "no verdict is recorded", where=str(folder / VERDICT), why=str(error)
        ) from error
    return replace(verdict, folder=str(folder))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSON Lines file; a torn last line is dropped. Raises ExperimentError."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ExperimentError("the recording cannot be read", where=str(path), why=str(error)) from error
    rows = [_row(path, number, line, last=number == len(lines)) for number, line in enumerate(lines, start=1)]
    return [row for row in rows if row is not None]


def _row(path: Path, number: int, line: str, *, last: bool) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        if last:
            return None
        raise ExperimentError("the recording is damaged", where=f"{path}:{number}", why=str(error)) from error
    if not isinstance(row, dict):
        raise ExperimentError("the recording is damaged", where=f"{path}:{number}", why="not a JSON object")
    return row


# --- values <-> JSON --------------------------------------------


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def to_json(kind: Any, value: Any) -> Any:
    return adapter(kind).dump_python(value, mode="json")


@cache
def _answer_kind(method: str) -> Any:
    return get_type_hints(getattr(Operator, method))["return"]


# --- an operator that is recorded, and one that is replayed ---

OUTSIDE = "outside"
LONGEST_GAPS, LONGEST_GAP_S = 30.0, 3.0
"""Between two requests of a load that runs: 30 mean gaps, which Poisson arrivals exceed once in 10^13, and at least
3 s, for the rate may have been changed."""


class _Recorder:
    """Passes every call on and writes it down with its answer. Use `record`, which gives it its type."""

    def __init__(self, operator: Operator, recording: Recording) -> None:
        self._operator, self._recording = operator, recording
        self._log: LatencyLog | None = None  # there is none before the load runs

    def now_s(self) -> float:
        now_s = self._operator.now_s()
        self._keep("now_s", (), now_s)
        return now_s

    async def requests(self, since_s: float, until_s: float) -> Requests:
        """Not written down again: the latency log holds them; only the instant of the question is."""
        as_of_s = self._operator.now_s() - SETTLE_S
        self._keep("requests", (since_s, until_s), as_of_s)
        self._log = self._log or LatencyLog(self._recording.latencies)
        return self._log.between(since_s, until_s, as_of_s)

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        if method not in METHODS:
            raise AttributeError(method)

        async def call(*args: Any) -> Any:
            try:
                answer = await getattr(self._operator, method)(*args)
            except NotHere as error:
                self._keep(method, args, None, not_here=error.what)
                raise
            except ChaoslatError as error:
                self._keep(method, args, None, error=str(error))
                raise
            self._keep(method, args, to_json(_answer_kind(method), answer))
            return answer

        return call

    async def outside(self, name: str, key: list[str], act: Outside) -> Any:
        try:
            answer = await act(self._operator, self._recording.folder)
        except ChaoslatError as error:
            self._keep(OUTSIDE, (name, *key), None, error=str(error))
            raise
        self._keep(OUTSIDE, (name, *key), answer)
        return answer

    def _keep(self, method: str, args: tuple[Any, ...], answer: Any, **more: Any) -> None:
        self._recording.append(OPERATOR, {"call": method, "args": list(args), "answer": answer, **more})


def record(operator: Operator, recording: Recording) -> Operator:
    """The same operator, with every call written to the recording."""
    return cast(Operator, _Recorder(operator, recording))


class _Replayer:
    """Answers as the recorded operator did: each call with its arguments, in the recorded order."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._log = LatencyLog(folder / LATENCIES)
        self._answers: dict[str, deque[dict[str, Any]]] = defaultdict(deque)
        for row in read_rows(folder / OPERATOR):
            self._answers[_key(row.get("call", ""), row.get("args", []))].append(row)

    def now_s(self) -> float:
        return float(self._valid("now_s", self._next("now_s", ())))

    def _valid(self, method: str, answer: Any) -> Any:
        try:
            return adapter(_answer_kind(method)).validate_python(answer)
        except ValidationError as error:
            why = f"{method}: {error.errors()[0]['msg']}"
            raise ExperimentError(
                "the recording is damaged", where=str(self._folder / OPERATOR), why=why
            ) from error

    async def requests(self, since_s: float, until_s: float) -> Requests:
        as_of_s = self._next("requests", (since_s, until_s))
        seen = self._log.between(since_s, until_s, as_of_s)
        self._refuse_a_cut_log(min(until_s, float(as_of_s)))
        return seen

    def _refuse_a_cut_log(self, until_s: float) -> None:
        """The load ran until the trial's end, so its log reaches every instant that was asked for."""
        longest_s = max(LONGEST_GAPS * self._log.mean_gap_s, LONGEST_GAP_S)
        if self._log.last_due_s < until_s - longest_s:
            raise ExperimentError(
                "the recording is damaged",
                where=str(self._folder / LATENCIES),
                why=f"the latency log ends {until_s - self._log.last_due_s:.1f} s before the last question about it",
            )

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        if method not in METHODS:
            raise AttributeError(method)

        async def call(*args: Any) -> Any:
            await asyncio.sleep(0)
            return self._valid(method, self._next(method, args))

        return call

    async def outside(self, name: str, key: list[str], _act: Outside) -> Any:
        await asyncio.sleep(0)
        return self._next(OUTSIDE, (name, *key))

    def _next(self, method: str, args: tuple[Any, ...]) -> Any:
        waiting = self._answers.get(_key(method, args))
        if not waiting:
            raise NotRecorded(
                f"the recording holds no further answer to {method}{args}",
                where=str(self._folder / OPERATOR),
                why="this runbook asks other questions, or in another order, than the one that was recorded",
                fix="record a trial with this runbook: chaoslat run EXPERIMENT --runbook NAME",
            )
        row = waiting.popleft()
        if "not_here" in row:
            raise NotHere(str(row["not_here"]))
        if "error" in row:
            raise SystemLost(str(row["error"]))
        return row["answer"]


def _key(method: str, args: Any) -> str:
    return method + json.dumps(list(args))


def replay_operator(folder: Path) -> Operator:
    """The operator of a recording. Raises ExperimentError or ChaoslatError for a damaged one."""
    return cast(Operator, _Replayer(folder))
