"""How well judges agree, beyond chance: Cohen's kappa for two, Krippendorff's alpha for many.

1 is full agreement, 0 what chance gives, below 0 less than that. Shown beside a verdict that rests
on judges. Agreement does not excuse a judge that errs differently for different variants.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.bootstrap import DRAWS, check_draws, resamples
from matrix.stats.estimates.interval import Interval
from matrix.stats.estimates.proportions import wilson
from matrix.stats.estimates.samples import finite_sample

AGREEMENT_WARN_BELOW = 0.6
"""Below this, scores of these judges are too unlike each other to lean on."""

KappaWeights = Literal["nominal", "quadratic"]
RatingLevel = Literal["nominal", "ordinal", "interval", "ratio"]


def cohen_kappa(
    first: npt.ArrayLike, second: npt.ArrayLike, weights: KappaWeights = "quadratic"
) -> float | None:
    """Cohen's kappa of two judges of the same transcripts.

    Args:
        first: Ratings of the first judge, shape [n], finite.
        second: Ratings of the second, in the same order.
        weights: ``nominal``: different is different. ``quadratic``: by the squared distance of the
            ratings, for scales such as 1 to 5.

    Returns:
        Kappa; ``None`` where it is undefined: no ratings, or one and the same rating throughout.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"two judges rate the same transcripts; got {a.shape} and {b.shape}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("ratings are finite; leave transcripts out that lack one")
    values, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
    table = np.zeros((values.size, values.size))
    np.add.at(table, (codes[: a.size], codes[a.size :]), 1.0)
    return _kappa(table, values, weights)


def kappa_interval(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    rng: np.random.Generator,
    alpha: float = 0.05,
    *,
    weights: KappaWeights = "quadratic",
    draws: int = DRAWS,
) -> Interval | None:
    """Interval for Cohen's kappa: quantiles over resampled transcripts.

    Full agreement would give an interval without width, however few the transcripts. Its lower end
    is then nominal kappa with Wilson's lower bound for the share of transcripts that agree.

    Args:
        first: Ratings of the first judge, shape [n], finite.
        second: Ratings of the second, in the same order.
        rng: Source of the draws; the same seed gives the same interval.
        alpha: Two-sided error rate.
        weights: As :func:`cohen_kappa`.
        draws: Resamples.

    Returns:
        The interval; ``None`` where kappa is not defined, or one judge always says the same: it
        is 0 then in every resample, which shows nothing of how sure that is.
    """
    a, b = finite_sample(first), finite_sample(second)
    check_draws(draws, alpha)
    found = cohen_kappa(a, b, weights)
    if found is None or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    drawn = [
        kappa
        for places in resamples(a.size, draws, rng)
        for row in places
        if (kappa := cohen_kappa(a[row], b[row], weights)) is not None
    ]
    low, high = np.quantile(drawn, [alpha / 2, 1 - alpha / 2]) if drawn else (found, found)
    agreed = int((a == b).sum())
    if agreed == a.size:
        bound = wilson(agreed, a.size, alpha)
        by_chance = float(((np.unique(a, return_counts=True)[1] / a.size) ** 2).sum())
        low = -1.0 if bound is None else (bound.low - by_chance) / (1 - by_chance)
    return Interval(float(low), float(max(high, found)), 1.0 - alpha)


def krippendorff_alpha(ratings: npt.ArrayLike, level: RatingLevel = "ordinal") -> float | None:
    """Krippendorff's alpha of any number of judges, who need not all rate everything.

    ``1 - observed / expected disagreement`` over all pairs of ratings of one transcript.
    Source: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability. Memory grows with the
    square of the number of different ratings: meant for scales, such as 1 to 5 or 0 to 100.

    Args:
        ratings: By judge and transcript, shape [judges, transcripts]; NaN where there is none.
            Transcripts with fewer than two ratings are left out.
        level: What distances between ratings mean: ``nominal`` none, ``ordinal`` by rank,
            ``interval`` equal steps, ``ratio`` relative to their sum (ratings from 0 on).

    Returns:
        Alpha; ``None`` where it is undefined: nothing rated twice, or one rating throughout.
    """
    found = np.asarray(ratings, dtype=np.float64)
    if found.ndim != 2 or np.isinf(found).any():
        raise ValueError(f"ratings are finite, [judges, transcripts]; got shape {found.shape}")
    if level == "ratio" and (found < 0).any():
        raise ValueError("ratings on a ratio scale are 0 or more; use level interval")
    kept = found[:, (~np.isnan(found)).sum(axis=0) >= 2]
    rated = ~np.isnan(kept)
    values, codes = np.unique(kept[rated], return_inverse=True)
    if values.size < 2:
        return None
    per_value = np.zeros((values.size, kept.shape[1]))
    np.add.at(per_value, (codes, np.nonzero(rated)[1]), 1.0)
    raters = per_value.sum(axis=0)
    # Ordered pairs of ratings within a transcript, each transcript weighing as its ratings do.
    coincidences = (per_value / (raters - 1)) @ per_value.T
    coincidences -= np.diag((per_value / (raters - 1)).sum(axis=1))
    totals = coincidences.sum(axis=1)
    apart = _distances(values, totals, level)
    expected = float(totals @ apart @ totals) / (float(totals.sum()) - 1.0)
    return 1.0 - float((coincidences * apart).sum()) / expected


def _kappa(
    table: npt.NDArray[np.float64], values: npt.NDArray[np.float64], weights: KappaWeights
) -> float | None:
    if weights not in ("nominal", "quadratic"):
        raise ValueError(f"unknown weights {weights!r}; known are nominal, quadratic")
    n = float(table.sum())
    if n == 0:
        return None
    apart = _distances(values, table.sum(axis=1), "nominal" if weights == "nominal" else "interval")
    expected = float(table.sum(axis=1) @ apart @ table.sum(axis=0)) / n
    return None if expected == 0 else 1.0 - float((table * apart).sum()) / expected


def _distances(
    values: npt.NDArray[np.float64], totals: npt.NDArray[np.float64], level: RatingLevel
) -> npt.NDArray[np.float64]:
    """Squared distances of all pairs of values, shape [v, v]; ``totals`` how often each occurs."""
    if level == "nominal":
        return 1.0 - np.eye(values.size)
    if level == "interval":
        return np.asarray((values[:, None] - values[None]) ** 2, dtype=np.float64)
    if level == "ratio":
        sums = values[:, None] + values[None]
        parts = (values[:, None] - values[None]) / np.where(sums == 0, 1.0, sums)
        return np.asarray(parts**2, dtype=np.float64)
    if level == "ordinal":
        # Ranks: everything below a value, and half of its own.
        ranks = np.cumsum(totals) - totals / 2
        return np.asarray((ranks[:, None] - ranks[None]) ** 2, dtype=np.float64)
    raise ValueError(f"unknown level {level!r}; known are nominal, ordinal, interval, ratio")
