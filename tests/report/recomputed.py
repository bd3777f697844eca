"""A comparison recomputed from a run's Parquet files, by code of its own.

Nothing of `matrix` is imported here: what a run's tables hold is read by pandas, and every figure
is worked out again by numpy and scipy from the methods that ``docs/statistics.md`` names, written
with matrices, integrals and roots rather than closed forms.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, TypeGuard

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import optimize, stats

Array = NDArray[np.float64]
Interval = tuple[float, float] | tuple[None, None]

FIRST_LOOK: Final = 10
"""Complete rounds below which nothing is said."""

MIXTURE_PRECISION: Final = 3.1135689
"""The precision g of the mixture that the engine ``open-ended`` has."""


@dataclass(frozen=True)
class Declared:
    """What was declared of a run before its launch, and is in no table."""

    variants: Sequence[str]
    engine: str
    rounds: int
    alpha: float = 0.05
    failure_margin: float = 5.0
    failure_icc: float = 0.1
    factor: str = "prompt"
    other_factors: Sequence[str] = ()
    score_range: tuple[float, float] = (0.0, 100.0)

    @property
    def pair_level(self) -> float:
        """The error rate of one pair in a table of pairs that hold all together."""
        return self.alpha / (len(self.variants) - 1)


class Estimate(NamedTuple):
    """A mean over scenarios, with what its interval takes."""

    rounds: int
    mean: float
    error: float
    df: float
    skew: float

    @property
    def t(self) -> float:
        """How many standard errors the mean is from 0."""
        return self.mean / self.error


class Variant(NamedTuple):
    """A row of the table of variants."""

    level: str
    sessions: int
    ended: int
    failed: int
    errored: int
    censored: int
    mean: float | None
    low: float | None
    high: float | None
    cost_per_completed_usd: float | None
    rounds: int


class Pair(NamedTuple):
    """A row of the table of pairs: the mean of ``b`` minus that of ``a``."""

    a: str
    b: str
    rounds: int
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    level: float


class Recomputed(NamedTuple):
    """All figures of a comparison that are recomputed."""

    complete: int
    variants: list[Variant]
    pairs: list[Pair]
    verdict: str
    winner: str | None


# --- tables ---------------------------------------------------------------------------------------


def sessions_of(run: Path, factor: str, other_factors: Sequence[str] = ()) -> pd.DataFrame:
    """The sessions of a run, with what became of each and its score if that counts.

    A session that had all its turns (a timeout without an error class) is scored like one that
    completed; one that was stopped by another limit has failed. What is paired is a scenario with
    the levels of factors other than the compared one, and is called a scenario from here on.
    """
    table = pd.read_parquet(run / "sessions")
    kind = table["error_class"].fillna("")
    stopped = (table["outcome"] == "timeout") & (kind != "")
    all_turns = (table["outcome"] == "timeout") & (kind == "")
    fate = table["outcome"].mask(stopped, "failed").mask(all_turns, "completed")
    return pd.DataFrame(
        {
            "variant": table[factor],
            "scenario": table[["scenario", *other_factors]].astype(str).agg(" ".join, axis=1),
            "round": table["round"],
            "fate": fate,
            "score": table["score"].where(fate == "completed").astype(float),
            "cost": table["cost_nano"] / 1e9,
        }
    )


def complete_rounds(sessions: pd.DataFrame, planned: int) -> int:
    """How many rounds from the first on have no session that did not come to an end."""
    open_rounds = set(sessions.loc[sessions["fate"] == "censored", "round"])
    return next((index for index in range(planned) if index in open_rounds), planned)


def side_by_side(sessions: pd.DataFrame, column: str, a: str, b: str) -> pd.DataFrame:
    """One row a scenario and round, with the two variants' values in columns ``a`` and ``b``."""
    wide = sessions.pivot(index=["scenario", "round"], columns="variant", values=column)
    return wide[[a, b]].set_axis(["a", "b"], axis=1)


