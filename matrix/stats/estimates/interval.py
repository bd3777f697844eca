"""An interval and how sure it is: what every engine of this package returns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided interval, in the units of the value it is about.

    Where no interval can be stated (no data, one value, no spread) functions return ``None``
    instead: an interval of width zero would look like perfect precision.

    Attributes:
        low: Lower end.
        high: Upper end.
        confidence: Nominal coverage, e.g. 0.95.
    """

    low: float
    high: float
    confidence: float

    @property
    def half_width(self) -> float:
        """Half the distance between the ends."""
        return (self.high - self.low) / 2

    def contains(self, value: float) -> bool:
        """Whether ``value`` lies inside; the ends belong to the interval."""
        return self.low <= value <= self.high

    def inside(self, margin: float) -> bool:
        """Whether the whole interval lies strictly between ``-margin`` and ``margin``."""
        return -margin < self.low and self.high < margin

    def negated(self) -> Interval:
        """The interval of the value with the opposite sign."""
        return Interval(-self.high, -self.low, self.confidence)


def check_alpha(alpha: float) -> float:
    """Return ``alpha``, or raise ``ValueError`` unless it lies strictly between 0 and 1."""
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha is an error rate between 0 and 1, such as 0.05; got {alpha}")
    return alpha
