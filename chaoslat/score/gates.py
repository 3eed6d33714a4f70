"""A gate for CI: what the figures must reach, and the sentence that says what was missed, and by how much.

In `pyproject.toml`, as a table or as the same text that the command line takes:

    [tool.chaoslat.gate]
    recall = { each = 0.9, pool-wait = 1.0 }    # or recall = 0.9: each cause that was injected
    false-alarms = 0.05

    [tool.chaoslat]
    gate = "recall=0.9, recall.pool-wait=1, false-alarms=5%"

A demand that no trial could test is not met: what was not measured is never taken for good.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaoslat.errors import UsageError
from chaoslat.proportion import Proportion
from chaoslat.score.figures import Score

EACH = "each"
OFF = "none"
PER_CAUSE = ("recall", "precision")
PER_GROUP = "correct"  # of all trials, or `correct.decoys`: of the experiments in one folder
AT_LEAST = (*PER_CAUSE, "correct", "pairs")
AT_MOST = ("false-alarms", "inconclusive", "invalid")
MEASURES = (*AT_LEAST, *AT_MOST)
_EXAMPLE = "for example: recall=0.9, recall.pool-wait=1, false-alarms=5%"
_UNTESTED = {
    "recall": "no valid trial had this cause",
    "precision": "no valid trial was diagnosed with this cause",
    "false-alarms": "no valid trial was without a fault",
    "pairs": "no valid trial had several causes",
}


@dataclass(frozen=True, slots=True)
class Demand:
    """One bound on one figure. `part` is a cause or `each` (recall, precision), a group (correct), or empty."""

    measure: str
    part: str
    bound: float

    @property
    def is_minimum(self) -> bool:
        return self.measure in AT_LEAST


Gate = tuple[Demand, ...]


@dataclass(frozen=True, slots=True)
class Ruled:
    """A demand applied: whether it was met, in a sentence."""

    held: bool
    sentence: str


# --- reading a gate ----------------------------------------------------------------------------------------


def parse_gate(text: str, where: str = "--gate") -> Gate:
    """`recall=0.9, recall.pool-wait=1, false-alarms=5%`; `none` and nothing are no gate. Raises UsageError."""
    if text.strip().lower() in ("", OFF):
        return ()
    return tuple(_demand(part, where) for part in text.split(",") if part.strip())


def _demand(part: str, where: str) -> Demand:
    name, equals, value = part.strip().partition("=")
    measure, _, part_name = name.strip().partition(".")
    if not equals:
        raise _wrong(f"{part.strip()!r} is not NAME=FRACTION", where)
    return _checked(measure, part_name, _number(value, name.strip(), where), where)


def _checked(measure: str, part: str, bound: float, where: str) -> Demand:
    measure = measure.replace("_", "-")
    if measure not in MEASURES:
        raise _wrong(f"the gate knows no {measure!r}; known: {', '.join(MEASURES)}", where)
    if part and measure not in (*PER_CAUSE, PER_GROUP):
        raise _wrong(f"{measure} has no parts; {', '.join((*PER_CAUSE, PER_GROUP))} have", where)
    return Demand(measure, part or (EACH if measure in PER_CAUSE else ""), bound)


def _number(value: object, name: str, where: str) -> float:
    """A fraction, or a percentage with its sign."""
    text = str(value).strip()
    try:
        bound = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        bound = float("nan")
    if isinstance(value, bool) or not 0 <= bound <= 1:
        raise _wrong(f"{name}: {text!r} is not a fraction from 0 to 1 (or a percentage)", where)
    return bound


def gate_of_project(folder: Path) -> Gate:
    """The gate in `pyproject.toml` of this folder, or of the nearest one above. Raises UsageError."""
    for each in (folder, *folder.resolve().parents):
        if (each / "pyproject.toml").is_file():
            return read_project(each / "pyproject.toml")
    return ()


def read_project(path: Path) -> Gate:
    """The gate in this file; none where it says nothing. Raises UsageError."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError("the project file cannot be read", where=str(path), why=str(error)) from error
    return _of_value(_dig(data, "tool", "chaoslat", "gate"), f"{path}, [tool.chaoslat] gate")


