"""Two samples that share no rounds, such as two runs with different seeds.

The i-th session of a scenario in one run can be paired with the i-th in the other: any pairing that
the scores had no part in is valid, and costs only degrees of freedom. It keeps scenarios balanced.
Where even that is not possible, Welch's t compares the two samples as they are.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.interval import Interval, check_alpha
from matrix.stats.estimates.means import summarize
from matrix.stats.estimates.student import t_quantile, t_two_sided_p


@dataclass(frozen=True, slots=True)
class Welch:
    """Difference of two independent means, second minus first.

    Attributes:
        n_first: Values of the first sample.
        n_second: Values of the second.
        difference: ``None`` if either sample is empty.
        se: Standard error of the difference; ``None`` if either sample has fewer than two values,
            or neither has any spread.
        df: Satterthwaite's degrees of freedom; ``None`` where ``se`` is.
        t: Difference over standard error; ``None`` where ``se`` is.
        p: Two-sided p-value; ``None`` where ``se`` is.
        interval: t interval for the difference; ``None`` where ``se`` is.
    """

    n_first: int
    n_second: int
    difference: float | None
    se: float | None
    df: float | None
    t: float | None
    p: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True, eq=False)
class LaunchPairs:
    """Sessions of two runs paired by launch number within scenario, gathered into rounds.

    Attributes:
        means: Mean of each round over its scored scenarios, first and second run, shape [n, 2].
        scenarios: Scenarios that both runs have, in the first run's order.
        pairs: Pairs in ``means``.
        pairs_unscored: Pairs left out because a session has no score.
        unmatched: Sessions of the first and of the second run without a partner.
    """

    means: npt.NDArray[np.float64]
    scenarios: tuple[Hashable, ...]
    pairs: int
    pairs_unscored: int
    unmatched: tuple[int, int]


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
        return Welch(a.n, b.n, None, None, None, None, None, None)
    difference = b.mean - a.mean
    parts = [0.0 if x.identical else x.se for x in (a, b)]
    if parts[0] is None or parts[1] is None or max(parts[0], parts[1]) == 0.0:
        return Welch(a.n, b.n, difference, None, None, None, None, None)
    v, w = parts[0] ** 2, parts[1] ** 2
    se, df = sqrt(v + w), (v + w) ** 2 / (v**2 / (a.n - 1) + w**2 / (b.n - 1))
    half, t = t_quantile(1 - alpha / 2, df) * se, difference / se
    interval = Interval(difference - half, difference + half, 1.0 - alpha)
    return Welch(a.n, b.n, difference, se, df, t, t_two_sided_p(t, df), interval)


def pair_by_launch(
    scenarios_first: Sequence[Hashable],
    scores_first: npt.ArrayLike,
    scenarios_second: Sequence[Hashable],
    scores_second: npt.ArrayLike,
) -> LaunchPairs:
    """Pair the i-th session of every scenario in two runs; the i-th pairs make up round i.

    Args:
        scenarios_first: Scenario of each session of the first run, in launch order, shape [m].
        scores_first: Score of each; NaN for one without a score, whose pair is then left out.
        scenarios_second: As the first, for the second run, shape [l].
        scores_second: As the first.

    Returns:
        Pairs; ``means`` has no rows if the runs have no scenario in common. The differences of its
        columns go to `matrix.stats.paired_t`.

    Raises:
        ValueError: If a run has not one score per session, or a score is infinite.
    """
    first = _by_scenario(scenarios_first, scores_first)
    second = _by_scenario(scenarios_second, scores_second)
    common = tuple(name for name in first if name in second)
    lengths = [min(len(first[name]), len(second[name])) for name in common]
    cube = np.full((max(lengths, default=0), len(common), 2), np.nan)
    for place, (name, length) in enumerate(zip(common, lengths, strict=True)):
        cube[:length, place, 0] = first[name][:length]
        cube[:length, place, 1] = second[name][:length]
    scored = ~np.isnan(cube).any(axis=2)
    used = scored.any(axis=1)
    total = np.where(scored[used, :, None], cube[used], 0.0).sum(axis=1)
    matched = sum(lengths)
    return LaunchPairs(
        means=total / scored[used].sum(axis=1)[:, None],
        scenarios=common,
        pairs=int(scored.sum()),
        pairs_unscored=matched - int(scored.sum()),
        unmatched=(len(scenarios_first) - matched, len(scenarios_second) - matched),
    )


def _by_scenario(
    scenarios: Sequence[Hashable], scores: npt.ArrayLike
) -> dict[Hashable, list[float]]:
    found = np.asarray(scores, dtype=np.float64)
    if found.shape != (len(scenarios),):
        raise ValueError(
            f"every session needs one scenario and one score; got {len(scenarios)} scenarios and "
            f"scores of shape {found.shape}"
        )
    if np.isinf(found).any():
        raise ValueError("a score is a finite number, or NaN where a session has none")
    groups: dict[Hashable, list[float]] = {}
    for name, score in zip(scenarios, found.tolist(), strict=True):
        groups.setdefault(name, []).append(score)
    return groups
