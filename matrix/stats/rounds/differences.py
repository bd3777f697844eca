"""The difference of two variants after each round: mean, standard error, degrees of freedom.

Everything after a round is computed from the rounds up to it only (cumulative sums), so a longer
table never changes what an earlier look saw.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.means import REPRESENTED, ROUNDING
from matrix.stats.rounds.balancing import balance
from matrix.stats.rounds.round_table import BoolArray, FloatArray, RoundTable
from matrix.stats.rounds.rules import MIN_ROUNDS, MIN_ROUNDS_OF_SESSIONS, MIN_SESSIONS, Unit
from matrix.stats.rounds.two_samples import SampleMoments, pooled_rather

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """Two variants, b minus a, after each of the P rounds of the prefix; all arrays of shape [P].

    Attributes:
        unit: What one observation is.
        rounds: Rounds so far with at least one scored pair.
        pairs: Scored pairs so far.
        mean: Mean difference so far; 0 without rounds.
        se: Its standard error; 0 where nothing differs from the mean; NaN where it is not known.
        df: Degrees of freedom of that; 0 where it is not known.
        info: Rounds in which both took part so far, scored or not: what looks are numbered by. It
            stands still once one of them is dropped.
    """

    unit: Unit
    rounds: IntArray
    pairs: IntArray
    mean: FloatArray
    se: FloatArray
    df: FloatArray
    info: IntArray

    @property
    def enough(self) -> BoolArray:
        """Where there are as many observations as any claim needs."""
        if self.unit != "session":
            return np.asarray(self.rounds >= MIN_ROUNDS)
        return np.asarray((self.rounds >= MIN_ROUNDS_OF_SESSIONS) & (self.pairs >= MIN_SESSIONS))

    @property
    def sd(self) -> FloatArray:
        """Standard deviation from round to round that would give the same standard error."""
        return np.asarray(self.se * np.sqrt(np.maximum(self.rounds, 1)))


def differences_of(table: RoundTable, a: int, b: int, unit: Unit = "round") -> Differences:
    """The differences of two variants over a table's prefix.

    With rounds as the unit, a round's mean difference is one observation: ``se = sd / sqrt(n)``
    with n - 1 degrees of freedom. Where pairs are missing, the mean is that of the scenarios'
    means, with the error and degrees of freedom of `matrix.stats.rounds.balancing`; scenarios with
    a single pair do not count yet. With sessions, pairs are pooled within their scenario and
    scenarios weigh equally: ``se^2 = sum(var_s / n_s) / S^2``, with the degrees of freedom of
    Satterthwaite (1946), Biometrics Bull 2:110. Unpaired, each variant has its own mean and error,
    over all of its scores, and they are joined as Welch (1947), Biometrika 34:28, does, or with
    the spread of both together where that is wider (`matrix.stats.rounds.two_samples`);
    ``rounds`` and ``pairs`` are those of the variant that has fewer.

    Args:
        table: Complete prefix of rounds.
        a: Index of the first variant.
        b: Index of the second.
        unit: What one observation is.
    """
    if unit == "unpaired":
        return _unpaired(table, a, b)
    scored = table.scored(a, b)
    info = np.cumsum(table.both_live(a, b)).astype(np.int64)
    rounds = np.cumsum(scored.any(axis=1)).astype(np.int64)
    pairs = np.cumsum(scored.sum(axis=1)).astype(np.int64)
    columns = np.where(scored, table.scores[:, :, b] - table.scores[:, :, a], np.nan)
    sizes, live = _sizes(table, a, b), table.both_live(a, b)
    if unit == "session":
        return Differences(unit, rounds, pairs, *_pooled(columns, sizes), info)
    whole = Differences(unit, rounds, pairs, *_pooled(_means(columns), sizes), info)
    complete = np.logical_and.accumulate((scored | ~live[:, None]).all(axis=1))
    return whole if complete.all() else _joined(complete, whole, _balanced(columns, sizes, info))


def _unpaired(table: RoundTable, a: int, b: int) -> Differences:
    """Two samples that share nothing."""
    live, (of_a, of_b) = table.both_live(a, b), _samples(table, a, b)
    (mean_a, se_a, df_a), (mean_b, se_b, df_b) = map(_joined_columns, (of_a, of_b))
    v, w = se_a**2, se_b**2
    spent = v**2 / np.maximum(df_a, 1.0) + w**2 / np.maximum(df_b, 1.0)
    known = np.asarray(spent > 0.0)
    df = np.where(known, (v + w) ** 2 / np.where(known, spent, 1.0), np.minimum(df_a, df_b))
    se = np.sqrt(v + w + pooled_rather(of_a, of_b))
    counts = [~np.isnan(np.where(live[:, None], table.scores[:, :, one], np.nan)) for one in (a, b)]
    return Differences(
        "unpaired",
        np.minimum(*(np.cumsum(one.any(axis=1)) for one in counts)).astype(np.int64),
        np.minimum(*(np.cumsum(one.sum(axis=1)) for one in counts)).astype(np.int64),
        np.asarray(mean_b - mean_a),
        np.asarray(se),
        np.asarray(np.where(np.isnan(se), 0.0, df)),
        np.cumsum(live).astype(np.int64),
    )


def _samples(table: RoundTable, a: int, b: int) -> tuple[SampleMoments, SampleMoments]:
    """What is known of the scores of two variants that share nothing."""
    sizes, live = _sizes(table, a, b), table.both_live(a, b)[:, None]
    of_a, of_b = (
        _columns(np.where(live, table.scores[:, :, one], np.nan), sizes) for one in (a, b)
    )
    return of_a, of_b


def spread_is_pooled(table: RoundTable, a: int, b: int) -> bool:
    """Whether the error of two samples that share nothing goes by the spread of both together."""
    rather = pooled_rather(*_samples(table, a, b))
    return bool(rather.size) and bool(rather[-1] > 0.0)


def _joined(complete: BoolArray, before: Differences, after: Differences) -> Differences:
    """What was seen while nothing was missing, to the last digit, and what was seen since."""
    return replace(
        before,
        mean=np.where(complete, before.mean, after.mean),
        se=np.where(complete, before.se, after.se),
        df=np.where(complete, before.df, after.df),
        rounds=np.where(complete, before.rounds, after.rounds),
        pairs=np.where(complete, before.pairs, after.pairs),
    )


def _means(columns: FloatArray) -> FloatArray:
    """Mean of each round that has any, NaN for others, shape [P, 1]."""
    return np.asarray(np.where(np.isnan(columns[:, :1]), np.nan, columns.mean(axis=1)[:, None]))


def _balanced(columns: FloatArray, sizes: FloatArray, info: IntArray) -> Differences:
    """By rounds, where pairs are missing: the mean of the scenarios' means."""
    found = balance(columns)
    least = _least(found.mean, sizes)
    flat = found.se * np.sqrt(np.maximum(found.rounds, 1)) <= least
    se = np.where(flat, 0.0, found.se)
    return Differences("round", found.rounds, found.pairs, found.mean, se, found.df, info)


