"""Where the noise comes from: shares of variance by source, and what buying more of each is worth.

A score is taken as a sum of a variant's mean and of independent parts::

    variant + scenario + scenario x variant + round + group + session + judge

``group`` is what all variants share in one round of one scenario, such as a group of players;
``session`` is what is left of a session then, such as its narrator; ``judge`` is how far ratings of
one and the same transcript lie apart. The parts are found by the method of moments (mean squares of
a balanced layout), with the judge's from its repeats. An estimate below 0 is chance around a small
truth: it is shown as 0, and says so.

Source: Searle, Casella & McCulloch (1992), Variance Components, chapter 4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from matrix.stats.estimates.samples import finite_sample, refuse
from matrix.stats.noise.mean_squares import MeanSquare, MeanSquares, mean_squares

Source = Literal["scenario", "scenario x variant", "round", "group", "session", "judge"]


@dataclass(frozen=True, slots=True)
class NoiseSource:
    """One part of the variance of a single score.

    Attributes:
        name: What varies.
        variance: In squared units of the score, never below 0; ``None`` where this layout cannot
            tell it from another part.
        share: Of the sum of all parts that are known, 0 to 1; ``None`` where ``variance`` is, or if
            nothing varies.
        df: Independent values behind it; 0 where it is unknown.
        includes: Other parts that this layout cannot tell from it, and that it therefore contains.
        below_zero: The estimate was negative and is shown as 0.
    """

    name: Source
    variance: float | None
    share: float | None
    df: int
    includes: tuple[Source, ...]
    below_zero: bool


@dataclass(frozen=True, slots=True)
class Doubled:
    """Variance of the difference of two variants, now and with twice as much of one thing.

    Attributes:
        now: As the run is.
        rounds: With twice the rounds.
        scenarios: With twice the scenarios.
        judge: With twice the ratings of each transcript; ``None`` without repeats of the judge.
    """

    now: float
    rounds: float
    scenarios: float
    judge: float | None


@dataclass(frozen=True, slots=True)
class Noise:
    """All sources of noise of one score.

    Attributes:
        sources: In the order of the model. Without repeats of the judge, its part is in the
            session's; with one variant, the group's is; with one scenario, the round's is in the
            group's.
        total: Sum of the known variances.
        n_rounds: Complete rounds used, R.
        n_scenarios: S.
        n_variants: k.
        rounds_left_out: Rounds with a missing score.
        ratings: Ratings of each transcript in one score, as the run was judged.
    """

    sources: tuple[NoiseSource, ...]
    total: float
    n_rounds: int
    n_scenarios: int
    n_variants: int
    rounds_left_out: int
    ratings: int

    def source(self, name: Source) -> NoiseSource:
        """The source with this name."""
        return next(part for part in self.sources if part.name == name)

    def variance_of_difference(
        self, rounds: int, scenarios: int, ratings: int, *, new_scenarios: bool = False
    ) -> float | None:
        """Variance of the mean difference of two variants in a run of another size.

        Rounds, groups and scenarios are shared by the variants and cancel.

        Args:
            rounds: Rounds, at least 1.
            scenarios: Scenarios, at least 1.
            ratings: Ratings of each transcript that a score is the mean of, at least 1.
            new_scenarios: Whether the claim is about scenarios like these, so that scenarios that
                favour one variant are noise; otherwise it is about these only.

        Returns:
            Variance in squared units of the score; ``None`` if a part that it takes is unknown: the
            session's with one variant, the judge's for another number of ratings, scenario x
            variant with one scenario.
        """
        if min(rounds, scenarios, ratings) < 1:
            raise ValueError(
                "rounds, scenarios and ratings are at least 1; "
                f"got {rounds}, {scenarios} and {ratings}"
            )
        session, judge = self.source("session"), self.source("judge").variance
        if session.variance is None or "group" in session.includes:
            return None
        if judge is None and ratings != self.ratings:
            return None
        # One rating's variance is the judge's; the run's scores were means of `self.ratings`.
        each = session.variance + (0.0 if judge is None else judge / ratings)
        variance = 2 * each / (rounds * scenarios)
        if not new_scenarios:
            return variance
        tilt = self.source("scenario x variant").variance
        return None if tilt is None else variance + 2 * tilt / scenarios

    def doubled(self, *, new_scenarios: bool = False) -> Doubled | None:
        """What twice the rounds, the scenarios or the ratings would buy, each by itself."""
        r, s, j = self.n_rounds, self.n_scenarios, self.ratings

        def variance(rounds: int, scenarios: int, ratings: int) -> float | None:
            return self.variance_of_difference(
                rounds, scenarios, ratings, new_scenarios=new_scenarios
            )

        now, rounds, scenarios = variance(r, s, j), variance(2 * r, s, j), variance(r, 2 * s, j)
        if now is None or rounds is None or scenarios is None:
            return None
        return Doubled(now, rounds, scenarios, variance(r, s, 2 * j))


def noise_shares(
    scores: npt.ArrayLike,
    judge_repeats: Iterable[npt.ArrayLike] = (),
    *,
    ratings: int = 1,
) -> Noise | None:
    """Split the variance of a score by source.

    Args:
        scores: By round, scenario and variant, shape [R, S, k]; NaN where a session has none.
            Rounds with a missing score are left out.
        judge_repeats: Ratings of one transcript per row, by the same judge with the same prompt:
            shape [m, repeats] or rows of different lengths; NaN where one is missing. Rows with
            fewer than two ratings are left out.
        ratings: How many ratings of its transcript each score is the mean of.

    Returns:
        The sources; ``None`` with fewer than two complete rounds, which say nothing of noise.

    Raises:
        ValueError: If shapes are wrong, a score is infinite, or ``ratings`` is below 1.
    """
    cube = np.asarray(scores, dtype=np.float64)
    problems = []
    if cube.ndim != 3 or min(cube.shape[1:], default=0) < 1:
        problems.append(f"scores are [rounds, scenarios, variants]; got shape {cube.shape}")
    if np.isinf(cube).any():
        problems.append("a score is a finite number, or NaN where a session has none")
    if ratings < 1:
        problems.append(f"a score is the mean of at least 1 rating; got {ratings}")
    refuse(problems)
    complete = cube[~np.isnan(cube).any(axis=(1, 2))]
    if complete.shape[0] < 2:
        return None
    judge = _judge(judge_repeats)
    parts = _moments(mean_squares(complete), complete.shape, judge, ratings)
    total = sum(max(0.0, estimate) for _, estimate, _, _ in parts if estimate is not None)
    return Noise(
        sources=tuple(_source(*part, total) for part in parts),
        total=total,
        n_rounds=complete.shape[0],
        n_scenarios=complete.shape[1],
        n_variants=complete.shape[2],
        rounds_left_out=cube.shape[0] - complete.shape[0],
        ratings=ratings,
    )


_Part: TypeAlias = tuple[Source, float | None, int, tuple[Source, ...]]
_NOTHING: tuple[Source, ...] = ()
_ROUND: tuple[Source, ...] = ("round",)


def _moments(
    squares: MeanSquares, shape: tuple[int, ...], judge: MeanSquare | None, ratings: int
) -> list[_Part]:
    """Name, estimate, degrees of freedom and what is contained, for every source."""
    n, s, k = shape
    rest, cell, line = squares.residual, squares.round_scenario, squares.round
    place, tilt = squares.scenario, squares.scenario_variant
    parts: list[_Part] = []
    if place is None or cell is None:
        parts += [_unknown("scenario"), _unknown("scenario x variant"), _unknown("round")]
    elif tilt is None or rest is None:
        spread = (place.value - cell.value) / n
        parts += [("scenario", spread, place.df, ("scenario x variant",))]
        parts += [_unknown("scenario x variant")]
        parts += [("round", (line.value - cell.value) / s, line.df, ())]
    else:
        alone = (place.value - cell.value - tilt.value + rest.value) / (n * k)
        parts += [("scenario", alone, place.df, ())]
        parts += [("scenario x variant", (tilt.value - rest.value) / n, tilt.df, ())]
        parts += [("round", (line.value - cell.value) / (s * k), line.df, ())]

    # With one scenario a round is a group, so that rounds take the place of cells.
    group, over, inside = cell or line, _NOTHING if cell else _ROUND, _NOTHING
    if rest is None:
        rest, inside = group, ("group", *over)
        parts += [_unknown("group")]
    else:
        parts += [("group", (group.value - rest.value) / k, group.df, over)]
    if judge is None:
        return [*parts, ("session", rest.value, rest.df, (*inside, "judge")), _unknown("judge")]
    own = rest.value - judge.value / ratings
    return [*parts, ("session", own, rest.df, inside), ("judge", judge.value, judge.df, ())]


def _unknown(name: Source) -> _Part:
    return (name, None, 0, ())


def _source(
    name: Source, estimate: float | None, df: int, includes: tuple[Source, ...], total: float
) -> NoiseSource:
    if estimate is None:
        return NoiseSource(name, None, None, 0, (), below_zero=False)
    variance = max(0.0, estimate)
    share = variance / total if total > 0 else None
    return NoiseSource(name, variance, share, df, includes, below_zero=estimate < 0)


def _judge(repeats: Iterable[npt.ArrayLike]) -> MeanSquare | None:
    """Variance of one rating around the mean of its transcript's; ``None`` without repeats."""
    if isinstance(repeats, np.ndarray) and repeats.ndim == 2:
        return _judge_table(repeats.astype(np.float64))
    squares, df = 0.0, 0
    for row in repeats:
        ratings = np.asarray(row, dtype=np.float64)
        if ratings.ndim != 1:
            raise ValueError("ratings of the judge come as one row per transcript")
        known = finite_sample(ratings[~np.isnan(ratings)])
        if known.size >= 2:
            squares += float(((known - known.mean()) ** 2).sum())
            df += known.size - 1
    return MeanSquare(squares / df, df) if df else None


def _judge_table(repeats: npt.NDArray[np.float64]) -> MeanSquare | None:
    """The same of a whole table at once, for many transcripts."""
    known = ~np.isnan(repeats)
    finite_sample(repeats[known])
    twice = known.sum(axis=1) >= 2
    known, ratings = known[twice], np.where(known, repeats, 0.0)[twice]
    if not twice.any():
        return None
    means = ratings.sum(axis=1) / known.sum(axis=1)
    squares = float((np.where(known, ratings - means[:, None], 0.0) ** 2).sum())
    df = int(known.sum()) - int(twice.sum())
    return MeanSquare(squares / df, df)
