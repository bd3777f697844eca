"""One variant's mean over its own scored sessions, whatever is missing elsewhere.

Every scenario weighs the same: its mean is that of its own scored sessions, and the variant's is
the mean of those. Leaving out whole rounds or pairs instead would move the mean wherever scores
lack more often on a hard scenario than on others. Rounds are the independent unit, since sessions
of one round share a seed.

With e = score - scenario's mean, N_s scored sessions of scenario s and S scenarios, the influence
of round r on the mean is the sum over its scored sessions of ``e / (S sqrt(N_s (N_s - 1)))``, and
the standard error is the root of the sum of their squares. This is CR2 of Bell & McCaffrey (2002,
Survey Methodology 28:169) for the regression on scenarios, whose hat matrix is diagonal within a
round. Their degrees of freedom, for sessions that are independent and equally noisy, have a closed
form here. With all scores present both are Student's, of round means.

The ends are Student's, moved outwards on the side of the long tail to where Hall's transformation
of the studentised mean puts them (Hall 1992, JRSS B 54:221). The other end is never pulled in, so
the interval covers at least as often as Student's, whatever the scores are. Scores that hold rare
zeros defeat this as they do every interval for means: failures are counted by themselves.

Of scores that are 0 or 1 the ends are Clopper's and Pearson's, of as many independent sessions as
would leave as much doubt (`matrix.stats.estimates.proportions.clopper_pearson_effective`): of a
rate near 0 or 1, Hall's reach over the whole scale. Where all are 0, or all 1, every
round counts as one session.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cbrt, isinf, sqrt

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.interval import Interval, check_alpha
from matrix.stats.estimates.means import ROUNDING
from matrix.stats.estimates.proportions import (
    clopper_pearson_effective,
    clopper_pearson_lower,
    clopper_pearson_upper,
)
from matrix.stats.estimates.student import t_quantile, t_two_sided_p
from matrix.stats.rounds.balancing import degrees_of_freedom
from matrix.stats.rounds.round_table import BoolArray, FloatArray
from matrix.stats.rounds.rules import MIN_ROUNDS

ENOUGH_SESSIONS = 100
"""Scored sessions in every scenario from which skewness no longer makes an interval approximate:
lognormal scores (sigma 1) on one scenario are covered in .95 of runs there."""

MOST_SKEWNESS = 0.2
"""Skewness of the mean's error above which fewer sessions than that are too few.