def differences(sessions: pd.DataFrame, a: str, b: str) -> pd.DataFrame:
    """Scores of ``b`` minus those of ``a``, where both have one."""
    pairs = side_by_side(sessions, "score", a, b).dropna()
    return (pairs["b"] - pairs["a"]).rename("value").reset_index()


def own_scores(sessions: pd.DataFrame, level: str) -> pd.DataFrame:
    """The scores that one variant has."""
    own = sessions[sessions["variant"] == level].dropna(subset=["score"])
    return own.rename(columns={"score": "value"})


# --- means over scenarios -------------------------------------------------------------------------


def scenario_mean(values: pd.DataFrame, *, keep_single: bool = False) -> Estimate | None:
    """The mean over scenarios of each scenario's mean, clustered by round.

    The regression of values on dummies of their scenarios, with the contrast (1/S, ..., 1/S): CR2
    variance and Satterthwaite degrees of freedom under independence (Bell & McCaffrey 2002, Survey
    Methodology 28:169; Pustejovsky & Tipton 2018, J Bus Econ Stat 36:672), at most one less than
    rounds. A scenario with a single value tells nothing of chance: it is left out while others have
    two, or kept, and there are no degrees of freedom then.
    """
    counts = values.groupby("scenario")["value"].transform("size")
    if (counts >= 2).any() and not keep_single:
        values = values[counts >= 2]
    rounds = values["round"].nunique()
    if rounds == 0:
        return None
    y = values["value"].to_numpy(float)
    x = pd.get_dummies(values["scenario"]).to_numpy(float)
    bread = np.linalg.inv(x.T @ x)
    contrast = np.full(x.shape[1], 1 / x.shape[1])
    estimate = float(contrast @ bread @ x.T @ y)
    residual_maker = np.eye(len(y)) - x @ bread @ x.T
    residuals = residual_maker @ y
    weights = np.zeros((len(y), rounds))
    codes = pd.factorize(values["round"])[0]
    for column in range(rounds):
        rows = np.flatnonzero(codes == column)
        block = _inverse_root(residual_maker[np.ix_(rows, rows)])
        weights[rows, column] = block @ x[rows] @ bread @ contrast
    influences = weights.T @ residuals
    error = float(np.sqrt(influences @ influences))
    spread = weights.T @ residual_maker @ weights
    squares = float(np.sum(spread * spread))
    df = min(float(np.trace(spread)) ** 2 / squares, rounds - 1.0) if squares > 1e-20 else 0.0
    if len(values) > 1 and values.groupby("scenario").size().min() < 2:
        df = 0.0
    skew = float(np.sum((influences / error) ** 3)) if error > 0 else 0.0
    return Estimate(rounds, estimate, error, df, skew)


def _inverse_root(matrix: Array) -> Array:
    roots, vectors = np.linalg.eigh(matrix)
    inverse = np.array([1 / math.sqrt(root) if root > 1e-12 else 0.0 for root in roots])
    return np.asarray(vectors @ np.diag(inverse) @ vectors.T, dtype=np.float64)


def has_spread(found: Estimate | None) -> TypeGuard[Estimate]:
    """Whether there is anything to measure chance by."""
    return found is not None and found.df > 0 and found.error > 1e-9


# --- engines --------------------------------------------------------------------------------------


def student(level: float, df: float) -> float:
    """Two-sided quantile (Student 1908)."""
    return float(stats.t.isf(level / 2, df))