def _dig(data: Any, *keys: str) -> Any:
    for key in keys:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


def _of_value(value: Any, where: str) -> Gate:
    if value is None:
        return ()
    if isinstance(value, str):
        return parse_gate(value, where)
    if not isinstance(value, Mapping):
        raise _wrong(f"a gate is a table or a text, not {value!r}", where)
    return tuple(demand for name, bound in value.items() for demand in _of_key(str(name), bound, where))


def _of_key(measure: str, bound: Any, where: str) -> Iterator[Demand]:
    """A key of the table: a fraction, or one a part."""
    if not isinstance(bound, Mapping):
        yield _checked(measure, "", _number(bound, measure, where), where)
        return
    for cause, own in bound.items():
        name = f"{measure}.{cause}"
        yield _checked(measure, str(cause), _number(own, name, where), where)


def _wrong(what: str, where: str) -> UsageError:
    return UsageError(f"the gate makes no sense: {what}", where=where, fix=_EXAMPLE)


# --- applying it -------------------------------------------------------------------------------------------


def check(gate: Gate, scores: Sequence[Score]) -> tuple[Ruled, ...]:
    """Every demand on every runbook, each with its sentence. Without any trial every demand is missed."""
    if not scores:
        return tuple(Ruled(False, f"{_name(d)}: not met, no trial was scored") for d in gate)
    several = len(scores) > 1
    return tuple(
        Ruled(ruled.held, f"{score.runbook}: {ruled.sentence}" if several else ruled.sentence)
        for score in scores
        for demand in gate
        for ruled in _apply(demand, gate, score)
    )


def _apply(demand: Demand, gate: Gate, score: Score) -> Iterator[Ruled]:
    for part in _parts(demand, gate, score):
        yield _rule(Demand(demand.measure, part, demand.bound), _figure(demand.measure, part, score))


def _parts(demand: Demand, gate: Gate, score: Score) -> tuple[str, ...]:
    """`each` is every cause of the trials that has no demand of its own; at least one there must be."""
    if demand.part != EACH:
        return (demand.part,)
    own = {each.part for each in gate if each.measure == demand.measure}
    named = tuple(c.cause for c in score.causes if c.cause not in own and _counts(demand.measure, c))
    return named or (() if own - {EACH} else (EACH,))


def _counts(measure: str, cause: Any) -> bool:
    """A cause that was never true says nothing of recall, and one that was never named nothing of precision."""
    return bool(getattr(cause, measure).known) or (measure == "recall" and not cause.precision.known)


def _figure(measure: str, part: str, score: Score) -> Proportion | None:
    if part:
        owner = score.group(part) if measure == PER_GROUP else score.cause(part)
        return getattr(owner, measure) if owner else None
    figure: Proportion = getattr(score, measure.replace("-", "_"))
    return figure


def _rule(demand: Demand, figure: Proportion | None) -> Ruled:
    name, wanted = (
        _name(demand),
        f"{'at least' if demand.is_minimum else 'at most'} {demand.bound * 100:.3g} %",
    )
    if figure is None or not figure.known:
        why = _UNTESTED.get(demand.measure, "no valid trial")
        return Ruled(False, f"{name}: not met, {why}; {wanted} is required")
    by = figure.value - demand.bound if demand.is_minimum else demand.bound - figure.value
    seen = f"{figure.value * 100:.3g} % ({figure.hits} of {figure.of}, {interval_words(figure)})"
    if by >= 0:
        return Ruled(True, f"{name}: met, {seen}; {wanted} is required")
    how = "short" if demand.is_minimum else "over"
    return Ruled(False, f"{name}: not met, {seen}; {wanted} is required, {how} by {_points(-by)}")


def _points(by: float) -> str:
    return f"{by * 100:.3g} percentage points"


def _name(demand: Demand) -> str:
    if demand.part == EACH:
        return f"gate {demand.measure} of each cause"
    return f"gate {demand.measure}" + (f" of {demand.part}" if demand.part else "")


def interval_words(figure: Proportion) -> str:
    """`95 % interval 28 to 99 %`."""
    return f"{figure.confidence * 100:.0f} % interval {figure.low * 100:.0f} to {figure.high * 100:.0f} %"
