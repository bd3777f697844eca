"""Student's t distribution, from ``scipy.special`` so that ``scipy.stats`` is never imported."""

from __future__ import annotations

from math import isfinite, sqrt


def t_quantile(probability: float, df: float) -> float:
    """The value that a t variable with ``df`` degrees of freedom stays below so often."""
    from scipy.special import stdtrit

    return float(stdtrit(df, probability))


def t_two_sided_p(t: float, df: float) -> float:
    """Chance of a t at least as far from 0 as this one, on either side, if the truth is 0."""
    from scipy.special import stdtr

    return min(1.0, 2.0 * float(stdtr(df, -abs(t))))


def noncentral_t_cdf(t: float, df: float, shift: float) -> float:
    """Chance that a t variable whose numerator is centred on ``shift`` stays below ``t``."""
    from scipy.special import nctdtr, ndtr

    chance = float(nctdtr(df, shift, t))
    if isfinite(chance):
        return chance
    # scipy gives up where the chance is below 1e-300; Johnson & Welch's (1940) approximation.
    return float(ndtr((t * (1 - 1 / (4 * df)) - shift) / sqrt(1 + t * t / (2 * df))))
