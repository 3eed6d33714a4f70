"""What the templates show of a trial: drawings and tables of text, made from its story."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from markupsafe import Markup

from chaoslat.load.log import Requests
from chaoslat.load.percentiles import percentiles
from chaoslat.model import Finding
from chaoslat.report.html import phases as course
from chaoslat.report.html.story import Sides, Story
from chaoslat.report.html.tails import Curve, tails
from chaoslat.report.html.timeline import timeline, window_s
from chaoslat.report.html.words import deciding, sentence
from chaoslat.report.score_rows import Table
from chaoslat.score.trials import Trial

DASH = "-"
MOST_CALLS, MOST_CHARS = 300, 240  # of an external program, in the table
CAUSE_OF = {"cpu-limit": "cpu-throttling", "pool-size": "pool-wait"}
_LATENCY_HEAD = ("requests", "P50 ms", "P95 ms", "P99 ms", "max ms", "over SLO", "failed")


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with its caption and the names of its colours (class and name)."""

    drawing: Markup
    caption: str
    colours: tuple[tuple[str, str], ...]
    table: Table | None = None


@dataclass(frozen=True, slots=True)
class StepSection:
    """One finding, its evidence, and the distributions of the setting that it changed."""

    finding: Finding
    evidence: Table
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class TrialSection:
    """A trial. `anchor` is its id in the page."""

    anchor: str
    trial: Trial
    story: Story
    sentence: str
    deciding: tuple[Finding, ...]
    timeline: Figure | None
    phases: Figure | None
    steps: tuple[StepSection, ...]
    comparisons: tuple[Figure, ...]  # of settings that no step speaks of
    tables: tuple[Table, ...]
    outputs: tuple[str, ...]  # of external programs


def section(number: int, trial: Trial, story: Story) -> TrialSection:
    """Everything about one trial. `number` counts from 1."""
    verdict = story.verdict
    findings = verdict.diagnosis.findings if verdict.diagnosis else ()
    drawn = _spoken(story, findings)
    steps = tuple(
        StepSection(f, _evidence(f), tuple(fig for who, fig in drawn if who is f)) for f in findings
    )
    return TrialSection(
        anchor=f"trial-{number}",
        trial=trial,
        story=story,
        sentence=sentence(verdict),
        deciding=deciding(findings),
        timeline=_timeline_figure(story),
        phases=_phases_figure(story),
        steps=steps,
        comparisons=tuple(fig for who, fig in drawn if who is None),
        tables=tuple(table for table in (_facts(story), _blocks(story), _calls(story)) if table.rows),
        outputs=tuple(text for program in story.programs if (text := str(program["output"]).strip())),
    )


def _spoken(story: Story, findings: Sequence[Finding]) -> list[tuple[Finding | None, Figure]]:
    """The distributions of each changed setting, with the step that speaks of it."""
    pairs = ((_speaker(sides, findings), _ab_figure(story, sides)) for sides in story.sides)
    return [(who, figure) for who, figure in pairs if figure]


def _speaker(sides: Sides, findings: Sequence[Finding]) -> Finding | None:
    """The step that tests the cause of this setting; else the one that was at work when it was changed."""
    cause = CAUSE_OF.get(sides.factor)
    tests = (f for f in findings if cause and f.cause == cause)
    works = (f for f in findings if f.started_s <= sides.at_s <= f.started_s + f.took_s)
    return next(chain(tests, works), None)


# --- drawings ----------------------------------------------------------------------------------------------


def _timeline_figure(story: Story) -> Figure | None:
    drawing = timeline(story)
    if drawing is None or story.requests is None:
        return None
    width_s = window_s(story.end_s - story.start_s)
    each = len(story.requests) / (story.end_s - story.start_s) * width_s
    caption = (
        f"Latency from the moment at which a request was due. Each point is {width_s:g} s, about {each:.0f} requests: "
        f"{'its P99 is close to its slowest request' if each < 200 else 'enough for its P99'}. Logarithmic scale."
    )
    colours = [("p99", "P99"), ("p95", "P95"), ("p50", "P50"), ("slo", "SLO")]
    colours += [("setting", "fault being set")] if story.setting else []
    colours += [("fault", "fault in force")] if story.faults else []
    colours += [("lifted", "changed by the runbook")] if story.levers else []
    return Figure(drawing, caption, tuple(colours))


def _phases_figure(story: Story) -> Figure | None:
    gate, diagnosis = story.phase(course.GATE), story.phase(course.DIAGNOSIS)
    hurt = diagnosis if not _count(gate) else gate
    found = [
        ("before", "b", story.phase(course.STEADY)),
        ("symptom", "a", hurt),
        ("after the undo", "c", story.phase(course.RECOVERY)),
    ]
    curves = [Curve(name, class_, seen) for name, class_, seen in found if seen is not None and len(seen)]
    drawing = tails(curves, story.slo_ms, "Share of requests slower than x, by phase")
    if drawing is None:
        return None
    caption = "How many requests took longer than x. A curve crosses the 1 % line at its P99."
    return Figure(drawing, caption, _colours(curves), _phases_table(story))


