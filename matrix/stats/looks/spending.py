"""Looking several times at a plan of known length, by spending its error rate bit by bit.

Lan and DeMets: before the run, say how much of the error rate may have been used up when a share t
of the plan is over. Each look then gets the boundary that spends exactly its part, given that no
earlier boundary was crossed. A run that stops early, at a cost cap for instance, leaves the rest
unspent and stays valid. A run that goes on beyond the plan does not: one extension from 40 to 80
rounds makes .083 of .05.

Source: Lan & DeMets (1983), Biometrika 70:659; the recursion is Armitage, McPherson & Rowe's
(1969), JRSS A 132:235.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, log, pi, sqrt

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.interval import check_alpha
from matrix.stats.rounds.round_table import FloatArray
from matrix.stats.rounds.rules import MIN_ROUNDS

MOST_LOOKS = 500
"""Looks of one plan. A longer plan is looked at after every so many rounds, and at its end: the
cost of the boundary grows with the looks, and the gain from more of them is nothing."""

NODES_PER_STEP = 3.0
"""Nodes of the quadrature per standard deviation of one step: the integrands are as smooth as the
step's normal density, for which this is exact to about eight digits."""

SMALLEST_PART = 1e-15
"""Parts of an error rate below this are not worth a boundary, and have none."""


def squared_spending(alpha: float, share: npt.ArrayLike) -> FloatArray:
    """Error rate used up at a share of the plan: ``alpha t^2``; late looks get most of it.

    Args:
        alpha: Two-sided error rate of the whole plan.
        share: Shares of the plan that are over, from 0 to 1.
    """
    return np.asarray(check_alpha(alpha) * np.square(np.asarray(share, dtype=np.float64)))


def spending_boundary(information: npt.ArrayLike, spent: npt.ArrayLike) -> FloatArray:
    """Two-sided boundary for a standard normal statistic at each look.

    Args:
        information: Information at each look in any unit, such as rounds; rising, above 0,
            shape [K].
        spent: Error rate used up at each look, over both sides, never falling, shape [K].

    Returns:
        Boundary z of each look, shape [K]; infinite for a look that spends nothing.

    Raises:
        ValueError: If information or spending does not rise as it must.
    """
    steps, parts = _steps_and_parts(information, spent)
    boundary = np.full(steps.size, np.inf)
    nodes, weighted = np.zeros(1), np.ones(1) / 2  # all mass at 0, half of it on either side
    total, variance = 0.0, 0.0
    for look, (step, part) in enumerate(zip(steps, parts, strict=True)):
        total, variance = total + step, variance + step
        if part <= SMALLEST_PART:
            continue  # the next look's increment then covers this one's too
        deviation = sqrt(variance)
        guess = boundary[look - 1] if look and np.isfinite(boundary[look - 1]) else 4.0
        edge = _edge(nodes, weighted, deviation, part, guess * sqrt(total))
        boundary[look] = edge / sqrt(total)
        nodes, weighted = carried_density(nodes, weighted, deviation, edge)
        variance = 0.0
    return boundary


@lru_cache(maxsize=64)
def planned_tails(level: float, n_planned: int, first: int = MIN_ROUNDS) -> FloatArray:
    """One-sided tail of a normal statistic beyond the boundary after each round of a plan.

    Spending is ``level (n / n_planned)^2``, looked at after every round from ``first`` on. With
    more than `MOST_LOOKS` rounds only every so many are looked at, counted back from the end.

    Args:
        level: Two-sided error rate of the whole plan.
        n_planned: Rounds planned, N.
        first: Rounds at the first look.

    Returns:
        Tail by number of rounds, shape [N + 1]; 0 where there is no look. Read-only.
    """
    from scipy.special import ndtr

    tails = np.zeros(n_planned + 1)
    every = max(1, ceil((n_planned - first + 1) / MOST_LOOKS))
    looks = np.arange(n_planned, first - 1, -every)[::-1]
    if looks.size:
        z = spending_boundary(looks, squared_spending(level, looks / n_planned))
        tails[looks] = ndtr(-z)
    tails.setflags(write=False)
    return tails


def _steps_and_parts(
    information: npt.ArrayLike, spent: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    known = np.asarray(information, dtype=np.float64)
    used = np.asarray(spent, dtype=np.float64)
    if known.shape != used.shape or known.ndim != 1:
        raise ValueError(f"looks need one equal length; got {known.shape} and {used.shape}")
    steps, parts = np.diff(known, prepend=0.0), np.diff(used, prepend=0.0)
    if not (steps > 0).all():
        raise ValueError("information must rise from look to look, from above 0")
    if not (parts >= 0).all() or (used.size and not used[-1] < 1.0):
        raise ValueError("spending must not fall from look to look, and stay below 1")
    return steps, parts


def _edge(
    nodes: FloatArray, weighted: FloatArray, deviation: float, part: float, guess: float
) -> float:
    """Where the sum must stop so that ``part`` lies beyond, on both sides together.

    Newton's method on the logarithm, which is concave in the edge: it cannot run away.
    """
    from scipy.special import ndtr

    edge = guess
    for _ in range(100):
        below, above = (edge - nodes) / deviation, (edge + nodes) / deviation
        beyond = 2.0 * float(weighted @ (ndtr(-below) + ndtr(-above)))
        density = np.exp(-below * below / 2) + np.exp(-above * above / 2)
        slope = 2.0 * float(weighted @ density) / (deviation * sqrt(2 * pi))
        if not (beyond > 0.0 and slope > 0.0):
            edge /= 2  # so far out that nothing is left: come back
            continue
        move = beyond / slope * log(beyond / part)
        edge = max(edge + move, edge / 2)
        if abs(move) <= 1e-12 * edge:
            break
    return edge


def carried_density(
    nodes: FloatArray, weighted: FloatArray, deviation: float, edge: float
) -> tuple[FloatArray, FloatArray]:
    """Carry the density of a sum that has not crossed yet over one more look.

    Without a drift the density is symmetric, so one side is enough, with the kernel folded over.
    Sums with drift theta have the same density times ``exp(theta s - theta^2 n / 2)``.

    Args:
        nodes: Where the density is known at this look, at least 0, shape [m].
        weighted: Density there times the weight of its node: sums to half the chance of not having
            crossed, shape [m]. Before the first look: one node at 0, weighing 1/2.
        deviation: Standard deviation of what is added until the next look.
        edge: Boundary of the sum at the next look.

    Returns:
        Nodes and weighted density at the next look, on [0, ``edge``].
    """
    size = 16 * ceil((16 + NODES_PER_STEP * edge / deviation) / 16)
    points, weights = _legendre(size)
    later = edge * (points + 1) / 2
    low = (later[:, None] - nodes) / deviation
    high = (later[:, None] + nodes) / deviation
    kernel = np.exp(-low * low / 2) + np.exp(-high * high / 2)
    density = kernel @ weighted / (deviation * sqrt(2 * pi))
    return later, density * weights * edge / 2


@lru_cache(maxsize=32)
def _legendre(size: int) -> tuple[FloatArray, FloatArray]:
    points, weights = np.polynomial.legendre.leggauss(size)
    return np.asarray(points), np.asarray(weights)
