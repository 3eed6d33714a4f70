"""The HTML report: one self-contained file a session. No script, no font and no image from elsewhere.

`write` makes it from recorded trials. `story.py` reads a recording, `timeline.py`, `tails.py` and `bars.py` draw, and
the templates beside them put it into words.
"""

from __future__ import annotations

from chaoslat.report.html.page import render, write

__all__ = ["render", "write"]