def _count(requests: Requests | None) -> int:
    return 0 if requests is None else len(requests)


def _ab_figure(story: Story, sides: Sides) -> Figure | None:
    curves = [Curve("as found", "a", sides.original), Curve("changed", "b", sides.changed)]
    drawing = tails(curves, story.slo_ms, f"Share of requests slower than x: as found, and {sides.label}")
    if drawing is None:
        return None
    rows = tuple((c.name, *_latency_cells(c.requests, story.slo_ms)) for c in curves)
    caption = f"{_capital(sides.label)}, against the setting as found, under the same fault: {_how(sides)}."
    return Figure(drawing, caption, _colours(curves), Table(sides.label, ("setting", *_LATENCY_HEAD), rows))


def _how(sides: Sides) -> str:
    if not any(sides.blocks):
        return f"{sides.how}, one window each"
    return f"{sides.how}, {sides.blocks[0]} as found and {sides.blocks[1]} changed"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _colours(curves: Sequence[Curve]) -> tuple[tuple[str, str], ...]:
    return tuple((f"curve-{curve.class_}", f"{curve.name} ({len(curve.requests)})") for curve in curves)


# --- tables ------------------------------------------------------------------------------------------------


def _latency_cells(requests: Requests, slo_ms: float) -> tuple[str, ...]:
    quantiles = percentiles(requests.latency_ms, (50, 95, 99, 100))
    over = requests.over(slo_ms)
    share = f"{over * 100:.2f} %" if math.isfinite(over) else DASH
    return (str(len(requests)), *(_ms(q) for q in quantiles), share, str(requests.failed))


def _ms(value: float) -> str:
    return f"{value:.1f}" if math.isfinite(value) else DASH


def _phases_table(story: Story) -> Table:
    rows = []
    for phase in story.phases:
        seen = story.phase(phase.name)
        if seen is not None:
            since_s, until_s = phase.span.start_s - story.start_s, phase.span.end_s - story.start_s
            rows.append((phase.name, f"{since_s:.1f} to {until_s:.1f}", *_latency_cells(seen, story.slo_ms)))
    return Table("Latency by phase", ("phase", "s", *_LATENCY_HEAD), tuple(rows))


def _evidence(finding: Finding) -> Table:
    rows = tuple((e.what, _figure(e.value), e.unit, e.note) for e in finding.evidence)
    return Table("Evidence", ("what was measured", "value", "unit", "note"), rows)


def _figure(value: float) -> str:
    """Four digits, and all of them before the point."""
    return f"{value:.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"


def _facts(story: Story) -> Table:
    return Table("The trial", ("what", "value"), tuple(_fact_rows(story)))


def _fact_rows(story: Story) -> Iterator[tuple[str, str]]:
    about, verdict = story.about, story.verdict
    yield "experiment", verdict.experiment
    yield "description", str(about.get("description", "")).strip() or DASH
    yield "faults", ", ".join(str(f.get("fault")) for f in about.get("faults", [])) or "none"
    yield from ((f"in force: {name}", value) for name, value in verdict.injected.items())
    yield "SLO", f"{story.slo_ms:g} ms"
    yield (
        "load",
        f"{about.get('workload', {}).get('rate_rps', DASH)} requests/s to begin with, open loop, Poisson",
    )
    yield "seed", str(verdict.seed)
    yield "backend", verdict.backend
    yield "started", str(about.get("started", DASH))
    yield "versions", ", ".join(f"{k} {v}" for k, v in about.get("versions", {}).items()) or DASH
    yield "whole trial", f"{verdict.trial_s:.1f} s"
    yield "recovered", "yes, read back equal and within the SLO" if verdict.recovered else "no"
    yield "recording", verdict.folder or DASH


def _blocks(story: Story) -> Table:
    factors = tuple(dict.fromkeys(name for block in story.blocks for name in block.get("settings", {})))
    head = ("s", *factors, "requests", "throttled periods/s", "mean wait for a connection, ms", "counts")
    rows = tuple(
        (
            f"{float(b['start_s']) - story.start_s:.1f} to {float(b['end_s']) - story.start_s:.1f}",
            *("changed" if b["settings"].get(name) else "as found" for name in factors),
            str(b.get("requests", DASH)),
            _optional(b.get("throttled_per_s")),
            _optional(b.get("acquire_mean_ms")),
            "no: the load generator lagged" if b.get("void") else "yes",
        )
        for b in story.blocks
    )
    return Table("Blocks of the randomised comparison", head, rows)


def _calls(story: Story) -> Table:
    """What external programs asked, and what they were answered."""
    rows = tuple(
        (
            f"{float(call['at_s']) - story.start_s:.1f}",
            str(call["call"]),
            _json(call["args"]),
            str(call["error"]) if "error" in call else _json(call.get("answer")),
        )
        for program in story.programs
        for call in program["calls"][:MOST_CALLS]
    )
    return Table("Calls of the external program", ("s", "call", "arguments", "answer"), rows)


def _json(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= MOST_CHARS else text[: MOST_CHARS - 1] + "…"


def _optional(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, (int, float)) else DASH
