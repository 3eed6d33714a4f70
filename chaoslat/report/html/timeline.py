"""The latency of a trial over time: P50, P95 and P99, the SLO, the phases, and what was in force when."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from markupsafe import Markup

from chaoslat.load.log import Requests
from chaoslat.load.percentiles import percentiles
from chaoslat.report.html import svg
from chaoslat.report.html.levers import Span
from chaoslat.report.html.phases import Phase
from chaoslat.report.html.scale import Scale, figure
from chaoslat.report.html.story import Story

WIDTH = 960
LEFT, RIGHT, TOP, PLOT = 132, 16, 34, 250
LANE, LANE_GAP, AXIS = 15, 6, 22
MOST_POINTS = 60
WINDOWS_S = (1.0, 2.0, 5.0, 10.0, 20.0, 60.0)
LEAST_IN_POINT = 5
_CHAR = 6.4  # width of a character of the phases' names


@dataclass(frozen=True, slots=True)
class Point:
    """One window: its middle, how many requests, and P50, P95 and P99 in ms (nan of too few)."""

    at_s: float
    count: int
    p50_ms: float
    p95_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class _Lane:
    """A row below the plot: what was in force when."""

    label: str
    class_: str
    spans: tuple[Span, ...]


def window_s(duration_s: float) -> float:
    """The length of a point's window: as many as `MOST_POINTS` of them, of a round length."""
    return next((w for w in WINDOWS_S if duration_s / w <= MOST_POINTS), WINDOWS_S[-1])


def points(requests: Requests, start_s: float, end_s: float, width_s: float) -> list[Point]:
    """The windows from `start_s` on."""
    count = max(1, math.ceil((end_s - start_s) / width_s))
    edges = start_s + width_s * np.arange(count + 1)
    cuts = np.searchsorted(requests.due_s, edges)
    pairs = pairwise(int(cut) for cut in cuts)
    return [_point(requests, a, b, float(edges[i]), width_s) for i, (a, b) in enumerate(pairs)]


def _point(requests: Requests, first: int, end: int, edge_s: float, width_s: float) -> Point:
    few = end - first < LEAST_IN_POINT
    seen = requests.latency_ms[first:first] if few else requests.latency_ms[first:end]
    return Point(edge_s + width_s / 2, end - first, *percentiles(seen, (50, 95, 99)))


def timeline(story: Story) -> Markup | None:
    """The drawing; None where no latencies are recorded."""
    if story.requests is None or story.end_s <= story.start_s:
        return None
    found = points(story.requests, story.start_s, story.end_s, window_s(story.end_s - story.start_s))
    lanes = _lanes(story)
    height = TOP + PLOT + AXIS + len(lanes) * (LANE + LANE_GAP) + LANE_GAP
    x = Scale(story.start_s, story.end_s, LEFT, WIDTH - RIGHT)
    y = _y(found, story.slo_ms)
    parts = [
        *_shades(story, x),
        *_grid(story, x, y),
        *_phase_names(story.phases, x),
        *_lines(found, x, y),
        *_slo(story.slo_ms, y),
        *_marks(story, x),
        *_draw_lanes(lanes, x),
    ]
    name = story.verdict.experiment
    return svg.drawing(
        parts, width=WIDTH, height=height, title=f"Latency of {name} over time", class_="timeline"
    )


def _y(found: Sequence[Point], slo_ms: float) -> Scale:
    """Logarithmic: the body and the tail are both to be seen. From a little below P50 to a little above P99."""
    known = [p for p in found if math.isfinite(p.p50_ms) and p.p50_ms > 0]
    marks = [slo_ms] if math.isfinite(slo_ms) else []
    low = min([p.p50_ms for p in known] + marks, default=1.0)
    high = max([p.p99_ms for p in known] + marks, default=100.0)
    return Scale(low * 0.7, high * 1.4, TOP + PLOT, TOP, log=True)


