"""What it takes to show a difference, and what so many rounds can show: the questions of a plan.

Everything here is arithmetic on what was said or seen; no run is read and none is started.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, sqrt
from typing import NamedTuple

from matrix.model.lines import in_line
from matrix.model.money import NanoUSD
from matrix.model.notebook import text_as_html
from matrix.report.text import plural
from matrix.stats import (
    PowerGoal,
    RoundsToWin,
    failure_gate_pairs,
    rounds_for,
    rounds_to_win,
    sd_range,
    smallest_effect,
)
from matrix.stats.estimates.figures import of_each
from matrix.stats.estimates.proportions import discordant_needed
from matrix.stats.planning.gate_chance import MOST_ROUNDS
from matrix.stats.planning.paired_rounds import PairedRounds
from matrix.stats.planning.planning import ScoredRounds, gate_of, yes_no_scores
from matrix.stats.planning.yes_no_chance import YesNoScores
from matrix.stats.planning.yes_no_samples import YesNoSamples
from matrix.stats.rounds.rules import MIN_ROUNDS, design_effect

ALMOST_SURE = 0.999
"""A chance from here on is not asked of the scores: no difference would be large enough."""

AROUND = (0.5, 0.75, 1.0, 1.5, 2.0)
"""Effects of the table, as shares of the one asked about."""

MOST_APART = 0.95
"""Centre of the table of yes/no scores at most, as a share of the distance of the two values."""

ROUNDS_AROUND = (0.5, 1.0, 2.0)
"""Its numbers of rounds, as shares of the one that is the answer."""


class Failed(NamedTuple):
    """How many sessions of a variant failed, of how many."""

    level: str
    failed: int
    sessions: int

    @property
    def rate(self) -> float:
        """The share."""
        return self.failed / self.sessions if self.sessions else 0.0


@dataclass(frozen=True, slots=True)
class Pilot:
    """What a run shows of the spread, cost and failures that another one will meet.

    Attributes:
        run_id: The run.
        rounds: Complete rounds that have a pair of scores, of the two variants with fewest: those
            behind ``sd``.
        sd: Standard deviation of the difference of two variants from round to round, over all
            pairs of variants (root mean square), in units of the metric.
        round_nano: What a round cost, in nano-dollars; 0 if that is not known.
        failure_rate: Share of sessions that failed.
        missing: Share of sessions that have no score.
        simulated: What to say of simulated models in it; empty if there are none.
        yes_no: The two values of its scores, the lower first; ``None`` if there are others.
        complete: Share of pairs of sessions that have both scores; ``None``: as many as follows
            from ``missing``, if that is alike for all variants.
        failed: Failures of each variant, the one with the best mean first, where they are shown
            not to be alike; empty where they may be.
    """

    run_id: str
    rounds: int
    sd: float
    round_nano: NanoUSD
    failure_rate: float
    missing: float
    simulated: str
    yes_no: tuple[float, float] | None = None
    complete: float | None = None
    failed: tuple[Failed, ...] = ()

    @property
    def sd_range(self) -> tuple[float, float]:
        """95 % interval of the true standard deviation."""
        return sd_range(self.sd, self.rounds - 1)


@dataclass(frozen=True, slots=True)
class PowerQuestion:
    """A plan and what is asked about it.

    Attributes:
        goal: Error rate, power, number of variants, engine.
        sd: Standard deviation of the difference from round to round.
        effect: Difference to be shown; ``None`` where the question is what rounds can show.
        rounds: Rounds that are planned; ``None`` where the question is how many.
        budget_nano: Money for all rounds; ``None`` for no such question.
        pairs: Pairs of sessions in a round: scenarios times levels of other factors.
        repeats: Sessions of each variant in a pair, which count as one to the failure gate.
        failure_margin: Fraction by which a winner may fail more often.
        failure_icc: How far failures of one round go together, from 0 to 1.
        round_nano: What a round costs, in nano-dollars; ``None`` if it is not known.
        metric: What is compared.
        unit: What an independent observation is called.
        pilot: The run that the spread is from.
        yes_no: The two values of a yes/no score, the lower first; ``None`` for other scores.
        paired: Whether a unit has sessions of all variants; otherwise it is one variant's.
        sessions_each: Sessions of all variants in a unit, where some have more than others.
        price: Where the price of a round is from, or why there is none; empty where it goes
            without saying.
    """

    goal: PowerGoal
    sd: float
    effect: float | None = None
    rounds: int | None = None
    budget_nano: NanoUSD | None = None
    pairs: int = 1
    repeats: int = 1
    failure_margin: float = 0.05
    failure_icc: float = 0.1
    round_nano: NanoUSD | None = None
    metric: str = "score"
    unit: str = "round"
    pilot: Pilot | None = None
    yes_no: tuple[float, float] | None = None
    paired: bool = True
    sessions_each: float | None = None
    price: str = ""

    def counted(self, units: int) -> str:
        """So many units, in words."""
        return plural(units, self.unit) + of_each(paired=self.paired)

    @property
    def gate_unit(self) -> str:
        """What the failure gate counts: pairs, or without any rows."""
        return "pair" if self.paired else "row"

    @property
    def apart(self) -> float | None:
        """How far the two values of a yes/no score are apart."""
        return None if self.yes_no is None else self.yes_no[1] - self.yes_no[0]

    @property
    def differing_pairs(self) -> int:
        """Differing pairs that a winner of yes/no scores takes."""
        return discordant_needed(self.goal.alpha)

    @property
    def failure_rate(self) -> float:
        """Share of sessions that are expected to fail: as in the pilot, else none."""
        return 0.0 if self.pilot is None else self.pilot.failure_rate

    @property
    def failure_rates(self) -> tuple[float, tuple[float, ...]]:
        """Share of sessions that fail of the better variant, and of its rivals.

        The rivals are the variants of the pilot that come next by their means, and more of them
        than it has as those that fail least. Of all alike, where nothing shows a difference, the
        second is empty.
        """
        if self.pilot is None or not self.pilot.failed:
            return self.failure_rate, ()
        best, *others = (one.rate for one in self.pilot.failed)
        rivals = self.goal.n_variants - 1
        return best, tuple((others + [min(others)] * rivals)[:rivals])

    @property
    def fails(self) -> bool:
        """Whether sessions are expected to fail at all."""
        best, others = self.failure_rates
        return bool(best) or any(others)

    @property
    def missing(self) -> float:
        """Share of sessions that are expected to have no score: as in the pilot, else none."""
        return 0.0 if self.pilot is None else self.pilot.missing

    @property
    def lacking(self) -> float:
        """Share of sessions without a score, alike for all, that leaves as many complete pairs."""
        if self.pilot is None or self.pilot.complete is None:
            return self.missing
        return 1.0 - sqrt(self.pilot.complete)

    def asked_of_scores(self, gate_chance: float) -> float | None:
        """Chance to ask of the scores, as the gate has to be passed, too; ``None`` if too high."""
        requested = self.goal.power / gate_chance if gate_chance else 1.0
        return requested if requested < ALMOST_SURE else None

    @property
    def sessions_per_round(self) -> float:
        """Sessions of all variants in a round."""
        if self.sessions_each is not None:
            return self.sessions_each
        return self.pairs * self.repeats * self.goal.n_variants

    @property
    def per_effective(self) -> float:
        """Pairs of a round that are worth one independent pair to the failure gate."""
        return design_effect(self.pairs, self.failure_icc)


@dataclass(frozen=True, slots=True)
class Need:
    """What showing one effect takes.

    Attributes:
        effect: The difference.
        rounds: For its scores, for failures, for any verdict.
        sessions: In all rounds.
        cost_nano: Of all rounds; ``None`` if a round's cost is not known.
        powers: Chance to name the winner with each of the table's numbers of rounds: to show its
            lead and, at the question's failure rate, to pass the failure gate.
    """

    effect: float
    rounds: RoundsToWin
    sessions: int
    cost_nano: NanoUSD | None
    powers: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a number of rounds can show.

    Attributes:
        rounds: The rounds.
        effect: The smallest difference that is shown with the power wanted; ``None`` below the
            ten rounds that any verdict takes, and if there is none.
        sessions: In all rounds.
        cost_nano: Of all rounds; ``None`` if a round's cost is not known.
        can_win: Whether a winner can be named at all, if no session fails.
        gate_chance: Chance to pass the failure gate, at the question's failure rate; 1 without any.
    """

    rounds: int
    effect: float | None
    sessions: int
    cost_nano: NanoUSD | None
    can_win: bool
    gate_chance: float = 1.0


