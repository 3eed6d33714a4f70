"""A proportion with its interval, as a small bar."""

from __future__ import annotations

from markupsafe import Markup

from chaoslat.proportion import Proportion
from chaoslat.report.html import svg
from chaoslat.report.html.scale import Scale
from chaoslat.report.score_rows import share

WIDTH, HEIGHT, PAD = 140, 18, 6


def interval_bar(figure: Proportion, name: str) -> Markup:
    """From 0 to 100 %: the interval as a line, the value as a dot; only the track where nothing was counted."""
    x = Scale(0.0, 1.0, PAD, WIDTH - PAD)
    middle = HEIGHT / 2
    parts = [svg.stroke(x(0), middle, x(1), middle, "track")]
    if figure.known:
        parts += [
            svg.stroke(x(figure.low), middle, x(figure.high), middle, "interval"),
            svg.tag("circle", cx=x(figure.value), cy=middle, r=4.0, class_="value"),
        ]
    return svg.drawing(parts, width=WIDTH, height=HEIGHT, title=f"{name}: {share(figure)}", class_="bar")
