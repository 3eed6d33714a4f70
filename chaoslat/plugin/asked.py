"""Was a chaos item asked for? Only `-m` on the command line can ask.

Options in an ini file (`addopts`) or in `PYTEST_ADDOPTS` do not count: somebody who merely has the plugin installed,
or inherits a configuration, must not get a fault injected. `-k`, a path or a node id do not count either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain, combinations

import pytest

MARK = "chaos"
_WORDS = re.compile(r"[^\W\d][\w.\-:+]*")
_OPERATORS = frozenset({"and", "or", "not"})
_MAX_MARKS = 10  # 2**10 combinations; nobody writes more marks into one expression


def on_command_line(parser: pytest.Parser, args: Sequence[str]) -> str:
    """The expression of the last `-m` among the arguments that pytest was called with; "" when there is none."""
    try:
        known = parser.parse_known_args([str(arg) for arg in args])
    except (Exception, SystemExit):  # --help and the like end the parsing; pytest deals with them itself
        return ""
    return str(getattr(known, "markexpr", "") or "")


def asks_for_chaos(expression: str, marks: Iterable[str]) -> bool:
    """Whether the expression asks by name for a chaos item with these marks.

    It does when for some of the item's marks it is false, and the mark `chaos` makes it true: `chaos`, `chaos and
    slow` and `chaos or slow` do; `not slow`, `slow` and `not chaos` do not.
    """
    others = sorted((set(marks) & _words(expression)) - {MARK})[:_MAX_MARKS]
    subsets = chain.from_iterable(combinations(others, size) for size in range(len(others) + 1))
    return any(_holds(expression, {*some, MARK}) and not _holds(expression, set(some)) for some in subsets)


def could_ask(expression: str) -> bool:
    """Whether there could be an item that the expression asks for."""
    return asks_for_chaos(expression, _words(expression))


def _words(expression: str) -> set[str]:
    return set(_WORDS.findall(expression)) - _OPERATORS


def _holds(expression: str, marks: set[str]) -> bool:
    """pytest's own reading of a mark expression, so that both agree on its grammar."""
    from _pytest.mark.expression import Expression

    def has(name: str, /, **_arguments: object) -> bool:
        return name in marks

    try:
        return bool(expression.strip()) and Expression.compile(expression).evaluate(has)
    except SyntaxError:  # pytest reports it as a usage error
        return False
