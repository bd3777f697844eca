"""Looking as often as one likes, for as long as one likes: mixture sequences.

A mixture averages the likelihood ratio against "no difference" over a spread of possible
differences. While there is none, the chance that the average ever reaches 1 / alpha is at most
alpha, however often one looks and whenever one stops. Inverted, it is an interval that holds at all
times together. The price is width: 1.4 to 1.7 times that of one look.

`t_mixture_radii` is what verdicts use: spread unknown, as in a t test. The others assume a known
variance process and are the published forms it descends from.
"""

from __future__ import annotations

from math import inf, log, sqrt

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.interval import check_alpha
from matrix.stats.rounds.round_table import FloatArray

MIXTURE_SCALE = 3.1135689
"""Precision g of the mixture, in rounds: with it the sequence is narrowest at 30 rounds."""


def t_mixture_log_e(t: npt.ArrayLike, n: npt.ArrayLike, g: float = MIXTURE_SCALE) -> FloatArray:
    """Logarithm of the e-value of a t statistic against "the mean is 0".

    With nu = n - 1 and r = g / (g + n):
    ``1/2 ln r + (nu + 1)/2 [ln(1 + t^2/nu) - ln(1 + r t^2/nu)]``.
    Source: Lindon, Ham, Tingley & Bojinov (2022), arXiv:2210.08589.

    Args:
        t: Mean over standard error.
        n: Number of values, at least 2.
        g: Precision of the mixture, above 0.
    """
    count = np.asarray(n, dtype=np.float64)
    nu, r = count - 1.0, g / (g + count)
    ratio = np.square(np.asarray(t, dtype=np.float64)) / nu
    return np.asarray(0.5 * np.log(r) + 0.5 * (nu + 1.0) * (np.log1p(ratio) - np.log1p(r * ratio)))


def t_mixture_radii(n: npt.ArrayLike, alpha: float, g: float = MIXTURE_SCALE) -> FloatArray:
    """Half-width in standard errors of the sequence that covers at all n with ``1 - alpha``.

    Args:
        n: Number of values.
        alpha: Two-sided error rate over all times together.
        g: Precision of the mixture, above 0.

    Returns:
        Shape of ``n``; infinite where the sequence does not bound the mean yet (below n = 7 for
        the usual g and alpha = .05).
    """
    count = np.asarray(n, dtype=np.float64)
    nu, r = count - 1.0, g / (g + count)
    a = np.exp((np.log(r) + 2.0 * log(check_alpha(alpha))) / np.maximum(nu + 1.0, 1.0))
    finite = (a > r) & (nu >= 1.0)
    room = np.where(finite, a - r, 1.0)
    return np.where(finite, np.sqrt(np.maximum(nu, 0.0) * (1.0 - a) / room), np.inf)


def best_rho(v: float, alpha: float) -> float:
    """The rho with which `normal_mixture_bound` is nearly narrowest when the variance is ``v``.

    Source: Howard, Ramdas, McAuliffe & Sekhon (2021), Ann Stat 49:1055.
    """
    odds = 2.0 * log(1.0 / check_alpha(alpha))
    return v / (odds + log(1.0 + odds))


def normal_mixture_log_e(s: float, v: float, rho: float) -> float:
    """Logarithm of the two-sided normal mixture for a sum ``s`` with accumulated variance ``v``."""
    return 0.5 * log(rho / (v + rho)) + s * s / (2.0 * (v + rho))


def normal_mixture_bound(v: float, alpha: float, rho: float) -> float:
    """What a sum with variance ``v`` never exceeds on either side, but for a chance ``alpha``."""
    odds = 2.0 * log(1.0 / check_alpha(alpha))
    return sqrt((v + rho) * (odds + log((v + rho) / rho)))


def gamma_exponential_log_e(s: float, v: float, rho: float, c: float) -> float:
    """Logarithm of the one-sided gamma-exponential mixture: for sub-exponential sums of scale c.

    Source: Howard et al. (2021), proposition 9.
    """
    from scipy.special import gammainc, gammaln

    square = c * c
    prior, later, seen = rho / square, (v + rho) / square, (c * s + v) / square
    leading = prior * log(prior) - gammaln(prior) - log(gammainc(prior, prior))
    reach = seen + prior
    if reach <= 0.0:
        return -inf
    return float(leading + gammaln(later) + log(gammainc(later, reach)) - later * log(reach) + seen)


def gamma_exponential_bound(v: float, alpha: float, rho: float, c: float) -> float:
    """What a sub-exponential sum of scale ``c`` never exceeds, but for ``alpha``; by bisection."""
    threshold = log(1.0 / check_alpha(alpha))
    low, high = 0.0, sqrt(v) + c
    while gamma_exponential_log_e(high, v, rho, c) < threshold:
        high *= 2.0
    for _ in range(100):
        middle = (low + high) / 2.0
        crossed = gamma_exponential_log_e(middle, v, rho, c) >= threshold
        low, high = (low, middle) if crossed else (middle, high)
    return high
