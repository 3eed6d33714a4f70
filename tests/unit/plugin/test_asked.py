"""Only `-m` on the command line asks for a chaos item, and only an expression that names it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoslat.plugin.asked import asks_for_chaos, could_ask


@pytest.mark.parametrize(
    ("expression", "marks", "asked"),
    [
        ("chaos", {"chaos"}, True),
        ("chaos", {"chaos", "slow"}, True),
        ("chaos and slow", {"chaos", "slow"}, True),
        ("chaos and slow", {"chaos"}, False),
        ("chaos and not slow", {"chaos"}, True),
        ("chaos or slow", {"chaos", "slow"}, True),
        ("not (not chaos)", {"chaos"}, True),
        ("chaos or not slow", {"chaos", "slow"}, True),
        ("", {"chaos"}, False),
        ("not chaos", {"chaos"}, False),
        ("slow", {"chaos", "slow"}, False),
        ("not slow", {"chaos"}, False),
        ("slow or not slow", {"chaos", "slow"}, False),
        ("chaos or not chaos", {"chaos"}, False),
        ("chaotic", {"chaos"}, False),
        ("chaos and", {"chaos"}, False),  # no expression; pytest says so itself
        ("((", {"chaos"}, False),
    ],
)
def test_expressions(expression, marks, asked):
    assert asks_for_chaos(expression, marks) is asked


@pytest.mark.parametrize(
    ("expression", "could"),
    [("chaos", True), ("chaos and slow", True), ("slow", False), ("not chaos", False)],
)
def test_whether_any_item_could_be_asked_for(expression, could):
    assert could_ask(expression) is could


EXPRESSIONS = st.recursive(
    st.sampled_from(["slow", "fast", "net"]),
    lambda inner: st.one_of(
        inner.map("not ({})".format),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map("({0[0]} {0[1]} {0[2]})".format),
    ),
    max_leaves=6,
)


@given(EXPRESSIONS, st.sets(st.sampled_from(["chaos", "slow", "fast", "net"])))
def test_an_expression_that_does_not_name_chaos_never_asks(expression, marks):
    assert not asks_for_chaos(expression, marks)


@given(EXPRESSIONS)
def test_chaos_and_anything_asks_for_those_that_match_it(expression):
    from _pytest.mark.expression import Expression

    for marks in ({"slow"}, {"fast", "net"}, set()):
        matches = Expression.compile(expression).evaluate(lambda name, /, **_: name in marks)  # noqa: B023
        assert not matches or asks_for_chaos(f"chaos and ({expression})", marks | {"chaos"})