def _pooled(values: FloatArray, sizes: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean of the columns' means, its standard error and degrees of freedom, by row.

    Args:
        values: Shape [P, C]; NaN where there is none.
        sizes: Largest magnitude so far that they were computed from, shape [P].
    """
    return _joined_columns(_columns(values, sizes))


def _columns(values: FloatArray, sizes: FloatArray) -> SampleMoments:
    """What is known of each column by row; spread that is rounding is none."""
    known = ~np.isnan(values)
    n = np.cumsum(known, axis=0)
    # Taken from the first value, which every prefix knows: sums of large numbers lose digits.
    first = np.zeros(values.shape[1])
    if values.size:
        start = values[known.argmax(axis=0), np.arange(known.shape[1])]
        first = np.where(known.any(axis=0), start, 0.0)
    shifted = np.where(known, values - first, 0.0)
    least = np.maximum(n, 1)
    offset = np.cumsum(shifted, axis=0) / least
    squares = np.maximum(np.cumsum(shifted * shifted, axis=0) - n * offset * offset, 0.0)
    flat = np.sqrt(squares / np.maximum(n - 1, 1)) <= _least(first + offset, sizes[:, None])
    mean = np.where(n > 0, first + offset, 0.0)
    return SampleMoments(n, mean, np.where(flat, 0.0, squares), shifted)


def _joined_columns(columns: SampleMoments) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean of the columns' means, its standard error and degrees of freedom, by row."""
    n = columns.n
    if not n.size:
        empty = np.zeros(len(n))
        return empty, np.full(len(n), np.nan), empty
    there = n > 0
    count = np.maximum(there.sum(axis=1), 1)
    mean = columns.mean.sum(axis=1) / count
    of_each = np.where(there, columns.variance / np.maximum(n, 1), 0.0)
    total = of_each.sum(axis=1)
    measured = (n >= 2) | ~there
    usable = measured.all(axis=1) & there.any(axis=1)
    se = np.where(usable, np.sqrt(total) / count, np.nan)
    spent = (of_each * of_each / np.maximum(n - 1, 1)).sum(axis=1)
    freedom = (np.maximum(n - 1, 0) * there).sum(axis=1).astype(np.float64)
    several = (spent > 0.0) & (count > 1)
    df = np.where(several, total * total / np.where(several, spent, 1.0), freedom)
    return mean, se, np.where(usable, df, 0.0)


def _least(means: FloatArray, sizes: FloatArray) -> FloatArray:
    """Spread that is rounding: next to the values' own mean, or what the scores cannot hold."""
    return np.asarray(np.maximum(ROUNDING * np.abs(means), REPRESENTED * sizes))


def _sizes(table: RoundTable, a: int, b: int) -> FloatArray:
    """Largest magnitude of a score of either variant up to each round, shape [P]."""
    scores = np.abs(np.nan_to_num(table.scores[:, :, [a, b]], nan=0.0))
    largest = scores.max(axis=(1, 2)) if scores.size else np.zeros(len(scores))
    return np.asarray(np.maximum.accumulate(largest), dtype=np.float64)