@cache
def boundaries(alpha: float, planned: int) -> Mapping[int, float]:
    """Look -> its two-sided boundary on the scale of z, spending ``alpha * (n / planned)^2``.

    Lan & DeMets (1983), Biometrika 70:659, by the recursion of Armitage, McPherson & Rowe (1969),
    JRSS A 132:235: the density of Brownian motion that has met no boundary yet is carried from look
    to look on Gauss-Legendre nodes.
    """
    nodes, node_weights = np.polynomial.legendre.leggauss(96)
    found: dict[int, float] = {}
    spent = 0.0
    points, mass, before = np.zeros(1), np.ones(1), 0.0
    for look in range(FIRST_LOOK, planned + 1):
        now = look / planned
        to_spend = alpha * now * now - spent
        step = math.sqrt(now - before)

        def crossing(
            edge: float,
            points: Array = points,
            mass: Array = mass,
            step: float = step,
            to_spend: float = to_spend,
        ) -> float:
            above = stats.norm.sf((edge - points) / step) + stats.norm.sf((edge + points) / step)
            return float(mass @ above) - to_spend

        edge = float(optimize.brentq(crossing, 1e-6, 12 * math.sqrt(now), xtol=1e-13))
        inside = nodes * edge
        density = stats.norm.pdf((inside[:, None] - points[None, :]) / step) / step @ mass
        points, mass, before = inside, node_weights * edge * density, now
        spent += to_spend
        found[look] = edge / math.sqrt(now)
    return found


def mixture_radius(level: float, df: float) -> float:
    """Standard errors to either side that a t-mixture sequence reaches.

    Lindon, Ham, Tingley & Bojinov (2022), arXiv:2210.08589: where the e-value is 1 / level.
    """
    goal = -math.log(level)
    if log_evidence(1e12, df) <= goal:
        return math.inf
    return float(
        optimize.brentq(lambda t: log_evidence(t, df) - goal, 0, 1e12, xtol=1e-12, rtol=1e-14)
    )


def log_evidence(t: float, df: float) -> float:
    """The logarithm of the e-value against no difference, with df + 1 in the place of n."""
    n = df + 1
    shrink = MIXTURE_PRECISION / (MIXTURE_PRECISION + n)
    ratio = math.log1p(t * t / df * shrink) - math.log1p(t * t / df)
    return 0.5 * math.log(shrink) - 0.5 * (df + 1) * ratio


def radius(declared: Declared, level: float, look: int, df: float) -> float:
    """Standard errors to either side, of the engine at one look."""
    if declared.engine == "fixed":
        return student(level, df)
    if declared.engine == "planned":
        z = boundaries(level, declared.rounds)[look]
        return float(stats.t.isf(stats.norm.sf(z), df))
    return mixture_radius(level, df)


# --- variants -------------------------------------------------------------------------------------


def hall_inverse(skew: float, quantile: float) -> float:
    """The t at which Hall's cubic transformation (1992, JRSS B 54:221) is the quantile."""
    if abs(skew) < 1e-12:
        return quantile

    def cubic(t: float) -> float:
        return t + skew * t * t / 3 + skew * skew * t**3 / 27 + skew / 6 - quantile

    reach = 10 * (abs(quantile) + 1) * (1 + 1 / abs(skew))
    return float(optimize.brentq(cubic, -reach, reach, xtol=1e-14, rtol=1e-14))


def own_interval(found: Estimate, declared: Declared, complete: int) -> Interval:
    """The interval of a variant's own mean: never within Student's, wider on the long tail's side.

    For an engine that looks early it is as much wider as the engine's is than Student's.
    """
    if not has_spread(found):
        return None, None
    quantile = student(declared.alpha, found.df)
    down = max(quantile, hall_inverse(found.skew, quantile))
    up = max(quantile, -hall_inverse(found.skew, -quantile))
    if declared.engine != "fixed":
        if complete < FIRST_LOOK:
            return None, None
        df = found.rounds - 1.0
        wider = radius(declared, declared.alpha, complete, df) / student(declared.alpha, df)
        if not math.isfinite(wider):
            return None, None
        down, up = down * wider, up * wider
    lowest, highest = declared.score_range
    return (
        max(lowest, found.mean - down * found.error),
        min(highest, found.mean + up * found.error),
    )


