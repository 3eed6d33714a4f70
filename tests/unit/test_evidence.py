"""A figure is the same on every CPU: what differs in the last digits does not show."""

import math

import pytest

from chaoslat.model import Evidence


@pytest.mark.parametrize("value", [-41.44889613838055, 1 / 3, 6.031047571815948, 1e-12, 4.2e9])
def test_the_last_bits_of_a_figure_do_not_count(value: float) -> None:
    neighbour = math.nextafter(math.nextafter(value, math.inf), math.inf)
    assert neighbour != value
    assert Evidence("effect", neighbour, "ms") == Evidence("effect", value, "ms")


def test_nine_digits_are_kept() -> None:
    assert Evidence("effect", 123456.789, "ms").value == 123456.789
    assert Evidence("waiters", 3, "requests").value == 3.0


def test_what_is_no_number_stays_so() -> None:
    assert math.isnan(Evidence("ratio", float("nan"), "").value)
    assert Evidence("evidence", math.inf, "").value == math.inf
