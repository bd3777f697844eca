"""The cost-quality frontier: variants that no other beats on both counts.

Membership is a share of bootstrap draws over rounds. It describes how firmly a variant sits on the
frontier of this run; it is no test and decides nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.bootstrap import MOST_AT_ONCE
from matrix.stats.estimates.samples import finite_sample, finite_table

FRONTIER_DRAWS = 2000


def frontier(
    quality: npt.ArrayLike, cost: npt.ArrayLike, *, higher_is_better: bool = True
) -> npt.NDArray[np.bool_]:
    """Which variants are on the frontier: none is at least as good and as cheap, and one of both.

    Args:
        quality: Mean score of each variant, shape [k].
        cost: Mean cost of each, shape [k], same order.
        higher_is_better: Direction of the score.

    Returns:
        Shape [k]. Variants alike in both are on it together.
    """
    q, c = finite_sample(quality), finite_sample(cost)
    if q.size != c.size:
        raise ValueError(f"every variant needs one score and one cost; got {q.size} and {c.size}")
    alone = _undominated((q if higher_is_better else -q)[None], c[None])
    return alone.reshape(q.size)


def frontier_membership(
    quality: npt.ArrayLike,
    cost: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    draws: int = FRONTIER_DRAWS,
    higher_is_better: bool = True,
) -> npt.NDArray[np.float64] | None:
    """Share of round-bootstrap draws in which each variant is on the frontier; descriptive only.

    Args:
        quality: Mean score by round and variant, shape [n, k], finite.
        cost: Cost by round and variant, same shape, failed sessions included.
        rng: Source of the draws.
        draws: Resamples of the rounds, the same rounds for every variant.
        higher_is_better: Direction of the score.

    Returns:
        Shape [k], from 0 to 1; ``None`` without rounds.
    """
    q, c = finite_table(quality, "[rounds, variants]"), finite_table(cost, "[rounds, variants]")
    if q.shape != c.shape:
        raise ValueError(f"scores and costs need one shape; got {q.shape} and {c.shape}")
    if draws < 1:
        raise ValueError(f"a bootstrap takes at least 1 draw; got {draws}")
    n, k = q.shape
    if n == 0:
        return None
    sign = 1.0 if higher_is_better else -1.0
    on = np.zeros(k, dtype=np.int64)
    block = max(1, MOST_AT_ONCE // max(n, k * k))
    for start in range(0, draws, block):
        size = min(block, draws - start)
        # How often each round is drawn, as weights: all means are then two products of matrices.
        weights = rng.multinomial(n, np.full(n, 1.0 / n), size=size).astype(np.float64)
        on += _undominated(sign * (weights @ q), weights @ c).sum(axis=0)
    return on / draws


def _undominated(
    quality: npt.NDArray[np.float64], cost: npt.NDArray[np.float64]
) -> npt.NDArray[np.bool_]:
    """Which variants of each row no other one dominates; [draws, k] to [draws, k]."""
    better = quality[:, :, None] - quality[:, None, :]
    cheaper = cost[:, None, :] - cost[:, :, None]
    dominated = (better >= 0) & (cheaper >= 0) & ((better > 0) | (cheaper > 0))
    return np.asarray(~dominated.any(axis=1))
