"""The normal distribution and Student's t, central and not, of single numbers.

In plain Python, as every command that says how sure something is needs a few of these numbers, and
``scipy.special``, against which they are tested, takes a quarter of a second to load. Whatever
takes arrays is scipy's.
"""

from __future__ import annotations

from functools import lru_cache
from math import erfc, exp, expm1, inf, isfinite, isnan, lgamma, log, log1p, nan, pi, sqrt
from statistics import NormalDist
from typing import Final

_TINY: Final = 1e-300
_EXACT: Final = 1e-16
_MOST_TERMS: Final = 20_000
_NORMAL_FROM: Final = 1e9
"""Degrees of freedom from which a t is normal to the last digit."""

_STANDARD: Final = NormalDist()


def normal_cdf(z: float) -> float:
    """Chance that a standard normal variable stays below ``z``."""
    return 0.5 * erfc(-z / sqrt(2.0))


def normal_quantile(probability: float) -> float:
    """The value that a standard normal variable stays below so often; infinite at 0 and 1.

    Source: Wichura (1988), Appl Stat 37:477 (AS 241), as the standard library has it.
    """
    if not 0.0 < probability < 1.0:
        return {0.0: -inf, 1.0: inf}.get(probability, nan)
    return _STANDARD.inv_cdf(probability)


@lru_cache(maxsize=4096)
def t_quantile(probability: float, df: float) -> float:
    """The value that a t variable with ``df`` degrees of freedom stays below so often.

    Hill's (1970) expansion, Comm ACM 13:619 (algorithm 396), and steps of Newton's from there.
    """
    if not 0.0 < probability < 1.0 or not df > 0.0:
        return {0.0: -inf, 1.0: inf}.get(probability, nan) if df > 0.0 else nan
    if df >= _NORMAL_FROM:
        return normal_quantile(probability)
    if probability == 0.5:
        return 0.0
    beyond = min(probability, 1.0 - probability)
    t = _refined(_hill(2.0 * beyond, df), log(beyond), df)
    return t if probability > 0.5 else -t


def t_two_sided_p(t: float, df: float) -> float:
    """Chance of a t at least as far from 0 as this one, on either side, if the truth is 0."""
    if isnan(t) or not df > 0.0:
        return nan
    return min(1.0, 2.0 * _beyond(abs(t), df))


def noncentral_t_cdf(t: float, df: float, shift: float) -> float:
    """Chance that a t variable whose numerator is centred on ``shift`` stays below ``t``.

    Lenth (1989), Appl Stat 38:185 (AS 243); where its weights vanish, Johnson's and Welch's (1940)
    approximation.
    """
    if t < 0.0:
        return 1.0 - noncentral_t_cdf(-t, df, -shift)
    half = shift * shift / 2.0
    if half > _VANISHING or df >= _NORMAL_FROM:
        return normal_cdf((t * (1 - 1 / (4 * df)) - shift) / sqrt(1 + t * t / (2 * df)))
    chance = normal_cdf(-shift)
    if t < _NOTHING:
        return chance
    a, b, x, log_rest = 0.5, df / 2.0, t * t / (df + t * t), -log1p(t * t / df)
    p = 0.5 * exp(-half)
    q, left = sqrt(2.0 / pi) * p * shift, 0.5 - p
    odd, even = _beta(a, b, x, df / (t * t)), -expm1(b * log_rest)
    odd_step = 2.0 * exp(0.5 * log(x) + b * log_rest + _log_scale(b))
    even_step = b * x * exp(b * log_rest)
    for term in range(1, _MOST_TERMS):
        chance += p * odd + q * even
        odd, even, a = odd - odd_step, even - even_step, a + 1.0
        if 2.0 * left * odd < _EXACT:
            break
        odd_step *= x * (a + b - 1.0) / a
        even_step *= x * (a + b - 0.5) / (a + 0.5)
        p, q = p * half / term, q * half / (term + 0.5)
        left -= p
    return min(1.0, max(0.0, chance))


_NOTHING: Final = 1e-100
"""A t whose square is too small to be a number."""

_VANISHING: Final = 600.0
"""Half the square of a shift from which its weights are too small to be numbers."""


