"""A mean that is kept up to date one value at a time, for live progress.

It is for display only. Reading a verdict off it at every step is peeking: a plain t interval
looked at from 10 to 100 values excludes the truth in 29 % of runs, not 5 %.
"""

from __future__ import annotations

from math import isfinite, sqrt
from typing import TYPE_CHECKING

from matrix.stats.estimates.interval import check_alpha

if TYPE_CHECKING:
    from matrix.stats.estimates.means import MeanSummary


class RunningMean:
    """Mean and variance by Welford's recurrence: constant memory, no loss to cancellation.

    Source: Welford (1962), Technometrics 4:419.
    """

    __slots__ = ("_largest", "_mean", "_squares", "n")

    def __init__(self) -> None:
        """Start with no values."""
        self.n = 0
        self._mean = 0.0
        self._squares = 0.0
        self._largest = 0.0

    def add(self, value: float) -> None:
        """Take in one value; raises ``ValueError`` if it is not finite."""
        if not isfinite(value):
            raise ValueError(f"only finite values have a mean; got {value}")
        self.n += 1
        step = value - self._mean
        self._mean += step / self.n
        self._squares += step * (value - self._mean)
        self._largest = max(self._largest, abs(value))

    @property
    def mean(self) -> float | None:
        """Mean so far; ``None`` before the first value."""
        return self._mean if self.n else None

    @property
    def variance(self) -> float | None:
        """Variance with n - 1; ``None`` below two values."""
        return self._squares / (self.n - 1) if self.n > 1 else None

    def summary(self, alpha: float = 0.05) -> MeanSummary:
        """What `matrix.stats.estimates.means.summarize` gives for all values so far."""
        # with numpy, which whoever only counts along does not load
        from matrix.stats.estimates.means import MeanSummary, summary_from_moments

        variance = self.variance
        if variance is None:
            check_alpha(alpha)
            return MeanSummary(self.n, self.mean, None, None, None, identical=False)
        return summary_from_moments(self.n, self._mean, sqrt(variance), self._largest, alpha)