def variant_row(sessions: pd.DataFrame, level: str, declared: Declared, complete: int) -> Variant:
    """Counts, the own mean and the cost of one variant."""
    own = sessions[sessions["variant"] == level]
    fates = own["fate"].value_counts()
    found = scenario_mean(own_scores(own[own["round"] < complete], level), keep_single=True)
    low, high = (None, None) if found is None else own_interval(found, declared, complete)
    completed = int(fates.get("completed", 0))
    spent = float(own.loc[own["fate"] != "censored", "cost"].sum())
    return Variant(
        level,
        len(own),
        completed,
        int(fates.get("failed", 0)),
        int(fates.get("errored", 0)),
        int(fates.get("censored", 0)),
        None if found is None else found.mean,
        low,
        high,
        spent / completed if completed else None,
        0 if found is None else found.rounds,
    )


# --- failures -------------------------------------------------------------------------------------


def wilson(rate: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's score interval (1927, JASA 22:209), as roots of its quadratic."""
    low, high = np.sort(np.roots([n + z * z, -(2 * n * rate + z * z), n * rate * rate]).real)
    return float(low), float(high)


def newcombe_paired(both: float, first: float, second: float, neither: float, z: float) -> Interval:
    """Newcombe's paired interval of the first rate minus the second (1998, Stat Med 17:2635)."""
    n = both + first + second + neither
    p1, p2 = (both + first) / n, (both + second) / n
    (l1, u1), (l2, u2) = wilson(p1, n, z), wilson(p2, n, z)
    product = (both + first) * (second + neither) * (both + second) * (first + neither)
    cross = both * neither - first * second
    if cross > 0:
        cross = max(cross - n / 2, 0.0)
    phi = cross / math.sqrt(product) if product > 0 else 0.0

    def reach(one: float, two: float) -> float:
        return math.sqrt(one * one - 2 * phi * one * two + two * two)

    return p1 - p2 - reach(p1 - l1, u2 - p2), p1 - p2 + reach(u1 - p1, p2 - l2)


def failure_rise(
    sessions: pd.DataFrame, variant: str, rival: str, declared: Declared, level: float
) -> tuple[float, float]:
    """Points by which a variant fails more often than a rival, each end at ``level`` one-sided.

    Pairs of one round go together by the declared correlation, so that they count as fewer (Kish
    1965, Survey Sampling; Donner & Klar 2000).
    """
    fates = side_by_side(sessions, "fate", variant, rival)
    fates = fates[~fates.isin(["errored", "censored"]).any(axis=1)]
    failed = fates == "failed"
    scenarios = sessions["scenario"].nunique()
    as_many = 1 + (scenarios - 1) * declared.failure_icc
    table = pd.crosstab(failed["a"], failed["b"]).reindex(
        index=[True, False], columns=[True, False], fill_value=0
    )
    (both, first), (second, neither) = table.to_numpy(float) / as_many
    low, high = newcombe_paired(both, first, second, neither, float(stats.norm.isf(level)))
    assert low is not None
    assert high is not None
    return 100 * low, 100 * high


# --- verdicts -------------------------------------------------------------------------------------


def recompute(run: Path, declared: Declared) -> Recomputed:
    """The comparison that a run's Parquet files and what was declared of it come to."""
    sessions = sessions_of(run, declared.factor, declared.other_factors)
    complete = complete_rounds(sessions, declared.rounds)
    tracks = {couple: Track() for couple in itertools.combinations(declared.variants, 2)}
    all_differences = {couple: differences(sessions, *couple) for couple in tracks}
    left = list(declared.variants)
    winner: str | None = None
    for look in looks(declared, complete):
        seen = sessions[sessions["round"] < look]
        yes_or_no = seen["score"].nunique() <= 2
        for couple, track in tracks.items():
            values = all_differences[couple]
            values = values[values["round"] < look]
            differing = float((values["value"] != 0).sum()) if yes_or_no else math.inf
            track.look(scenario_mean(values), differing, declared, look)
        if declared.engine == "fixed" and complete < declared.rounds:
            break
        left = [one for one in left if not is_out(seen, one, declared)]
        if declared.engine != "fixed":
            left = not_beaten(seen, left, tracks, declared)
        winner = winner_of(seen, left, tracks, declared)
        if winner is not None:
            break
    return Recomputed(
        complete,
        [variant_row(sessions, level, declared, complete) for level in declared.variants],
        [pair_row(couple, track, declared) for couple, track in tracks.items()],
        "winner" if winner else kind_without_winner(left, tracks, declared, complete),
        winner,
    )


def looks(declared: Declared, complete: int) -> Sequence[int]:
    """Complete rounds at each look that the engine makes."""
    if declared.engine == "fixed" or complete <= FIRST_LOOK:
        return [complete]
    return range(FIRST_LOOK, complete + 1)


@dataclass
class Track:
    """What all looks so far have shown of one pair.

    Ranges of engines that look early hold at all looks together, so that what once was shown stays
    shown: where a later range would hold 0 again, its end is the one furthest from 0 so far. The p
    of ``open-ended`` is 1 over the largest e-value.
    """

    found: Estimate | None = None
    evidence: float = 0.0
    ranges: dict[float, Interval] = field(default_factory=dict)
    floors: dict[float, float] = field(default_factory=dict)
    ceilings: dict[float, float] = field(default_factory=dict)
    judged: dict[float, bool] = field(default_factory=dict)

    def look(self, found: Estimate | None, differing: float, declared: Declared, look: int) -> None:
        """Take in what one more look finds, with how many pairs differ if scores are yes or no."""
        self.found = found
        for level in (declared.alpha, declared.pair_level):
            self.ranges[level], self.judged[level] = (None, None), False
            if not has_spread(found) or (declared.engine != "fixed" and look < FIRST_LOOK):
                continue
            wide = radius(declared, level, look, found.df) * found.error
            if not math.isfinite(wide):
                continue
            low, high = found.mean - wide, found.mean + wide
            enough = found.rounds >= FIRST_LOOK and differing >= fewest_differing(level)
            self.judged[level] = enough
            if enough:
                self._note(level, low, high)
                if level == declared.pair_level:
                    self.evidence = max(self.evidence, log_evidence(found.t, found.df))
            if low <= 0 <= high:
                low, high = self.floors.get(level, low), self.ceilings.get(level, high)
            self.ranges[level] = low, high

    def _note(self, level: float, low: float, high: float) -> None:
        if low > 0:
            self.floors[level] = max(low, self.floors.get(level, low))
        if high < 0:
            self.ceilings[level] = min(high, self.ceilings.get(level, high))

    def side(self, level: float) -> int:
        """1 or -1 where the range leaves 0 out and there is enough to say so, else 0."""
        low, high = self.ranges[level]
        if low is None or high is None or not self.judged[level]:
            return 0
        return int(low > 0) - int(high < 0)


Tracks = Mapping[tuple[str, str], Track]


@cache
def fewest_differing(level: float) -> int:
    """Pairs that must differ before an exact sign test can have p at ``level`` (McNemar 1947)."""
    return next(n for n in itertools.count(1) if stats.binomtest(0, n).pvalue <= level)


def pair_row(couple: tuple[str, str], track: Track, declared: Declared) -> Pair:
    """The row of two variants in the table of pairs."""
    level, found = declared.pair_level, track.found
    if found is None:
        return Pair(*couple, 0, None, None, None, None, level)
    low, high = track.ranges.get(level, (None, None))
    p: float | None = None
    if has_spread(found) and declared.engine == "fixed":
        p = 2 * float(stats.t.sf(abs(found.t), found.df))
    elif low is not None and declared.engine == "open-ended":
        p = math.exp(-track.evidence)
    return Pair(*couple, found.rounds, found.mean, low, high, p, level)


def winner_of(
    seen: pd.DataFrame, left: Sequence[str], tracks: Tracks, declared: Declared
) -> str | None:
    """The variant that beats all others that are left, or is the only one left.

    The only one is to be kept unless one that is out is shown to score better.
    """
    if len(left) == 1:
        out = [one for one in declared.variants if one not in left]
        outscored = any(better(one, left[0], declared.alpha, tracks) for one in out)
        return None if outscored else left[0]
    for one in left:
        others = [other for other in left if other != one]
        if all(beats(one, other, declared.alpha, seen, tracks, declared) for other in others):
            return one
    return None


def not_beaten(
    seen: pd.DataFrame, left: Sequence[str], tracks: Tracks, declared: Declared
) -> list[str]:
    """The variants that no other beats at the level that holds for all pairs together."""
    level = declared.pair_level
    return [
        one
        for one in left
        if not any(
            beats(other, one, level, seen, tracks, declared) for other in left if other != one
        )
    ]


def kind_without_winner(
    left: Sequence[str], tracks: Tracks, declared: Declared, complete: int
) -> str:
    """Which verdict a run has that is over, names no winner and declared no margin.

    It is about the variant that is ahead of the others that are left: whether there is enough to
    judge chance between it and each of them, and if so, whether only failures stand in the way.
    """
    over = declared.engine != "fixed" or complete == declared.rounds
    if not over or complete < FIRST_LOOK or len(left) < 2:
        return "not_enough_data"
    best = max(left, key=lambda one: min(lead(one, o, tracks) for o in left if o != one))
    rivals = [one for one in left if one != best]
    judged = [track_of(best, rival, tracks).judged[declared.alpha] for rival in rivals]
    if not all(judged) or all(better(best, rival, declared.alpha, tracks) for rival in rivals):
        return "not_enough_data"
    return "no_difference"


def lead(one: str, other: str, tracks: Tracks) -> float:
    """By how much a variant is ahead of another in their pairs."""
    found = track_of(one, other, tracks).found
    if found is None:
        return -math.inf
    return -found.mean if (one, other) in tracks else found.mean


def track_of(one: str, other: str, tracks: Tracks) -> Track:
    """What is known of two variants, in whichever order."""
    return tracks[(one, other) if (one, other) in tracks else (other, one)]


def beats(
    one: str, other: str, level: float, seen: pd.DataFrame, tracks: Tracks, declared: Declared
) -> bool:
    """Whether a variant scores better than another, and is shown not to fail more often."""
    return better(one, other, level, tracks) and passes(seen, one, other, declared)


def better(one: str, other: str, level: float, tracks: Tracks) -> bool:
    """Whether a variant is shown to score better than another."""
    if (one, other) in tracks:
        return tracks[one, other].side(level) < 0
    return tracks[other, one].side(level) > 0


def passes(seen: pd.DataFrame, one: str, other: str, declared: Declared) -> bool:
    """Whether the first is shown to fail less than the margin above the second."""
    if declared.failure_margin >= 100:
        return True
    return failure_rise(seen, one, other, declared, declared.alpha)[1] < declared.failure_margin


def is_out(seen: pd.DataFrame, one: str, declared: Declared) -> bool:
    """Whether a variant has hardly a score, or is shown to fail too much more than another.

    It has hardly one with none at all, or in a third of its rounds at most while two others have
    more.
    """
    if not seen.loc[seen["variant"] == one, "score"].notna().any():
        return True
    by_round = seen.assign(scored=seen["score"].notna()).groupby(["variant", "round"])["scored"]
    shares = by_round.any().groupby("variant").mean()
    if shares[one] <= 1 / 3 and (shares > 1 / 3).sum() >= 2:
        return True
    return any(
        failure_rise(seen, one, other, declared, declared.pair_level)[0] > declared.failure_margin
        for other in declared.variants
        if other != one and declared.failure_margin < 100
    )
