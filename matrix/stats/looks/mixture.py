"""Looking as often as one likes, for as long as one likes: mixture sequences.

A mixture averages the likelihood ratio against "no difference" over a spread of possible
differences. While there is none, the chance that the average ever reaches 1 / alpha is at most
alpha, however often one looks and whenever one stops. Inverted, it is an interval that holds at all
times together. The price is width: 1.4 to 1.7 times that of one look.

The spread is unknown, as in a t test. With many rounds this becomes the normal mixture for a known
one (Howard, Ramdas, McAuliffe & Sekhon 2021, Ann Stat 49:1055).
"""

from __future__ import annotations

from math import log

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