def _log_scale(b: float) -> float:
    """Logarithm of ``1 / B(1/2, b)``, without the loss of digits of large gammas."""
    if b < _LARGE:
        return lgamma(b + 0.5) - lgamma(b) - 0.5 * log(pi)
    r = 1.0 / b  # Gamma(b + 1/2) / Gamma(b), Abramowitz & Stegun 6.1.47
    series = 1.0 + r * (-1 / 8 + r * (1 / 128 + r * (5 / 1024 + r * (-21 / 32768))))
    return 0.5 * log(b / pi) + log(series)


_LARGE: Final = 200.0


def _beyond(t: float, df: float) -> float:
    """Chance that a t variable is above ``t``, which is not negative."""
    if df >= _NORMAL_FROM:
        return normal_cdf(-t)
    ratio = min(t / sqrt(df), _FAR)
    return 0.5 * _beta(df / 2.0, 0.5, 1.0 / (1.0 + ratio * ratio), ratio * ratio)


_FAR: Final = 1e150
"""A ratio whose square is still a number."""


def _beta(a: float, b: float, x: float, odds: float) -> float:
    """The regularised incomplete beta function of ``x`` where one of ``a`` and ``b`` is 1/2.

    ``odds`` are ``(1 - x) / x``, which say more of an ``x`` near 1.
    """
    log_x = -log1p(odds)
    log_rest = log(odds) + log_x if odds else -inf
    front = exp(a * log_x + b * log_rest + _log_scale(b if a == 0.5 else a))
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _fraction(a, b, x) / a
    return 1.0 - front * _fraction(b, a, odds / (1.0 + odds)) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function by Lentz's method.

    Source: Press et al. (2007), Numerical Recipes, 3rd edition, 6.4.
    """
    c, d = 1.0, 1.0 / _not_0(1.0 - (a + b) * x / (a + 1.0))
    found = d
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for step in (even, odd):
            d = 1.0 / _not_0(1.0 + step * d)
            c = _not_0(1.0 + step / c)
            change = c * d
            found *= change
        if abs(change - 1.0) < 3 * _EXACT:
            break
    return found


def _not_0(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def _hill(p: float, df: float) -> float:
    """Near the t that is exceeded in either direction with the chance ``p``."""
    if df < 1.0 or (df < 2.0 and p < 1e-8):
        # the tail is a power of t
        return exp((_log_scale(df / 2.0) + (df / 2 - 1.0) * log(df) + log(2.0 / p)) / df)
    a = 1.0 / (df - 0.5)
    b = (48.0 / a) / a
    c = ((20700.0 * a / b - 98.0) * a - 16.0) * a + 96.36
    d = ((94.5 / (b + c) - 3.0) / b + 1.0) * sqrt(a * pi / 2.0) * df
    y = (d * p) ** (2.0 / df)
    if y > 0.05 + a:
        x = normal_quantile(p / 2.0)
        y = x * x
        if df < 5.0:
            c += 0.3 * (df - 4.5) * (x + 0.6)
        c += (((0.05 * d * x - 5.0) * x - 7.0) * x - 2.0) * x + b
        y = (((((0.4 * y + 6.3) * y + 36.0) * y + 94.5) / c - y - 3.0) / b + 1.0) * x
        y = a * y * y
        y = exp(y) - 1.0 if y > 0.002 else 0.5 * y * y + y
    else:
        first = ((df + 6.0) / (df * y) - 0.089 * d - 0.822) * (df + 2.0) * 3.0
        y = ((1.0 / first + 0.5 / (df + 4.0)) * y - 1.0) * (df + 1.0) / (df + 2.0) + 1.0 / y
    return sqrt(df * y) if y > 0.0 else _TINY


def _refined(t: float, log_beyond: float, df: float) -> float:
    """The t that is exceeded with the chance whose logarithm is given, by Newton's steps.

    Both logarithms are nearly a straight line against each other where t is large.
    """
    for _ in range(_MOST_STEPS):
        above = _beyond(t, df)
        if not (above > 0.0 and isfinite(t)):
            break
        density = exp(_log_scale(df / 2.0) - 0.5 * log(df) - (df + 1) / 2 * log1p(t * t / df))
        if not density:
            break
        step = (log(above) - log_beyond) * above / density
        moved = t * exp(step / t) if abs(step) > 0.5 * t else t + step
        if abs(moved - t) <= _SETTLED * t:
            return moved
        t = moved
    return t


_MOST_STEPS: Final = 60
_SETTLED: Final = 1e-8
"""A relative step after which the next, which is its square, would be none."""
