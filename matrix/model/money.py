"""Money: integer nano-dollars, so that sums are exact and a cap is a comparison of integers.

One dollar is 1,000,000,000 nano-dollars; the cheapest model on the market (about $0.01 per
million tokens) costs 10 nano-dollars a token, so nothing real rounds to zero.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from typing import TypeAlias

NanoUSD: TypeAlias = int
"""An amount of money in nano-dollars (1e-9 USD)."""

NANO_PER_USD = 1_000_000_000


def from_usd(amount: float | str | Decimal) -> NanoUSD:
    """Dollars to nano-dollars, rounded up: an amount set aside is never too small."""
    exact = Decimal(str(amount)) * NANO_PER_USD
    return int(exact.to_integral_value(rounding=ROUND_CEILING))


def to_usd(amount: NanoUSD) -> float:
    """Nano-dollars to dollars, for tables and statistics (never for the ledger)."""
    return amount / NANO_PER_USD


def show_usd(amount: NanoUSD) -> str:
    """Dollars for people: cents from ten cents up, three significant figures below.

    >>> show_usd(from_usd("12.3")), show_usd(from_usd("0.00123")), show_usd(0)
    ('$12.30', '$0.00123', '$0.00')
    """
    dollars = amount / NANO_PER_USD
    if amount == 0 or abs(dollars) >= 0.1:
        return f"${dollars:,.2f}"
    return f"${dollars:.3g}" if abs(dollars) >= 0.0001 else f"${dollars:.2e}"


def show_usd_apart(one: NanoUSD, other: NanoUSD) -> tuple[str, str]:
    """Two amounts for people, with as many digits as it takes to tell them apart.

    >>> show_usd_apart(from_usd("0.2441"), from_usd("0.2396"))
    ('$0.244', '$0.240')
    """
    shown, digits = (show_usd(one), show_usd(other)), 2
    while one != other and shown[0] == shown[1] and digits < 9:
        digits += 1
        shown = (f"${to_usd(one):,.{digits}f}", f"${to_usd(other):,.{digits}f}")
    return shown
