"""Proportions: how often something happened, and how two such rates differ.

Gate with Clopper-Pearson (it never covers less than it says), display Wilson (it covers what it
says on average). Differences use Newcombe's hybrid intervals for pairs, which stay inside [-1, 1]
and keep a width when nobody failed, where the Wald interval collapses to a point.

All rates are fractions, not percentages. No observations means no interval: ``None``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil, comb, log2, sqrt
from typing import Final

from matrix.stats.estimates.interval import Interval, check_alpha
from matrix.stats.estimates.student import normal_quantile, t_quantile


@dataclass(frozen=True, slots=True)
class McNemar:
    """McNemar's test of equal rates in paired yes/no data, from the pairs that disagree.

    Attributes:
        b: Pairs where only the first is a yes.
        c: Pairs where only the second is a yes.
        p_exact: Two-sided exact p; it cannot reach .05 while ``b + c`` < 6.
        p_mid: Two-sided mid-p: half the chance of the observed split is taken off each tail.
    """

    b: int
    c: int
    p_exact: float
    p_mid: float


def wilson(successes: int, n: int, alpha: float = 0.05) -> Interval | None:
    """Wilson's score interval for one proportion.

    Source: Wilson (1927), JASA 22:209; Newcombe (1998), Stat Med 17:857, method 3.

    Args:
        successes: Number of successes, 0 to ``n``.
        n: Number of trials; 0 gives ``None``.
        alpha: Two-sided error rate.
    """
    _check_count(successes, n)
    z = normal_z(alpha)
    return Interval(*wilson_ends(successes, n, z), 1.0 - alpha) if n else None


def wilson_clustered(
    successes: Sequence[int], sizes: Sequence[int], alpha: float = 0.05
) -> Interval | None:
    """Wilson's interval for a share whose trials come in clusters that may stand or fall together.

    The number of trials is replaced by the number of independent ones that would leave as much
    doubt: ``p (1 - p) / se^2`` by the clustered standard error, times ``(z / t)^2`` for the few
    clusters that it is from. Sources: Korn & Graubard (1998), Survey Methodology 24:193; Dean &
    Pagano (2015), J Surv Stat Methodol 3:484. Where clusters do not differ, that error shows
    nothing: then each counts as one trial. More than all trials are never taken; clusters of one
    are Wilson's own case. Ten clusters of eight with an intraclass correlation of .3 are covered
    90 % (a share of .9) to 95 % (.7), where Wilson's own covers 76 %.

    Args:
        successes: Successes of each cluster.
        sizes: Trials of each cluster, at least 1.
        alpha: Two-sided error rate.

    Returns:
        The interval; ``None`` without clusters.
    """
    for count, size in zip(successes, sizes, strict=True):
        _check_count(count, size)
    n, clusters, z = sum(sizes), len(sizes), normal_z(alpha)
    if not n:
        return None
    share, effective = sum(successes) / n, float(clusters)
    squares = sum((s - share * m) ** 2 for s, m in zip(successes, sizes, strict=True))
    if n > clusters > 1 and squares > 0:
        variance = clusters / (clusters - 1) * squares / n**2
        fewer = (z / t_quantile(1 - alpha / 2, clusters - 1)) ** 2
        effective = min(float(n), share * (1 - share) / variance * fewer)
    return Interval(*wilson_ends(share * effective, effective, z), 1.0 - alpha)


def wilson_of_groups(
    trials: Iterable[tuple[Hashable, bool]], alpha: float = 0.05
) -> tuple[Interval, int] | None:
    """`wilson_clustered` for trials that each say which cluster they are of.

    Args:
        trials: Cluster, and whether it is a success; of each trial.
        alpha: Two-sided error rate.

    Returns:
        The interval and the number of clusters; ``None`` without trials.
    """
    clusters: dict[Hashable, list[bool]] = {}
    for cluster, success in trials:
        clusters.setdefault(cluster, []).append(success)
    each = clusters.values()
    share = wilson_clustered([sum(one) for one in each], [len(one) for one in each], alpha)
    return None if share is None else (share, len(clusters))


def clopper_pearson_lower(successes: int, n: int, alpha: float = 0.05) -> float:
    """One-sided lower bound for a proportion at error rate ``alpha``; 0 without any success.

    A pass gate at ``p0`` passes if this is at least ``p0``: all-pass takes 29 trials for .9.
    """
    from scipy.special import betaincinv

    check_alpha(alpha)
    _check_count(successes, n)
    return 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, alpha))


def clopper_pearson_upper(successes: int, n: int, alpha: float = 0.05) -> float:
    """One-sided upper bound for a proportion at error rate ``alpha``; 1 without any failure."""
    return 1.0 - clopper_pearson_lower(n - successes, n, alpha)


def clopper_pearson_effective(
    rate: float, se: float, n: int, df: float, alpha: float = 0.05
) -> Interval:
    """Clopper's and Pearson's interval for a rate whose trials are no independent ones.

    The number of trials is that of independent ones that would leave as much doubt,
    ``rate (1 - rate) / se^2``, times ``(t_(n - 1) / t_df)^2`` for what is known of that error; at
    most all there are. Source: Korn & Graubard (1998), Survey Methodology 24:193.

    Args:
        rate: Share of successes, strictly between 0 and 1.
        se: Its standard error, above 0.
        n: Trials, at least 2.
        df: Degrees of freedom of the standard error.
        alpha: Two-sided error rate.
    """
    from scipy.special import betaincinv

    check_alpha(alpha)
    fewer = (t_quantile(1 - alpha / 2, n - 1) / t_quantile(1 - alpha / 2, df)) ** 2
    trials = min(float(n), rate * (1.0 - rate) / se**2 * fewer)
    yes, no = rate * trials, (1.0 - rate) * trials
    low, high = betaincinv(yes, no + 1.0, alpha / 2), betaincinv(yes + 1.0, no, 1.0 - alpha / 2)
    return Interval(float(low), float(high), 1.0 - alpha)


def newcombe_paired(a: float, b: float, c: float, d: float, alpha: float = 0.05) -> Interval | None:
    """Interval for the difference of two paired proportions, first minus second: ``(b - c) / n``.

    Source: Newcombe (1998), Stat Med 17:2635, method 10: Wilson limits joined through the
    correlation ``phi``, whose numerator is shrunk by ``n / 2`` where it is positive.

    Args:
        a: Pairs with a yes in both.
        b: Pairs where only the first is a yes.
        c: Pairs where only the second is a yes.
        d: Pairs with a no in both. Counts may be fractional, for projections.
        alpha: Two-sided error rate. For a one-sided bound at ``g`` pass ``2 * g``.

    Returns:
        The interval, or ``None`` without any pair.
    """
    if not all(count >= 0 for count in (a, b, c, d)):
        raise ValueError(f"pair counts cannot be negative; got {(a, b, c, d)}")
    z = normal_z(alpha)
    n = a + b + c + d
    if n == 0:
        return None
    p_1, p_2, phi = (a + b) / n, (a + c) / n, _newcombe_phi(a, b, c, d)
    low_1, high_1 = wilson_ends(a + b, n, z)
    low_2, high_2 = wilson_ends(a + c, n, z)
    below = _joined(p_1 - low_1, high_2 - p_2, phi)
    above = _joined(high_1 - p_1, p_2 - low_2, phi)
    difference = (b - c) / n
    return Interval(difference - below, difference + above, 1.0 - alpha)


def mcnemar(b: int, c: int) -> McNemar:
    """McNemar's exact and mid-p tests from the two counts of pairs that disagree.

    Source: Fagerland, Lydersen & Laake (2013), BMC Med Res Methodol 13:91. With m = min(b, c) and
    F the binomial(b + c, 1/2) distribution function, exact p = 2 F(m), mid-p = F(m) + F(m - 1).
    Without any disagreement both are 1.
    """
    if not (b >= 0 and c >= 0):
        raise ValueError(f"pair counts cannot be negative; got {(b, c)}")
    if b == c:
        return McNemar(b, c, 1.0, 1.0)
    m, n = min(b, c), b + c
    up_to, below = _coins(m, n), _coins(m - 1, n)
    return McNemar(b, c, min(1.0, 2.0 * up_to), min(1.0, up_to + below))


def _coins(m: int, n: int) -> float:
    """Chance of at most ``m`` heads in ``n`` throws of a fair coin."""
    if n <= _COUNTED:
        return float(sum(comb(n, k) for k in range(m + 1)) / 2**n)
    from scipy.special import betainc

    return float(betainc(n - m, m + 1, 0.5)) if m >= 0 else 0.0


_COUNTED: Final = 300
"""Throws up to which every outcome is counted, exactly and in no time."""


def discordant_needed(level: float) -> int:
    """Fewest differing yes/no pairs at which an exact two-sided p can reach ``level``: 6 for .05.

    All m pairs pointing one way have p = 2 / 2**m.
    """
    return ceil(1 + log2(1 / level))


def normal_z(alpha: float) -> float:
    """The normal quantile of a two-sided error rate: 1.96 of .05."""
    return -normal_quantile(check_alpha(alpha) / 2)


def wilson_ends(successes: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's limits at a normal quantile; counts may be fractional, for projections."""
    centre = (successes + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * sqrt(successes * (n - successes) / n + z * z / 4)
    low = 0.0 if successes == 0 else centre - half
    return low, 1.0 if successes == n else centre + half


def _newcombe_phi(a: float, b: float, c: float, d: float) -> float:
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    if margins == 0:
        return 0.0
    cross = a * d - b * c
    return (max(cross - (a + b + c + d) / 2, 0.0) if cross > 0 else cross) / sqrt(margins)


def _joined(first: float, second: float, phi: float) -> float:
    # Rounding can push a perfect correlation a hair below zero.
    return sqrt(max(0.0, first * first - 2 * phi * first * second + second * second))


def _check_count(successes: int, n: int) -> None:
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie between 0 and n; got {successes} of {n}")
