"""What a plan has to allow for besides the scores: the failure gate, and a spread that is a guess.

A winner must also be shown to fail at most a margin more often, and that takes a number of pairs
that has nothing to do with how far apart the scores are. A winner of yes/no scores must differ in
enough pairs as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, inf, log, sqrt
from typing import TypeAlias

from matrix.stats.estimates.proportions import newcombe_paired
from matrix.stats.estimates.samples import refuse
from matrix.stats.looks.betting import log_gate_capital
from matrix.stats.planning.gate_chance import MOST_ROUNDS, FailureGate
from matrix.stats.planning.paired_rounds import PairedRounds
from matrix.stats.planning.power import PowerGoal, rounds_needed
from matrix.stats.planning.yes_no_chance import YesNoScores
from matrix.stats.planning.yes_no_samples import YesNoSamples
from matrix.stats.rounds.rules import MIN_ROUNDS, design_effect

ScoredRounds: TypeAlias = PairedRounds | YesNoScores | YesNoSamples
"""The scores of a plan: of many values, or of two."""

MOST_GATE_PAIRS = 10_000_000
"""A failure gate that takes more pairs than this counts as out of reach."""


@dataclass(frozen=True, slots=True)
class RoundsToWin:
    """Rounds after which a winner can be named, by what they are needed for.

    Attributes:
        scores: For the difference in scores; ``None`` where no difference was asked about. Of
            yes/no scores, and where some are missing, `MOST_ROUNDS` stands for that many or more.
        failures: For the failure gate, as long as no session fails.
        fewest: What any verdict takes.
        at_rate: For the chance wanted of all of it where sessions fail at a rate, and of yes/no
            scores where looks before the gate opens are missed; ``None`` where the others are
            enough. `MOST_ROUNDS` stands for that many or more.
    """

    scores: int | None
    failures: int
    fewest: int = MIN_ROUNDS
    at_rate: int | None = None

    @property
    def total(self) -> int:
        """Rounds that are enough for all of it."""
        return max(self.scores or 0, self.failures, self.fewest, self.at_rate or 0)


def failure_gate_pairs(
    margin: float,
    alpha: float = 0.05,
    *,
    sequential: bool = False,
    per_effective: float = 1.0,
) -> int | None:
    """Fewest pairs at which a variant can be shown to fail at most ``margin`` more often.

    With no failure on either side 52 for 5 points and 25 for 10, or 79 and 39 when it is looked at
    after every round. With failures it takes more: see `matrix.stats.planning.gate_chance`.

    Args:
        margin: Fraction above 0 and at most 1.
        alpha: One-sided error rate, below 0.5.
        sequential: Whether the gate is kept for looks at any time.
        per_effective: Pairs that are worth one independent pair, at least 1.

    Returns:
        Pairs; ``None`` if it takes more than `MOST_GATE_PAIRS`.
    """
    problems = []
    if not 0.0 < margin <= 1.0:
        problems.append(f"a failure margin is a fraction above 0 and at most 1; got {margin}")
    if not 0.0 < alpha < 0.5:
        problems.append(f"alpha is an error rate below 0.5, such as 0.05; got {alpha}")
    refuse(problems)

    def passes(pairs: int) -> bool:
        n = pairs / per_effective
        if sequential:
            return float(log_gate_capital(0.0, 0.0, n, margin)) >= log(1.0 / alpha)
        bounds = newcombe_paired(0.0, 0.0, 0.0, n, 2 * alpha)
        return bounds is not None and bounds.high < margin

    return _fewest(passes, 1, MOST_GATE_PAIRS)


def rounds_to_win(
    goal: PowerGoal,
    failure_margin: float,
    pairs_per_round: int,
    effect: float | None = None,
    sd: float = 1.0,
    *,
    icc: float = 0.0,
    rate: float = 0.0,
    missing: float | None = None,
    yes_no: float | None = None,
    paired: bool = True,
    of_rivals: tuple[float, ...] = (),
) -> RoundsToWin:
    """Rounds that naming a winner takes.

    Where sessions fail, the chance wanted is that of both at once: the scores shown, and the gate
    passed against every rival, which tell nothing of each other. Where sessions have no score,
    rounds may have no pair to compare, and such ones do not count.

    Args:
        goal: Error rate, power, variants and engine.
        failure_margin: Fraction above 0 and at most 1.
        pairs_per_round: Pairs of sessions in a round: scenarios times levels of other factors.
        effect: True difference to be shown; ``None`` for one so large that any number shows it.
        sd: Standard deviation of the difference from round to round.
        icc: How far failures of one round are allowed to go together, from 0 to 1.
        rate: Share of sessions that fail, of the winner at least.
        missing: Share of sessions that have no score, if that is not ``rate``.
        yes_no: Of scores of two values, how far these are apart: a winner then takes a number of
            differing pairs, too, and chances are simulated. ``None`` for other scores.
        of_rivals: Share of each rival's sessions that fail; empty where it is ``rate``, too.
        paired: Whether rounds have sessions of all variants; otherwise each has rows of its own.
    """
    if pairs_per_round < 1:
        raise ValueError(f"a round has at least one pair of sessions; got {pairs_per_round}")
    gate = gate_of(goal, failure_margin, pairs_per_round, icc=icc, rate=rate, of_rivals=of_rivals)
    pairs = failure_gate_pairs(
        failure_margin, goal.alpha, sequential=gate.sequential, per_effective=gate.per_effective
    )
    assert pairs is not None  # without failures every margin is shown sooner or later
    opens = ceil(pairs / pairs_per_round)
    unscored = rate if missing is None else missing
    alone: ScoredRounds = PairedRounds(pairs_per_round, unscored)
    values = alone
    if yes_no is not None:
        alone = yes_no_scores(yes_no, pairs_per_round, unscored, paired=paired)
        values = replace(alone, opens=opens)
    scores = None if effect is None else _rounds_to_show(effect, sd, goal, alone)
    least = RoundsToWin(scores, opens)
    fails = bool(rate) or any(of_rivals)
    if not fails and yes_no is None:
        return least

    def enough(n: int) -> bool:
        shown = 1.0 if effect is None else values.chance(n, effect, sd, goal)
        return shown * gate.chance(n) >= goal.power

    if not fails and enough(least.total):
        return least
    return replace(least, at_rate=_fewest(enough, least.total, MOST_ROUNDS) or MOST_ROUNDS)


def yes_no_scores(
    apart: float, pairs: int, missing: float, *, paired: bool, opens: int = MIN_ROUNDS
) -> YesNoScores | YesNoSamples:
    """Scores of two values of a plan.

    Args:
        apart: How far the two values are from each other.
        pairs: Pairs of sessions in a round, where there are any.
        missing: Share of sessions without a score that leaves as many complete pairs; of rows that
            nothing pairs, as many of them have a score as two of these would have both.
        paired: Whether there are pairs.
        opens: Rounds before which no winner is named whatever the scores.
    """
    if paired:
        return YesNoScores(apart, pairs, missing, opens)
    return YesNoSamples(apart, 1.0 - (1.0 - missing) ** 2, opens)


def _rounds_to_show(effect: float, sd: float, goal: PowerGoal, scores: ScoredRounds) -> int:
    if isinstance(scores, PairedRounds) and not scores.missing:
        return rounds_needed(effect, sd, goal)

    def enough(n: int) -> bool:
        return scores.chance(n, effect, sd, goal) >= goal.power

    return _fewest(enough, MIN_ROUNDS, MOST_ROUNDS) or MOST_ROUNDS


def gate_of(
    goal: PowerGoal,
    failure_margin: float,
    pairs_per_round: int,
    *,
    icc: float,
    rate: float,
    of_rivals: tuple[float, ...] = (),
) -> FailureGate:
    """The failure gate of a plan; arguments as of `rounds_to_win`."""
    return FailureGate(
        margin=failure_margin,
        rate=rate,
        pairs=pairs_per_round,
        rivals=goal.n_variants - 1,
        alpha=goal.alpha,
        per_effective=design_effect(pairs_per_round, icc),
        sequential=goal.engine != "fixed",
        of_rivals=of_rivals,
    )


def _fewest(enough: Callable[[int], bool], least: int, most: int) -> int | None:
    """Fewest from ``least`` on that are enough, found by halving; ``None`` beyond ``most``."""
    low, high = least - 1, least
    while not enough(high):
        low, high = high, 2 * high
        if high > most:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def sd_range(sd: float, df: float, alpha: float = 0.05) -> tuple[float, float]:
    """Interval for a true standard deviation, from one that was estimated from normal values.

    ``sd sqrt(df / chi2)`` at both quantiles: from ten rounds it reaches from 0.7 to 1.8 times.

    Args:
        sd: The estimate, not negative.
        df: Its degrees of freedom, n - 1; below 1 nothing is known.
        alpha: Two-sided error rate.
    """
    from scipy.special import chdtri

    problems = []
    if not (sd >= 0.0 and sd < inf):
        problems.append(f"a standard deviation is finite and not negative; got {sd}")
    if not 0.0 < alpha < 1.0:
        problems.append(f"alpha is an error rate between 0 and 1; got {alpha}")
    refuse(problems)
    if df < 1:
        return 0.0, inf
    least, most = (sd * sqrt(df / float(chdtri(df, tail))) for tail in (alpha / 2, 1 - alpha / 2))
    return least, most
