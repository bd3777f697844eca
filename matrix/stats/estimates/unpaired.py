"""Two samples that share nothing, such as a judge's errors on two variants: Welch's t."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy.typing as npt

from matrix.stats.estimates.interval import Interval, check_alpha
from matrix.stats.estimates.means import summarize
from matrix.stats.estimates.student import t_quantile, t_two_sided_p


@dataclass(frozen=True, slots=True)
class Welch:
    """Difference of two independent means, second minus first.

    Attributes:
        difference: ``None`` if either sample is empty.
        se: Standard error of the difference; ``None`` if either sample has fewer than two values,
            or neither has any spread.
        df: Satterthwaite's degrees of freedom; ``None`` where ``se`` is.
        t: Difference over standard error; ``None`` where ``se`` is.
        p: Two-sided p-value; ``None`` where ``se`` is.
        interval: t interval for the difference; ``None`` where ``se`` is.
    """

    difference: float | None
    se: float | None
    df: float | None
    t: float | None
    p: float | None
    interval: Interval | None


def welch(first: npt.ArrayLike, second: npt.ArrayLike, alpha: float = 0.05) -> Welch:
    """Test whether two independent samples have the same mean, without equal variances.

    Source: Welch (1947), Biometrika 34:28.

    Args:
        first: Shape [n], finite.
        second: Shape [m], finite.
        alpha: Two-sided error rate of the interval.
    """
    check_alpha(alpha)
    a, b = summarize(first, alpha), summarize(second, alpha)
    if a.mean is None or b.mean is None:
        return Welch(None, None, None, None, None, None)
    difference = b.mean - a.mean
    parts = [0.0 if x.identical else x.se for x in (a, b)]
    if parts[0] is None or parts[1] is None or max(parts[0], parts[1]) == 0.0:
        return Welch(difference, None, None, None, None, None)
    v, w = parts[0] ** 2, parts[1] ** 2
    se, df = sqrt(v + w), (v + w) ** 2 / (v**2 / (a.n - 1) + w**2 / (b.n - 1))
    half, t = t_quantile(1 - alpha / 2, df) * se, difference / se
    interval = Interval(difference - half, difference + half, 1.0 - alpha)
    return Welch(difference, se, df, t, t_two_sided_p(t, df), interval)
