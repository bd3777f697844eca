"""The parts of bootstrap-t: intervals of skewed values, such as costs, where t covers too little.

Each draw resamples the rounds and is studentised with its own standard error; the quantiles of
those take the place of Student's. For the mean of lognormal costs at ten rounds it covers .905
where t covers .847: better, and still approximate. No interval method rescues means of values that
hold rare zeros, which is why failures are compared by themselves.
Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 12.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.interval import Interval, check_alpha
from matrix.stats.estimates.means import ROUNDING

DRAWS = 1999
"""So many draws and one more are a multiple of 40: the quantiles at 2.5 and 97.5 % are draws."""

MOST_AT_ONCE = 2_000_000
"""Values resampled at one time: bounds the memory to some tens of megabytes."""


def check_draws(draws: int, alpha: float) -> None:
    """Raise ``ValueError`` unless ``draws`` resamples can reach the quantile at ``alpha / 2``."""
    check_alpha(alpha)
    if draws < 99 or draws * alpha < 2:
        raise ValueError(
            f"a bootstrap takes at least 99 draws, and at least 2 / alpha; got {draws} draws at "
            f"alpha {alpha:g}"
        )


def resamples(n: int, draws: int, rng: np.random.Generator) -> Iterator[npt.NDArray[np.int64]]:
    """Places of ``draws`` resamples of n rounds, in blocks of shape [up to draws, n]."""
    block = max(1, MOST_AT_ONCE // n)
    for start in range(0, draws, block):
        yield rng.integers(0, n, size=(min(block, draws - start), n))


def studentised(
    errors: npt.NDArray[np.float64], sds: npt.NDArray[np.float64], sd: float
) -> npt.NDArray[np.float64]:
    """Errors of resamples in units of their own standard deviation, shape [draws].

    A constant resample has no standard deviation: its pivot is infinite, on the side of its error.
    """
    constant = sds <= ROUNDING * sd
    safe = np.where(constant, 1.0, sds)
    return np.where(constant, np.copysign(np.inf, errors), errors / safe)


def turned(
    centre: float, sd: float, pivots: npt.NDArray[np.float64], alpha: float
) -> Interval | None:
    """``centre`` minus the upper and lower quantile of the pivots times ``sd``."""
    ordered = np.sort(pivots)
    place = max(round((ordered.size + 1) * alpha / 2), 1)
    lower, upper = float(ordered[place - 1]), float(ordered[-place])
    if not (np.isfinite(lower) and np.isfinite(upper)):
        return None
    return Interval(centre - upper * sd, centre - lower * sd, 1.0 - alpha)
