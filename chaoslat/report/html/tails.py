"""Distributions with their tails: the share of requests that took longer than x, both axes logarithmic.

This is one minus the empirical distribution function. Where a curve crosses 1 % is its P99; where it crosses the
SLO's line is the share of requests over the SLO.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from chaoslat.load.log import Floats, Requests
from chaoslat.report.html import svg
from chaoslat.report.html.scale import Scale, figure

WIDTH, HEIGHT = 560, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 14, 40
LEAST_SHARE = 0.001
MOST_POINTS = 160
BUDGET = 0.01


@dataclass(frozen=True, slots=True)
class Curve:
    """One distribution: `class_` is its colour, `a`, `b` or `c`."""

    name: str
    class_: str
    requests: Requests


def survival(latency_ms: Floats) -> tuple[Floats, Floats]:
    """Sorted latencies, and after each the share that took longer: 1 - 1/n ... 0."""
    ordered = np.sort(latency_ms)
    return ordered, 1.0 - np.arange(1, len(ordered) + 1) / max(len(ordered), 1)


def tails(curves: Sequence[Curve], slo_ms: float, title: str) -> Markup | None:
    """The drawing; None where there is nothing to draw."""
    shown = [curve for curve in curves if len(curve.requests)]
    if not shown:
        return None
    x = _x(shown, slo_ms)
    y = Scale(LEAST_SHARE, 1.0, HEIGHT - BOTTOM, TOP, log=True)
    parts = [*_grid(x, y), *_slo(slo_ms, x), *(_curve(curve, x, y) for curve in shown)]
    return svg.drawing(parts, width=WIDTH, height=HEIGHT, title=title, class_="tails")


def _x(curves: Sequence[Curve], slo_ms: float) -> Scale:
    lows = [max(float(np.quantile(c.requests.latency_ms, 0.01)), 0.05) for c in curves]
    highs = [float(c.requests.latency_ms.max()) for c in curves]
    marks = [slo_ms] if math.isfinite(slo_ms) else []
    return Scale(min(lows + marks) * 0.8, max(highs + marks) * 1.25, LEFT, WIDTH - RIGHT, log=True)


def _grid(x: Scale, y: Scale) -> Iterator[Markup]:
    for share in (1.0, 0.1, BUDGET, LEAST_SHARE):
        class_ = "budget" if share == BUDGET else "grid"
        yield svg.stroke(LEFT, y(share), WIDTH - RIGHT, y(share), class_)
        yield svg.text(LEFT - 6, y(share) + 4, f"{share * 100:g} %", "tick", "end")
    for tick in x.ticks():
        yield svg.stroke(x(tick), TOP, x(tick), HEIGHT - BOTTOM, "grid")
        yield svg.text(x(tick), HEIGHT - BOTTOM + 16, figure(tick), "tick", "middle")
    yield svg.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "latency, ms", "axis", "middle")
    yield svg.text(LEFT + 4, y(BUDGET) - 4, "P99", "tick")


def _slo(slo_ms: float, x: Scale) -> Iterator[Markup]:
    if math.isfinite(slo_ms):
        yield svg.stroke(x(slo_ms), TOP, x(slo_ms), HEIGHT - BOTTOM, "slo")
        yield svg.text(x(slo_ms) + 4, TOP + 10, "SLO", "slo-name")


def _curve(curve: Curve, x: Scale, y: Scale) -> Markup:
    """As a staircase down to its slowest request, thinned where it has more points than can be seen."""
    latency_ms, share = survival(curve.requests.latency_ms)
    keep = _thinned(len(latency_ms))
    corners: list[svg.Point] = [(x(float(latency_ms[0])), y(1.0))]
    before = 1.0
    for at_ms, after in zip(latency_ms[keep], share[keep], strict=True):
        corners += [(x(float(at_ms)), y(before)), (x(float(at_ms)), y(float(after)))]
        before = float(after)
    return svg.line(corners, f"curve-{curve.class_}")


def _thinned(count: int) -> list[int]:
    """Indices: few of the body, all of the slowest."""
    if count <= MOST_POINTS:
        return list(range(count))
    left = np.unique(np.geomspace(1, count, MOST_POINTS).astype(int))
    return sorted(count - int(each) for each in left)
