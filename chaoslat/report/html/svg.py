"""Inline SVG, built as escaped text. Colours come from the style sheet by class, so that they follow its mode."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from markupsafe import Markup, escape

Point = tuple[float, float] | None
"""A point, or a gap in a line."""


def tag(name: str, *inner: object, **attributes: object) -> Markup:
    """An element; `class_` is class, `stroke_width` is stroke-width. Texts inside and values are escaped."""
    named = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    text = Markup("").join(Markup(' {}="{}"').format(key, _short(value)) for key, value in named)
    body = Markup("").join(escape(part) for part in inner)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), text, body)


def _short(value: object) -> object:
    return f"{value:.1f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def drawing(parts: Iterable[Markup], *, width: int, height: int, title: str, class_: str) -> Markup:
    """A whole drawing with its title for those who cannot see it."""
    return tag(
        "svg",
        tag("title", title),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=title,
        class_=class_,
    )


def line(points: Sequence[Point], class_: str) -> Markup:
    """A line through the points, broken at the gaps; a lone point becomes a dot."""
    runs = [list(run) for there, run in groupby(points, key=lambda p: p is not None) if there]
    parts = (_run([point for point in run if point is not None]) for run in runs)
    return tag("path", d=" ".join(parts), class_=f"line {class_}", fill="none")


def _run(points: Sequence[tuple[float, float]]) -> str:
    first, rest = points[0], points[1:] or points[:1]
    moves = [f"M{first[0]:.1f} {first[1]:.1f}", *(f"L{x:.1f} {y:.1f}" for x, y in rest)]
    return "".join(moves)


def stroke(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def box(x1: float, y1: float, x2: float, y2: float, class_: str, title: str = "") -> Markup:
    """A rectangle, with a hint where a title is given."""
    inner = [tag("title", title)] if title else []
    return tag("rect", *inner, x=x1, y=y1, width=max(x2 - x1, 0.5), height=max(y2 - y1, 0.5), class_=class_)


def text(x: float, y: float, words: str, class_: str = "", anchor: str = "start") -> Markup:
    """Words at a place."""
    return tag("text", words, x=x, y=y, class_=class_, text_anchor=anchor)
