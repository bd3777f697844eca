"""Several questions of one data set: adjusted p-values, and the level for picking one winner."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.interval import check_alpha


def holm(p_values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Holm's adjusted p-values: the chance of any false finding stays at the level compared with.

    For comparisons with a baseline. Source: Holm (1979), Scand J Stat 6:65.

    Args:
        p_values: Shape [m], each from 0 to 1, in any order. Empty is allowed.

    Returns:
        Shape [m], in the order given.
    """
    p, order = _sorted(p_values)
    adjusted = np.maximum.accumulate(p * np.arange(p.size, 0, -1))
    return _in_given_order(adjusted, order)


def benjamini_hochberg(p_values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Benjamini and Hochberg's adjusted p-values: bounds the share of false ones among findings.

    For secondary metrics. Source: Benjamini & Hochberg (1995), JRSS B 57:289. Arguments and
    result as `holm`.
    """
    p, order = _sorted(p_values)
    scaled = p * p.size / np.arange(1, p.size + 1)
    adjusted = np.minimum.accumulate(scaled[::-1])[::-1]
    return _in_given_order(adjusted, order)


def e_benjamini_hochberg(e_values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Adjusted p-values from e-values, for secondary metrics that are looked at repeatedly.

    Compared with alpha they give the e-BH procedure: the i largest are findings if the i-th is at
    least ``m / (alpha i)``. It bounds the share of false findings whatever the dependence and
    whenever one looks. Source: Wang & Ramdas (2022), JRSS B 84:822.

    Args:
        e_values: Shape [m], at least 0, infinity allowed, in any order.

    Returns:
        Shape [m], in the order given, from 0 to 1.
    """
    e = np.asarray(e_values, dtype=np.float64)
    if e.ndim != 1:
        raise ValueError(f"e-values come as one row; got shape {e.shape}")
    if not (e >= 0).all():
        raise ValueError("e-values are 0 or more; leave tests that were not made out")
    with np.errstate(divide="ignore", over="ignore"):
        return benjamini_hochberg(np.minimum(1.0 / e, 1.0))


def pairwise_level(alpha: float, n_variants: int) -> float:
    """Two-sided level of each pairwise comparison when a winner must beat every other variant.

    At ``alpha / (k - 1)`` the chance of a false winner among k variants that are all equal is at
    most ``alpha k / (2 (k - 1))``, and the true best is beaten with at most ``alpha / 2``.

    Raises:
        ValueError: With fewer than two variants.
    """
    if n_variants < 2:
        raise ValueError(f"a comparison needs at least two variants; got {n_variants}")
    return check_alpha(alpha) / (n_variants - 1)


def _sorted(
    p_values: npt.ArrayLike,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1:
        raise ValueError(f"p-values come as one row; got shape {p.shape}")
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("p-values lie between 0 and 1; leave tests that were not made out")
    order = np.argsort(p, kind="stable")
    return p[order], order


def _in_given_order(
    adjusted: npt.NDArray[np.float64], order: npt.NDArray[np.intp]
) -> npt.NDArray[np.float64]:
    result = np.empty_like(adjusted)
    result[order] = np.minimum(adjusted, 1.0)
    return result
