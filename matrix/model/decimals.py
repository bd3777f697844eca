"""One rounding of figures for people: of the decimal that a number is written as, halves to even.

A float lies a little above or below the decimal that was meant (0.525 is 0.52500000000000002, 0.835
is 0.83499999999999996), so that formatting it rounds one up and the other down, and otherwise than
exact scores are rounded. What a number is written as is what people see, and what is rounded here.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from math import isfinite
from typing import Final

_MOST: Final = 1e15
"""Sizes from which a float has no decimals to be rounded."""


def rounded(value: Decimal, digits: int) -> Decimal:
    """``value`` to so many digits after the point, halves to even."""
    return value.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN)


def in_digits(value: float, digits: int, sign: str = "") -> str:
    """A number with so many digits after the point; ``sign`` is ``+`` if it is always wanted.

    >>> in_digits(0.525, 2), in_digits(0.835, 2), in_digits(1234.5, 0), in_digits(0.04, 1, "+")
    ('0.52', '0.84', '1,234', '+0.0')
    """
    plain = float(value)
    if not isfinite(plain) or abs(plain) >= _MOST:
        return f"{plain:{sign},.{digits}f}"
    return f"{rounded(Decimal(repr(plain)), digits):{sign},.{digits}f}"