def _shades(story: Story, x: Scale) -> Iterator[Markup]:
    for span in story.setting:
        yield svg.box(x(span.start_s), TOP, x(span.end_s), TOP + PLOT, "shade setting", "fault being set")
    for _, span in story.faults:
        yield svg.box(x(span.start_s), TOP, x(span.end_s), TOP + PLOT, "shade fault")
    for lever in story.levers:
        for span in lever.changed:
            yield svg.box(x(span.start_s), TOP, x(span.end_s), TOP + PLOT, "shade lifted", lever.label)


def _grid(story: Story, x: Scale, y: Scale) -> Iterator[Markup]:
    for tick in y.ticks():
        yield svg.stroke(LEFT, y(tick), WIDTH - RIGHT, y(tick), "grid")
        yield svg.text(LEFT - 6, y(tick) + 4, figure(tick), "tick", "end")
    yield svg.text(LEFT - 44, TOP + PLOT / 2, "ms", "axis", "end")
    seconds = Scale(0.0, story.end_s - story.start_s, x.start, x.end)
    for tick in seconds.ticks(10):
        yield svg.stroke(seconds(tick), TOP + PLOT, seconds(tick), TOP + PLOT + 4, "grid")
        yield svg.text(seconds(tick), TOP + PLOT + 16, f"{tick:g} s", "tick", "middle")


def _phase_names(phases: Sequence[Phase], x: Scale) -> Iterator[Markup]:
    """A name over each phase that is wide enough for it, and a line at its end."""
    for phase in phases:
        left, right = x(phase.span.start_s), x(phase.span.end_s)
        yield svg.box(left, TOP - 18, right - 1, TOP - 3, "phase", phase.name)
        yield svg.stroke(right, TOP - 18, right, TOP + PLOT, "phase-end")
        name = _fitting(phase.name, right - left)
        if name:
            yield svg.text((left + right) / 2, TOP - 7, name, "phase-name", "middle")


def _fitting(name: str, width: float) -> str:
    """The name, its first word, or nothing."""
    return next((n for n in (name, name.split()[0]) if len(n) * _CHAR <= width), "")


def _lines(found: Sequence[Point], x: Scale, y: Scale) -> Iterator[Markup]:
    for name in ("p50", "p95", "p99"):
        values = ((p.at_s, getattr(p, f"{name}_ms")) for p in found)
        yield svg.line([(x(at), y(v)) if math.isfinite(v) else None for at, v in values], name)


def _slo(slo_ms: float, y: Scale) -> Iterator[Markup]:
    if math.isfinite(slo_ms):
        yield svg.stroke(LEFT, y(slo_ms), WIDTH - RIGHT, y(slo_ms), "slo")
        yield svg.text(WIDTH - RIGHT - 3, y(slo_ms) - 4, f"SLO {slo_ms:g} ms", "slo-name", "end")


def _marks(story: Story, x: Scale) -> Iterator[Markup]:
    """Interventions that were made once."""
    for instant in story.instants:
        at = x(instant.at_s)
        yield svg.stroke(at, TOP, at, TOP + PLOT, "instant")
        side = "end" if at > WIDTH / 2 else "start"
        yield svg.text(at + (-4 if side == "end" else 4), TOP + PLOT - 6, instant.label, "instant-name", side)


def _lanes(story: Story) -> list[_Lane]:
    faults = [_Lane(f"fault: {name}", "lane fault", (span,)) for name, span in story.faults]
    return faults + [_Lane(lever.label, "lane lifted", lever.changed) for lever in story.levers]


def _draw_lanes(lanes: Sequence[_Lane], x: Scale) -> Iterator[Markup]:
    """Each row: its name, its ground, and when it was in force."""
    for row, lane in enumerate(lanes):
        top = TOP + PLOT + AXIS + LANE_GAP + row * (LANE + LANE_GAP)
        yield svg.text(LEFT - 6, top + LANE - 3, lane.label, "lane-name", "end")
        yield svg.box(LEFT, top, WIDTH - RIGHT, top + LANE, "lane ground")
        for span in lane.spans:
            yield svg.box(x(span.start_s), top, x(span.end_s), top + LANE, lane.class_)