Cochran's rule, n > 25 g^2 for values of skewness g (Sugden, Smith & Jones 2000, JRSS B 62:787). Of
lognormal samples of 30 rounds it notices nine in ten, of normal ones one in a hundred; in ten
rounds the two are hard to tell apart, and it marks eight in ten of the one and a quarter of the
other.
"""


@dataclass(frozen=True, slots=True)
class OwnMean:
    """A variant's mean over its own scored sessions, in the units of the scores.

    Attributes:
        n_rounds: Rounds with at least one score.
        n_scenarios: Scenarios with at least one score, those behind ``mean``.
        left_out: Scenarios without any score.
        sessions: Scored sessions.
        fewest: Scored sessions of the scenario, among ``n_scenarios``, that has the fewest.
        mean: Mean over scenarios of the mean of each; ``None`` without scores.
        se: Standard error, clustered by round; ``None`` where ``fewest`` is below 2, because the
            noise of a scenario seen once is unknown, and where rounds differ by nothing beyond
            rounding.
        df: Degrees of freedom, at most ``n_rounds - 1``; ``None`` where ``se`` is.
        skewness: Skewness of the mean's error, about that of rounds over the root of their number;
            ``None`` where ``se`` is.
        interval: ``None`` where ``se`` is, but of scores that are all 0 or all 1, and where the
            radius is infinite. It knows of no scale but that of 0 or 1, and may reach beyond the
            highest score that can be given.
    """

    n_rounds: int
    n_scenarios: int
    left_out: int
    sessions: int
    fewest: int
    mean: float | None
    se: float | None
    df: float | None
    skewness: float | None
    interval: Interval | None

    @property
    def approximate(self) -> bool:
        """Whether the interval may cover noticeably less often than it says.

        A scenario has fewer than `MIN_ROUNDS` scored sessions, or fewer than `ENOUGH_SESSIONS` at a
        skewness beyond `MOST_SKEWNESS` either way. False without an interval.
        """
        if self.interval is None or self.skewness is None or self.fewest >= ENOUGH_SESSIONS:
            return False
        return self.fewest < MIN_ROUNDS or abs(self.skewness) > MOST_SKEWNESS


def own_mean(
    scores: npt.ArrayLike,
    alpha: float = 0.05,
    *,
    radius: float | None = None,
    bounds: tuple[float, float] | None = (0.0, 1.0),
) -> OwnMean:
    """Mean of one variant over its own scored sessions, scenarios weighted equally.

    Args:
        scores: Shape [rounds, scenarios], NaN where a session has no score, for whatever reason.
        alpha: Two-sided error rate of the interval.
        radius: Half-width in standard errors that an engine which looks after every round asks for
            after so many rounds (`matrix.stats.looks.boundary.Boundary.radii`), for Student's
            quantile: both ends move out by the ratio of the two, so that each is at least
            ``radius`` standard errors away. Infinite without a look there.
        bounds: Least and greatest possible score, ``None`` where nothing is known of them. Scores
            that are all 0 are a rate of 0 only where none can be above 1.

    Raises:
        ValueError: If ``scores`` is not two-dimensional, a score is infinite, ``alpha`` is no error
            rate or ``radius`` is not positive.
    """
    check_alpha(alpha)
    if radius is not None and not radius > 0.0:
        raise ValueError(f"a radius is a positive number of standard errors; got {radius}")
    table = _table(scores)
    scored = ~np.isnan(table)
    rounds, known = scored.any(axis=1), scored.any(axis=0)
    n, counts = int(rounds.sum()), scored.sum(axis=0)[known]
    centres = np.where(scored, table, 0.0).sum(axis=0)[known] / counts
    mean = float(centres.mean()) if counts.size else None
    inner = np.ix_(rounds, known)
    size = float(np.abs(table[scored]).max(initial=0.0))
    error = _error(table[inner] - centres, scored[inner], size)
    interval, sessions = None, int(counts.sum())
    fewest = int(counts.min()) if counts.size else 0
    if mean is not None and not (radius is not None and isinf(radius)):
        yes_no = bool(np.isin(table[scored], (0.0, 1.0)).all())
        if error is None:
            rate = bounds is not None and bounds[0] >= 0.0 and bounds[1] <= 1.0
            if yes_no and rate and mean in (0.0, 1.0) and fewest > 1:
                interval = _all_alike(mean, n, alpha, radius)
        elif yes_no:
            interval = _of_rate(mean, error, n, sessions, alpha, radius)
        else:
            interval = _interval(mean, error, n, alpha, radius)
    return OwnMean(
        n_rounds=n,
        n_scenarios=counts.size,
        left_out=known.size - counts.size,
        sessions=sessions,
        fewest=fewest,
        mean=mean,
        se=None if error is None else error.se,
        df=None if error is None else error.df,
        skewness=None if error is None else error.skewness,
        interval=interval,
    )


def _table(scores: npt.ArrayLike) -> FloatArray:
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"scores are [rounds, scenarios]; got shape {table.shape}")
    if np.isinf(table).any():
        raise ValueError("a score is a finite number, or NaN where a session has none")
    return table


@dataclass(frozen=True, slots=True)
class _Error:
    """What is known of the error of a mean: its size, how well that is known, and its skewness."""

    se: float
    df: float
    skewness: float


def _error(residuals: FloatArray, scored: BoolArray, size: float) -> _Error | None:
    """Error of the mean from residuals of shape [n, S]; ``size`` is the largest score's."""
    n, n_scenarios = residuals.shape
    counts = scored.sum(axis=0)
    if not n or counts.min() < 2:
        return None
    weights = 1.0 / (n_scenarios**2 * counts * (counts - 1.0))
    influence = np.where(scored, residuals, 0.0) @ np.sqrt(weights)
    se = sqrt(float(influence @ influence))
    if se * sqrt(n) <= ROUNDING * size:
        return None
    common = scored.T.astype(np.float64) @ scored
    df = float(degrees_of_freedom(weights, counts, common))
    return _Error(se, min(df, n - 1.0), skewness=float(((influence / se) ** 3).sum()))


def _interval(mean: float, error: _Error, n: int, alpha: float, radius: float | None) -> Interval:
    """Both ends at Student's quantile or further out, times what ``radius`` asks for."""
    quantile = t_quantile(1.0 - alpha / 2, error.df)
    wider = 1.0 if radius is None else radius / t_quantile(1.0 - alpha / 2, n - 1)
    below = max(quantile, hall_quantile(quantile, error.skewness))
    above = max(quantile, -hall_quantile(-quantile, error.skewness))
    low, high = mean - wider * below * error.se, mean + wider * above * error.se
    return Interval(low, high, 1.0 - alpha)


def _of_rate(
    mean: float, error: _Error, rounds: int, sessions: int, alpha: float, radius: float | None
) -> Interval:
    """Of scores that are 0 or 1, in so many rounds and sessions."""
    level = alpha if radius is None else t_two_sided_p(radius, rounds - 1)
    found = clopper_pearson_effective(mean, error.se, sessions, error.df, level)
    return Interval(found.low, found.high, 1.0 - alpha)


def _all_alike(mean: float, rounds: int, alpha: float, radius: float | None) -> Interval:
    """Of scores that are all 0, or all 1: nothing shows how alike a round's are, so each is one."""
    level = alpha if radius is None else t_two_sided_p(radius, rounds - 1)
    ones = round(mean) * rounds
    low = clopper_pearson_lower(ones, rounds, level / 2)
    return Interval(low, clopper_pearson_upper(ones, rounds, level / 2), 1.0 - alpha)


def hall_quantile(quantile: float, skewness: float) -> float:
    """Quantile of a studentised mean of skewed values, by Hall's transformation.

    It is the t at which ``t + k t^2 / 3 + k^2 t^3 / 27 + k / 6``, which is nearly symmetric, is at
    ``quantile``. Source: Hall (1992), JRSS B 54:221.

    Args:
        quantile: Quantile of the symmetric distribution.
        skewness: k, the skewness of the values over the root of their number.
    """
    shifted = quantile - skewness / 6
    root = cbrt(1.0 + skewness * shifted)
    # 3 (root - 1) / k, in a form that has no 0 / 0 without skewness
    return 3.0 * shifted / (root * root + root + 1.0)