@dataclass(frozen=True, slots=True)
class PowerAnswer:
    """What a question came to.

    Attributes:
        question: What was asked.
        needed: What the effect asked about takes; ``None`` without one.
        shown: What the rounds that are planned or paid for can show; ``None`` without any.
        gate_pairs: Pairs without a failure that the failure gate takes.
        gate_rounds: The same as rounds.
        gate_rounds_at_rate: Rounds that it takes for the chance wanted if sessions fail as often
            as in the pilot; ``None`` without a pilot with failures, or if none are enough.
        needed_at_worst: Rounds for the effect if the spread is at the upper end of what the pilot
            leaves open; ``None`` without a pilot or effect.
        columns: Numbers of rounds that the table's chances are for.
        table: Effects around the answer.
    """

    question: PowerQuestion
    needed: Need | None
    shown: Shown | None
    gate_pairs: int
    gate_rounds: int
    gate_rounds_at_rate: int | None
    needed_at_worst: int | None
    columns: tuple[int, ...]
    table: tuple[Need, ...]

    def __repr__(self) -> str:
        """The answer in a line; all that it rests on is in the attributes."""
        return in_line(f"<power: {self._sentences()}>")

    def __str__(self) -> str:
        """The answer as `matrix power` prints it."""
        from matrix.report.planning.planning_text import answer_as_text

        return answer_as_text(self)

    def _sentences(self) -> str:
        from matrix.report.planning.planning_text import answer_in_words

        return answer_in_words(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the answer, what it rests on, and the table around it."""
        return text_as_html(str(self))


def answer(question: PowerQuestion) -> PowerAnswer:
    """Answer a question, with a small table around the answer."""
    goal, gate = question.goal, gate_pairs(question)
    planned = _planned_rounds(question)
    shown = None if planned is None else shown_by(question, planned)
    centre = question.effect or (None if shown is None else shown.effect)
    if centre is None:
        centre = smallest_effect(MIN_ROUNDS, question.sd, goal) or question.sd
    if question.apart is not None:
        centre = min(abs(centre), MOST_APART * question.apart)
    around = planned
    if question.effect is not None and (needed := _rounds(question, centre)).at_rate != MOST_ROUNDS:
        around = needed.total
    columns = tuple(
        dict.fromkeys(max(MIN_ROUNDS, ceil(share * (around or 1))) for share in ROUNDS_AROUND)
    )
    return PowerAnswer(
        question=question,
        needed=None if question.effect is None else _need(question, question.effect, columns),
        shown=shown,
        gate_pairs=gate,
        gate_rounds=ceil(gate / question.pairs),
        gate_rounds_at_rate=_gate_at_rate(question),
        needed_at_worst=_at_worst(question),
        columns=columns,
        table=tuple(_need(question, effect, columns) for effect in _around(question, centre)),
    )


def _around(question: PowerQuestion, centre: float) -> list[float]:
    """Effects of the table: of yes/no scores those that can be."""
    most = inf if question.apart is None else question.apart
    return [effect for share in AROUND if (effect := share * abs(centre)) < most]


def gate_pairs(question: PowerQuestion) -> int:
    """Pairs without a failure that the failure gate takes."""
    goal = question.goal
    pairs = failure_gate_pairs(
        question.failure_margin,
        goal.alpha,
        sequential=_looks(goal),
        per_effective=question.per_effective,
    )
    assert pairs is not None  # without failures every margin is shown sooner or later
    return pairs


def shown_by(question: PowerQuestion, rounds: int) -> Shown:
    """What a number of rounds of the question's plan can show."""
    passed = _gate_chance(question, rounds)
    requested = question.asked_of_scores(passed)
    goal = None if requested is None else replace(question.goal, power=requested)
    return Shown(
        gate_chance=passed,
        rounds=rounds,
        effect=None if goal is None else _smallest_effect(question, rounds, goal),
        sessions=round(rounds * question.sessions_per_round),
        cost_nano=None if question.round_nano is None else rounds * question.round_nano,
        can_win=rounds >= max(MIN_ROUNDS, ceil(gate_pairs(question) / question.pairs)),
    )


def _smallest_effect(question: PowerQuestion, rounds: int, goal: PowerGoal) -> float | None:
    scores = _scores(question)
    if isinstance(scores, YesNoScores | YesNoSamples):
        # with fewer rounds than the failure gate takes, it is said of the scores alone
        scores = replace(scores, opens=min(scores.opens, rounds))
    return scores.smallest_effect(rounds, question.sd, goal)


def _scores(question: PowerQuestion) -> ScoredRounds:
    if question.apart is None:
        return PairedRounds(question.pairs, question.lacking)
    opens = ceil(gate_pairs(question) / question.pairs)
    return yes_no_scores(
        question.apart, question.pairs, question.lacking, paired=question.paired, opens=opens
    )


def _looks(goal: PowerGoal) -> bool:
    return goal.engine != "fixed"


def _planned_rounds(question: PowerQuestion) -> int | None:
    if question.budget_nano is None or not question.round_nano:
        return question.rounds
    paid = rounds_for(question.budget_nano, question.round_nano)
    return paid if question.rounds is None else min(paid, question.rounds)


def _rounds(question: PowerQuestion, effect: float | None, sd: float | None = None) -> RoundsToWin:
    """Rounds for an effect, or for the gate alone; ``sd`` is the question's if left out."""
    return rounds_to_win(
        question.goal,
        question.failure_margin,
        question.pairs,
        effect,
        question.sd if sd is None else sd,
        icc=question.failure_icc,
        rate=question.failure_rates[0],
        of_rivals=question.failure_rates[1],
        missing=question.lacking,
        yes_no=question.apart,
        paired=question.paired,
    )


def _gate_chance(question: PowerQuestion, rounds: int) -> float:
    if not question.fails:
        return 1.0
    return gate_of(
        question.goal,
        question.failure_margin,
        question.pairs,
        icc=question.failure_icc,
        rate=question.failure_rates[0],
        of_rivals=question.failure_rates[1],
    ).chance(rounds)


def _need(question: PowerQuestion, effect: float, columns: Sequence[int]) -> Need:
    rounds = _rounds(question, effect)
    cost = None if question.round_nano is None else rounds.total * question.round_nano
    opens = ceil(gate_pairs(question) / question.pairs)  # before, nobody can be named
    scores = _scores(question)
    powers = tuple(
        scores.chance(n, effect, question.sd, question.goal) * _gate_chance(question, n)
        if n >= opens
        else 0.0
        for n in columns
    )
    return Need(effect, rounds, round(rounds.total * question.sessions_per_round), cost, powers)


def _gate_at_rate(question: PowerQuestion) -> int | None:
    if not question.fails:
        return None
    found = _rounds(question, None).total
    return None if found >= MOST_ROUNDS else found


def _at_worst(question: PowerQuestion) -> int | None:
    if question.pilot is None or question.effect is None:
        return None
    worst = _rounds(question, question.effect, question.pilot.sd_range[1]).total
    return worst if worst < MOST_ROUNDS else None
