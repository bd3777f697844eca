"""Figures for people: as many decimals as the uncertainty is worth."""

from __future__ import annotations

from math import floor, log10

from matrix.stats.estimates.interval import Interval

MOST_DECIMALS = 9


def decimals_for(interval: Interval) -> int:
    """Decimals that give the half-width two significant figures, and show no non-zero end as 0.

    A winner's lower end of 0.04 printed as 0.0 would read as no difference.
    """
    half = interval.half_width
    decimals = max(0, min(MOST_DECIMALS, 1 - floor(log10(half)))) if half > 0 else 1
    nonzero = [abs(end) for end in (interval.low, interval.high) if end != 0.0]
    while decimals < MOST_DECIMALS and any(round(end, decimals) == 0.0 for end in nonzero):
        decimals += 1
    return decimals


def ends(interval: Interval) -> tuple[str, str]:
    """Both ends with the decimals of `decimals_for`, and never a negative zero."""
    decimals = decimals_for(interval)
    low, high = (round(end, decimals) + 0.0 for end in (interval.low, interval.high))
    return f"{low:.{decimals}f}", f"{high:.{decimals}f}"


def percent(interval: Interval) -> str:
    """The confidence of an interval, e.g. ``95 %`` or ``97.5 %``."""
    return f"{100 * interval.confidence:.4g} %"


def of_each(*, paired: bool) -> str:
    """Whose units a number is of, after it: without pairs a unit is one variant's."""
    return "" if paired else " of each variant"


def count(n: int, noun: str) -> str:
    """``1 round``, ``2 rounds``."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
