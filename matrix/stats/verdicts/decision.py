"""What shipping each variant now would risk, where nothing is shown.

The chance of being best and the expected loss of every variant, from the joint posterior of their
means. They describe; they are no verdict, have no error rate, and name no winner.

Model: the k means of a round are normal with any covariance. Only differences between variants
matter, so what a round does to all of them cancels. Prior of the differences: normal around 0 with
the covariance of one round's differences, that is, one more round in which all variants came out
equal (unit information; Kass & Wasserman 1995, JASA 90:928). Prior of their covariance: inverse
Wishart, in the limit of k - 2 degrees of freedom, whose scale matrix is the expected scatter of one
round in which variants are independent and spread alike, by as much as pairs do on average. For
complete rounds the posterior is then the conjugate one of Gelman et al. (2013), Bayesian Data
Analysis, 3rd ed., section 3.6, in the k - 1 differences: multivariate t with n degrees of freedom,
centred on n/(n + 1) times the differences seen. For two variants with mean difference d, of
standard deviation s from round to round, its squared scale is ``(s^2 + d^2 / (n + 1)) / (n + 1)``.

Rounds that miss a variant count for the others: covariances come from the rounds that a pair has in
common, the means are weighted by them (generalised least squares), and the degrees of freedom are
those of the pair with the fewest common rounds.

Expected loss: Berry (1996), Statistics: A Bayesian Perspective; as a rule for tests of variants,
Stucchio (2015), Bayesian A/B Testing at VWO.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.means import ROUNDING
from matrix.stats.rounds.round_table import BoolArray, FloatArray

DRAWS = 20_000
"""A chance of one half is then known to .0035."""

FEWEST = 2
"""Rounds in common below which a pair says nothing of its spread."""

SINGULAR = 1e-12
"""Eigenvalues below this share of the largest are rounding: the level common to all variants."""


@dataclass(frozen=True, slots=True)
class DecisionAid:
    """What shipping each variant now would risk. In the order given; ``None`` where it is unknown.

    Attributes:
        chance_best: Posterior chance that the variant's mean is the best of those compared; they
            add up to 1.
        expected_loss: Points given up on average if the variant is shipped and another is better:
            the posterior mean of the best one's lead over it.
        cost: Dollars per completed session, as given.
        prior_sd: Standard deviation of the prior of a difference, in points, root mean square over
            pairs: as far as one round's differences spread.
        rounds: Rounds that the pair with the fewest has in common; pairs without two do not count.
    """

    chance_best: tuple[float | None, ...]
    expected_loss: tuple[float | None, ...]
    cost: tuple[float | None, ...]
    prior_sd: float
    rounds: int


def decision_aid(
    means: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    higher_is_better: bool = True,
    cost: Sequence[float | None] | None = None,
    draws: int = DRAWS,
) -> DecisionAid | None:
    """Simulate the joint posterior of the means, and count how often and by how much each is best.

    Args:
        means: Mean of each variant in each round, shape [n, k], NaN where it has none.
        rng: Source of the draws; the same seed gives the same figures.
        higher_is_better: Direction of the score.
        cost: Dollars per completed session, shape [k]; only carried along.
        draws: Draws from the posterior, at least 1.

    Returns:
        ``None`` unless two variants have two rounds in common, and without any spread of their
        differences, which leaves neither prior nor posterior a scale. A variant that shares fewer
        than two rounds with every other is left out, its figures ``None``.

    Raises:
        ValueError: If ``means`` is no table or infinite somewhere, ``cost`` is not one per variant,
            or ``draws`` is below 1.
    """
    table = np.asarray(means, dtype=np.float64)
    costs = _checked(table, cost, draws)
    seen = ~np.isnan(table)
    common = seen.T.astype(np.int64) @ seen
    paired = (common >= FEWEST) & ~np.eye(table.shape[1], dtype=np.bool_)
    used = np.flatnonzero(paired.any(axis=0))
    if not used.size:
        return None
    values = table[:, used] if higher_is_better else -table[:, used]
    values = values[seen[:, used].sum(axis=1) >= 2]
    counts, known = common[np.ix_(used, used)], paired[np.ix_(used, used)]
    spread, covariance = _covariance(values, counts, known)
    if not spread > 0.0:
        return None
    rounds = int(counts[known].min())
    centre, root = _posterior(values, covariance)
    scale = np.sqrt(rounds / rng.chisquare(rounds, size=(draws, 1)))
    drawn = centre + scale * (rng.standard_normal((draws, used.size)) @ root)
    behind = drawn.max(axis=1, keepdims=True) - drawn
    chance, loss = np.full((2, table.shape[1]), np.nan)
    chance[used] = np.bincount(behind.argmin(axis=1), minlength=used.size) / draws
    loss[used] = behind.mean(axis=0)
    return DecisionAid(_known(chance), _known(loss), costs, spread, rounds)


def _checked(
    table: FloatArray, cost: Sequence[float | None] | None, draws: int
) -> tuple[float | None, ...]:
    """The costs, one per variant, once all arguments are found to be in order."""
    if table.ndim != 2:
        raise ValueError(f"means have shape [n, k]; got shape {table.shape}")
    if np.isinf(table).any():
        raise ValueError("means are finite, or NaN where a variant has none in a round")
    if draws < 1:
        raise ValueError(f"a posterior is simulated with at least one draw; got {draws}")
    costs = (None,) * table.shape[1] if cost is None else tuple(cost)
    if len(costs) != table.shape[1]:
        raise ValueError(f"costs are one per variant, {table.shape[1]}; got {len(costs)}")
    return costs


def _covariance(
    values: FloatArray, counts: npt.NDArray[np.int64], known: BoolArray
) -> tuple[float, FloatArray]:
    """Spread of one round's differences, and the posterior scale matrix of a round's values.

    The matrix is known but for what is common to all variants, so its rows are centred to sum to 0.
    """
    k = values.shape[1]
    gaps = values[:, :, None] - values[:, None, :]
    n = np.maximum(counts, 1)
    total, squares = np.nansum(gaps, axis=0), np.nansum(gaps * gaps, axis=0)
    centred = gaps - total / n
    around = np.nansum(centred * centred, axis=0)
    noise = ROUNDING * np.nanmax(np.abs(values))
    around[around <= n * noise * noise] = 0.0
    pooled = float((around / np.maximum(n - 1, 1))[known].mean())
    # scatter around the mean with one more round without differences, plus the prior's own
    apart = np.where(known, (squares - total * total / (n + 1) + pooled) / n, pooled)
    np.fill_diagonal(apart, 0.0)
    centring = np.eye(k) - 1.0 / k
    roots, vectors = np.linalg.eigh(-centring @ apart @ centring / 2)
    # pairs with different rounds may not fit together; the prior's part is the least there can be
    roots = np.maximum(roots, pooled / (2 * n.max()))
    return float(np.sqrt(pooled)), centring @ (vectors * roots) @ vectors.T @ centring


def _posterior(values: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Centre of the variants' means around their common level, and a root of its scale matrix."""
    k = covariance.shape[0]
    precision, weighted = _inverse(covariance), np.zeros(k)
    seen = ~np.isnan(values)
    for pattern in np.unique(seen, axis=0):
        rows = values[(seen == pattern).all(axis=1)][:, pattern]
        places = np.ix_(pattern, pattern)
        centring = np.eye(rows.shape[1]) - 1.0 / rows.shape[1]
        of_these = _inverse(centring @ covariance[places] @ centring)
        precision[places] += rows.shape[0] * of_these
        weighted[pattern] += of_these @ rows.sum(axis=0)
    scale = _inverse(precision)
    roots, vectors = np.linalg.eigh(scale)
    return scale @ weighted, (vectors * np.sqrt(np.maximum(roots, 0.0))).T


def _inverse(matrix: FloatArray) -> FloatArray:
    """Inverse among differences, where the level common to all variants has no part."""
    return np.asarray(np.linalg.pinv(matrix, rcond=SINGULAR, hermitian=True))


def _known(figures: FloatArray) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(figure) else float(figure) for figure in figures)
