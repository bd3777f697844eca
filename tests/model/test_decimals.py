"""Figures are rounded as the decimals that people see, halves to even."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.model.decimals import in_digits
from matrix.report.text import interval, metric_value, number


@pytest.mark.parametrize(
    ("value", "told"), [(0.525, "0.52"), (0.835, "0.84"), (0.845, "0.84"), (2.675, "2.68")]
)
def test_halves_go_to_even_whatever_the_float_is(value: float, told: str) -> None:
    assert in_digits(value, 2) == number(value, 2) == told
    assert interval(value, value, 2) == f"{told} to {told}"
    assert metric_value("score", value * 10) == in_digits(value * 10, 1)


@given(st.decimals(-9999, 9999, places=3), st.integers(0, 3))
def test_a_decimal_is_rounded_as_it_is_written(value: Decimal, digits: int) -> None:
    exact = value.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN)
    assert in_digits(float(value), digits) == f"{exact:,.{digits}f}"


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_no_number_is_too_large_or_too_odd(value: float) -> None:
    assert in_digits(value, 1)
