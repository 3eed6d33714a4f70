"""Exit codes: one meaning each, documented in --help."""

from __future__ import annotations

from collections.abc import Iterable

from chaoslat.model import Ruling, Verdict

AS_EXPECTED = 0
WRONG = 1
USAGE = 2
MISSING = 3
INVALID = 4
INTERRUPTED = 130
BROKEN_PIPE = 141

HELP = (
    "Exit codes: 0 as expected; 1 a diagnosis was wrong; 2 usage, or a bad experiment file; 3 this machine lacks "
    "something, or is busy; 4 a trial was invalid or inconclusive (a run of several gives the worst, 1 before 4); "
    "130 interrupted, after the undo."
)


def of_verdicts(verdicts: Iterable[Verdict]) -> int:
    """The exit code of a run: wrong beats invalid or inconclusive beats correct."""
    rulings = {verdict.ruling for verdict in verdicts}
    if rulings & {Ruling.MISATTRIBUTED, Ruling.MISSED, Ruling.FALSE_ALARM}:
        return WRONG
    return INVALID if rulings & {Ruling.INVALID, Ruling.INCONCLUSIVE} else AS_EXPECTED
