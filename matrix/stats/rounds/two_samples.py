"""The spread of two samples that share nothing: each by its own, or both by that of all scores.

Welch's standard error takes each sample's spread at its word. A small sample of few or of skewed
values may hold none of the rare ones, and so no spread, or too little: of equal variants that are
1 in .93, .5 in .02 and else 0, 15 rows against 150, it names a winner in .34 of files. Student's
pooled error is right if the two are distributed alike, and too small if the smaller sample spreads
more. So the larger of the two is taken.

Unless the smaller sample is shown to spread less: Student's error would then be too wide however
many rows there are. With variances v and w, the excess of the squared errors is ``g (w - v)``, and
under equal spreads its standard error is ``|g| p sqrt((kappa - 1) (1/n + 1/m))``, p being the
pooled variance and kappa the kurtosis of all scores about their means (Layard 1973, JASA 68:195).
Rare values make kappa large, so that a sample without any shows nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from matrix.stats.rounds.round_table import FloatArray

SHOWN = 1.959963984540054
"""Standard errors by which a smaller spread is shown: one in forty, one-sided."""


class SampleMoments(NamedTuple):
    """What is known of columns of scores after each row; all arrays of shape [P, C].

    Attributes:
        n: Scores so far.
        mean: Their mean; 0 without any.
        squares: Sum of their squared distances from it; 0 where that is rounding.
        shifted: Each score's distance from the first of its column; 0 where there is none.
    """

    n: npt.NDArray[np.int64]
    mean: FloatArray
    squares: FloatArray
    shifted: FloatArray

    @property
    def variance(self) -> FloatArray:
        """Of the scores so far; 0 of a single one."""
        return np.asarray(self.squares / np.maximum(self.n - 1, 1))

    @property
    def fourths(self) -> FloatArray:
        """Sum of the fourth powers of distances from the mean."""
        n = np.maximum(self.n, 1)
        one, two, three, four = (np.cumsum(self.shifted**power, axis=0) for power in (1, 2, 3, 4))
        o = one / n
        found = four - 4 * o * three + 6 * o * o * two - 3 * self.n * o**4
        return np.where(self.squares > 0.0, np.maximum(found, 0.0), 0.0)


def pooled_rather(a: SampleMoments, b: SampleMoments) -> FloatArray:
    """How much larger the squared error of the difference is with pooled spreads, shape [P].

    Spreads are pooled within columns; columns weigh alike in each sample's mean. 0 where it is no
    larger, or where the smaller sample is shown to spread less.

    Args:
        a: The first sample, of columns that it may lack.
        b: The second, of the same columns.
    """
    n, m = np.maximum(a.n, 1), np.maximum(b.n, 1)
    both = (a.n >= 2) & (b.n >= 2)
    freedom = np.maximum(a.n + b.n - 2, 1)
    pooled = np.where(both, (a.squares + b.squares) / freedom, 0.0)
    columns = [np.maximum((one.n > 0).sum(axis=1, keepdims=True), 1) for one in (a, b)]
    of_a, of_b = 1.0 / (n * columns[0] ** 2), 1.0 / (m * columns[1] ** 2)
    weight = ((b.n - 1) * of_a - (a.n - 1) * of_b) / freedom
    excess = np.where(both, weight * (b.variance - a.variance), 0.0).sum(axis=1)
    second = np.where(both, (a.squares + b.squares) ** 2 / np.maximum(a.n + b.n, 1), 0.0)
    second = second.sum(axis=1)
    fourth = np.where(both, a.fourths + b.fourths, 0.0).sum(axis=1)
    kurtosis = np.where(second > 0.0, fourth / np.where(second > 0.0, second, 1.0), 1.0)
    spread = np.where(both, (weight * pooled) ** 2 * (1.0 / n + 1.0 / m), 0.0).sum(axis=1)
    error = np.sqrt(np.maximum(kurtosis - 1.0, 0.0) * spread)
    return np.asarray(np.where(excess > SHOWN * error, 0.0, np.maximum(excess, 0.0)))
