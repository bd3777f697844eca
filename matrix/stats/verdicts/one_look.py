"""Two variants looked at once: how far apart they are, whatever it is that pairs their sessions.

Verdicts, gates and other metrics all ask here, so that one question has one answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isnan

import numpy as np

from matrix.stats.estimates.interval import Interval
from matrix.stats.estimates.student import t_quantile, t_two_sided_p
from matrix.stats.estimates.unpaired_rates import Count, unpaired_rates
from matrix.stats.rounds.differences import differences_of
from matrix.stats.rounds.round_table import RoundTable
from matrix.stats.rounds.rules import Unit


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """Mean difference of two variants, b minus a, over all rounds of a table.

    Attributes:
        n: Rounds compared; unpaired, the scores of the variant that has fewer.
        pairs: Scored pairs in them.
        mean: ``None`` without rounds.
        se: Its standard error; 0 without spread, ``None`` where it is not known.
        df: Degrees of freedom of that; 0 where it is not known.
        interval: ``None`` below two rounds and, but for rates of unpaired samples, without spread.
        p: Two-sided p-value; ``None`` where the interval is.
        enough: Whether there are as many observations as any claim needs.
        sizes: Unpaired, the scores of a and of b; ``None`` of pairs.
    """

    n: int
    pairs: int
    mean: float | None
    se: float | None
    df: float
    interval: Interval | None
    p: float | None
    enough: bool
    sizes: tuple[int, int] | None = None

    @property
    def identical(self) -> bool:
        """Whether nothing differs, so that chance cannot be judged by the spread."""
        return self.se == 0.0 and (self.sizes is None or self.interval is None)


def difference_once(
    table: RoundTable, a: int, b: int, level: float, unit: Unit = "round"
) -> MeanDifference:
    """The difference of two variants by t, with the error and degrees of freedom of its unit.

    These are those of `matrix.stats.rounds.differences`: of rounds with missing pairs, Bell's and
    McCaffrey's; unpaired, Welch's, but of scores of two values, which t fails, the interval and the
    test that follow from the counts (`matrix.stats.estimates.unpaired_rates`), and of several
    scenarios as far as both let it go.

    Args:
        table: Complete prefix of rounds.
        a: Index of the first variant.
        b: Index of the second.
        level: Two-sided error rate.
        unit: What one observation is.
    """
    found = differences_of(table, a, b, unit)
    last = table.prefix_length - 1
    n = int(found.rounds[last]) if last >= 0 else 0
    sizes = _sizes(table, a, b) if unit == "unpaired" else None
    if not n:
        return MeanDifference(0, 0, None, None, 0.0, None, None, enough=False, sizes=sizes)
    mean, se, df = (float(one[last]) for one in (found.mean, found.se, found.df))
    interval = p = None
    if se > 0.0:
        half = t_quantile(1.0 - level / 2, df) * se
        interval = Interval(mean - half, mean + half, 1.0 - level)
        p = t_two_sided_p(mean / se, df)
    difference = MeanDifference(
        n=n,
        pairs=int(found.pairs[last]),
        mean=mean,
        se=None if isnan(se) else se,
        df=df,
        interval=interval,
        p=p,
        enough=bool(found.enough[last]),
        sizes=sizes,
    )
    return difference if sizes is None else _by_counts(difference, table, a, b, level)


def _by_counts(
    found: MeanDifference, table: RoundTable, a: int, b: int, level: float
) -> MeanDifference:
    """The same, of scores of two values by how many there are of each."""
    values = two_values(table)
    if values is None:
        return found
    no, yes = values
    counts = [_counts(table, one, yes) for one in (a, b)]
    rates, apart = unpaired_rates(counts[0], counts[1], level), yes - no
    if rates.interval is None or rates.p is None or found.se is None:
        return found
    low, high, p = apart * rates.interval.low, apart * rates.interval.high, rates.p
    if max(sum(one.trials > 0 for one in each) for each in counts) > 1 and found.interval:
        # of several scenarios with few rows, the distances alone err in 8 % of files, so t has its
        # say, too
        low, high = min(low, found.interval.low), max(high, found.interval.high)
        p = max(p, found.p or 0.0)
    interval = Interval(low, high, rates.interval.confidence)
    # what the interval stands for: of rates near 0 or 1, t's own error is too small or none
    se = max(found.se or 0.0, interval.half_width / t_quantile(1.0 - level / 2, inf))
    return replace(found, interval=interval, p=p, se=se)


def two_values(table: RoundTable) -> tuple[float, float] | None:
    """The two values of yes/no scores, the lower first: 0 and 1, or all there are.

    ``None`` of other scores, and of a single value that is neither 0 nor 1.
    """
    values = np.unique(table.scores[~np.isnan(table.scores)])
    if values.size and np.isin(values, (0.0, 1.0)).all():
        return 0.0, 1.0
    return (float(values[0]), float(values[1])) if values.size == 2 else None


def _sizes(table: RoundTable, a: int, b: int) -> tuple[int, int]:
    live = table.both_live(a, b)
    of_a, of_b = (int(np.isfinite(table.scores[live, :, one]).sum()) for one in (a, b))
    return of_a, of_b


def _counts(table: RoundTable, variant: int, yes: float) -> list[Count]:
    """Yes scores of each scenario, and all of them."""
    scores = table.scores[:, :, variant]
    known = np.isfinite(scores).sum(axis=0)
    passed = (scores == yes).sum(axis=0)
    return [Count(int(x), int(n)) for x, n in zip(passed, known, strict=True)]
