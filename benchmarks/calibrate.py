"""``python -m benchmarks.calibrate``: how often verdicts err, and how early they come.

python -m benchmarks.calibrate                    everything, 20,000 runs per figure
python -m benchmarks.calibrate errors --runs 500  one section, with fewer runs

Every run is a simulated matrix that goes through `matrix.stats.verdict_of`, as a real one does;
those of ``means`` are of one variant, and go through `matrix.stats.rounds.own_mean`.
Seeds are fixed, so figures repeat to the last digit; ``+-`` is one standard error of the
simulation.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat
from math import comb, exp, sqrt
from typing import Final

import numpy as np
import numpy.typing as npt

from matrix.stats import (
    OUTCOMES,
    Engine,
    PowerGoal,
    Rules,
    Verdict,
    complete_rounds,
    power_of_rounds,
    rounds_to_win,
    verdict_of,
    welch,
)
from matrix.stats.estimates.student import t_quantile
from matrix.stats.planning.planning import gate_of
from matrix.stats.planning.yes_no_chance import YesNoScores
from matrix.stats.rounds.own_mean import own_mean
from matrix.stats.rounds.round_table import RoundTable
from matrix.stats.verdicts.sequential import lead_after_looks

Scores = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int, int]], Scores]

ALPHA: Final = 0.05
ENGINES: Final[tuple[Engine, ...]] = ("fixed", "planned", "open-ended")
SCORES_ALONE: Final = 1.0
"""A failure margin that everyone keeps, so that scores alone decide."""
SD: Final = 6.0


def _ternary(rng: np.random.Generator, shape: tuple[int, int, int]) -> Scores:
    """Yes/no scores of which one pair in five differs, either way alike."""
    first = rng.integers(0, 2, (*shape[:2], 1))
    differs = rng.random((*shape[:2], shape[2])) < 0.2
    differs[:, :, 0] = False
    return np.where(differs, 1 - first, first).astype(np.float64)


def _crashes(rng: np.random.Generator, shape: tuple[int, int, int]) -> Scores:
    """5 % crashes counted as 0, in both variants alike, so that differences stay symmetric."""
    scores = rng.normal(80, 5, shape)
    return np.where(rng.random(shape) < 0.05, 0.0, scores)


DISTRIBUTIONS: Final[dict[str, Draw]] = {
    "normal": lambda rng, shape: rng.normal(50, SD, shape),
    "skewed beta(8, 2)": lambda rng, shape: 100 * rng.beta(8, 2, shape),
    "Likert 1 to 5": lambda rng, shape: rng.choice(
        np.arange(1.0, 6.0), shape, p=[0.02, 0.05, 0.13, 0.35, 0.45]
    ),
    "ternary, 20 % differ": _ternary,
    "5 % zeros": _crashes,
    "lognormal": lambda rng, shape: rng.lognormal(0.0, 1.0, shape),
}


def _hard(rng: np.random.Generator, shape: tuple[int, int, int]) -> Scores:
    """One scenario is 50 points below the others, and 27 % of its sessions have no score."""
    scores = rng.normal(80, SD, shape)
    scores[:, :, 0] -= 50
    scores[:, :, 0][rng.random(shape[:2]) < 0.27] = np.nan
    return scores


MEANS: Final[dict[str, Callable[[int], float]]] = {
    "normal": lambda _: 50.0,
    "skewed beta(8, 2)": lambda _: 80.0,
    "Likert 1 to 5": lambda _: 4.16,
    "lognormal": lambda _: exp(0.5),
    "hard scenario": lambda scenarios: 80.0 - 50.0 / scenarios,
}
"""True mean of a variant on so many scenarios."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of runs, with the standard error of the simulation."""

    hits: int
    runs: int

    def __str__(self) -> str:
        share = self.hits / self.runs
        return f"{share:.4f} +- {sqrt(share * (1 - share) / self.runs):.4f}"


def _verdict(
    scores: Scores, rules: Rules, outcomes: npt.NDArray[np.int64] | None = None
) -> Verdict:
    """The verdict of one whole run, scores shaped [R, S, k]."""
    codes = np.zeros(scores.shape, np.int64) if outcomes is None else outcomes
    return verdict_of(_rounds(scores, codes), rules)


def _rounds(scores: Scores, outcomes: npt.NDArray[np.int64]) -> RoundTable:
    """The rounds of one whole run, both shaped [R, S, k]."""
    rounds, scenarios, variants = (index.ravel() for index in np.indices(scores.shape))
    return complete_rounds(
        rounds,
        scenarios,
        variants,
        scores.ravel(),
        outcomes.ravel(),
        n_rounds_planned=scores.shape[0],
        n_scenarios=scores.shape[1],
        n_variants=scores.shape[2],
    )


def errors(runs: int) -> Iterator[Sequence[object]]:
    """False winners between two equals, looked at after every round up to the plan's end."""
    yield "engine", "scores", "rounds", "false winners"
    for engine in ENGINES:
        rules = Rules(ALPHA, failure_margin=SCORES_ALONE, score_bounds=None, engine=engine)
        for seed, (name, draw) in enumerate(DISTRIBUTIONS.items()):
            for n in (10, 30, 100):
                rng = np.random.default_rng([seed, n])
                found = (_verdict(draw(rng, (n, 1, 2)), rules) for _ in range(runs))
                yield engine, name, n, Rate(sum(one.winner is not None for one in found), runs)


def unlike(runs: int) -> Iterator[Sequence[object]]:
    """Equal means, and one variant has rare sessions that go very badly: who is named."""
    yield "engine", "rare", "rounds", "false winners", "the risky one", "95 % intervals hold"
    for engine in ENGINES:
        rules = Rules(ALPHA, failure_margin=SCORES_ALONE, score_bounds=None, engine=engine)
        for share, drop in ((0.05, 60.0), (0.10, 40.0)):
            for n in (10, 30, 100):
                rng, named, hold = np.random.default_rng(n), [0, 0], 0
                for _ in range(runs):
                    scores = rng.normal(70, 3, (n, 1, 2))
                    bad = rng.random((n, 1)) < share
                    scores[:, :, 1] += share * drop - drop * bad
                    found = _verdict(scores, rules)
                    if found.winner is not None:
                        named[found.winner] += 1
                    interval = found.claims[0].interval
                    hold += interval is not None and interval.contains(0.0)
                rare = f"{100 * share:.0f} % are {drop:.0f} lower"
                rates = (Rate(sum(named), runs), Rate(named[1], runs), Rate(hold, runs))
                yield engine, rare, n, *rates


def sessions(runs: int) -> Iterator[Sequence[object]]:
    """Sessions as the unit: false winners where those of one round go together, by their ICC."""
    yield "engine", "rounds", "ICC 0", "ICC .05", "ICC .1", "ICC .2"
    for engine in ENGINES:
        rules = Rules(
            ALPHA, failure_margin=SCORES_ALONE, score_bounds=None, engine=engine, unit="session"
        )
        for n in (5, 10, 30):
            rates = []
            for icc in (0.0, 0.05, 0.1, 0.2):
                rng, named = np.random.default_rng([n, int(100 * icc)]), 0
                for _ in range(runs):
                    together = rng.normal(0, SD * sqrt(icc), (n, 1, 2))
                    scores = 50 + together + rng.normal(0, SD * sqrt(1 - icc), (n, 5, 2))
                    named += _verdict(scores, rules).winner is not None
                rates.append(Rate(named, runs))
            yield engine, n, *rates


def missing(runs: int) -> Iterator[Sequence[object]]:
    """Scenarios far apart, and one variant's scores missing at random from all but the first."""
    yield "engine", "scenarios", "missing", "rounds", "false winners"
    for engine in ENGINES:
        rules = Rules(ALPHA, failure_margin=SCORES_ALONE, score_bounds=None, engine=engine)
        for scenarios, share, n in ((2, 0.2, 12), (2, 0.35, 20), (3, 0.2, 40), (5, 0.05, 40)):
            rng, named = np.random.default_rng(n), 0
            for _ in range(runs):
                scores = rng.normal(0, SD, (n, scenarios, 2)) + rng.normal(0, SD, (n, 1, 1))
                scores += np.array([80.0, 35.0, 50.0, 60.0, 20.0])[:scenarios, None]
                gone = rng.random((n, scenarios)) < share
                gone[:, 0] = False
                scores[:, :, 1][gone] = np.nan
                named += _verdict(scores, rules).winner is not None
            yield engine, scenarios, f"{100 * share:.0f} %", n, Rate(named, runs)


_FEW: Final = np.array([0.0, 0.5, 1.0])

UNPAIRED: Final[dict[str, tuple[Callable[[np.random.Generator, int, int], Scores], str]]] = {
    "0, .5, 1 by .05, .02, .93": (
        lambda rng, _, size: rng.choice(_FEW, size, p=[0.05, 0.02, 0.93]),
        "15/150 30/300 40/160 20/20",
    ),
    "0, .5, 1 by .1, .1, .8": (
        lambda rng, _, size: rng.choice(_FEW, size, p=[0.1, 0.1, 0.8]),
        "15/150 30/300 40/160",
    ),
    "lognormal": (lambda rng, _, size: rng.lognormal(0.0, 1.0, size), "12/12 12/60 50/500"),
    "beta(9, 1)": (lambda rng, _, size: rng.beta(9, 1, size), "12/60 15/150"),
    "normal": (lambda rng, _, size: rng.normal(0, 1, size), "20/20 20/80"),
    "normal, the fewer spread thrice": (
        lambda rng, side, size: rng.normal(0, (3, 1)[side], size),
        "10/100 20/80",
    ),
    "normal, the more spread thrice": (
        lambda rng, side, size: rng.normal(0, (1, 3)[side], size),
        "10/100 20/80",
    ),
    "normal, the more spread twice": (
        lambda rng, side, size: rng.normal(0, (1, 2)[side], size),
        "20/80 40/160",
    ),
}
"""Scores of two samples with one mean, by side, and how many of each."""


def unpaired(runs: int) -> Iterator[Sequence[object]]:
    """Rows that nothing pairs: false winners, and winners where Welch's t has a power of about .8.

    The second sample is then ahead by 2.8 of its standard errors.
    """
    yield "scores", "rows", "false winners", "by Welch's t", "found", "by Welch's t"
    rules = Rules(ALPHA, failure_margin=SCORES_ALONE, score_bounds=None, unit="unpaired")
    for name, (draw, shapes) in UNPAIRED.items():
        for shape in shapes.split():
            n, m = map(int, shape.split("/"))
            rng = np.random.default_rng([n, m])
            large = [draw(rng, side, 100_000) for side in (0, 1)]
            ahead = 2.8 * sqrt(large[0].var() / n + large[1].var() / m)
            named, by_welch = [0, 0], [0, 0]
            for _ in range(runs):
                first, second = draw(rng, 0, n), draw(rng, 1, m)
                for place, lead in enumerate((0.0, ahead)):
                    scores = np.full((max(n, m), 1, 2), np.nan)
                    scores[:n, 0, 0], scores[:m, 0, 1] = first, second + lead
                    named[place] += _verdict(scores, rules).winner is not None
                    p = welch(first, second + lead).p
                    by_welch[place] += p is not None and p <= ALPHA
            yield (
                *(name, f"{n}, {m}"),
                *(Rate(each[place], runs) for place in (0, 1) for each in (named, by_welch)),
            )


def zeros(runs: int) -> Iterator[Sequence[object]]:
    """The trap: crashes of one variant counted as 0, its other scores better by as much."""
    yield "engine", "rounds", "false winners"
    for engine in ENGINES:
        rules = Rules(ALPHA, failure_margin=SCORES_ALONE, score_bounds=None, engine=engine)
        for n in (10, 30, 100):
            rng, named = np.random.default_rng([len(DISTRIBUTIONS), n]), 0
            for _ in range(runs):
                scores = rng.normal(np.array([76.0, 80.0]), 5, (n, 1, 2))
                scores[:, :, 1] *= rng.random((n, 1)) >= 0.05
                named += _verdict(scores, rules).winner is not None
            yield engine, n, Rate(named, runs)


def several(runs: int) -> Iterator[Sequence[object]]:
    """Several variants, any beaten one dropped two rounds later: how often a winner is named.

    All equal; and two that are equally good with the others one standard deviation worse, which is
    where a wrong winner is likeliest: only one other has to be beaten by chance.
    """
    yield "engine", "variants", "any out, all equal", "winner, all equal", "winner, two equal best"
    for engine in ENGINES:
        rules = Rules(ALPHA, failure_margin=SCORES_ALONE, score_bounds=None, engine=engine)
        for k in (2, 3, 4, 8):
            rng, out, named = np.random.default_rng(k), 0, [0, 0]
            worse = np.array([0.0, 0.0, *[-SD * sqrt(2)] * (k - 2)])
            for _ in range(runs):
                noise = rng.normal(50, SD, (30, 1, k))
                equal = _with_dropping(noise, rules)
                out += bool(equal.beaten)
                named[0] += equal.winner is not None
                named[1] += _with_dropping(noise + worse, rules).winner is not None
            yield engine, k, Rate(out, runs), *(Rate(count, runs) for count in named)


def promised(runs: int) -> Iterator[Sequence[object]]:
    """The rounds that a plan is given for a chance of 80 %: how often the best one is named."""
    yield (
        *("engine", "variants", "sessions that fail", "rounds planned", "promised"),
        *("the best named", "another named", "mean rounds"),
    )
    cells = [(engine, k, rate) for engine in ENGINES for k in (2, 4, 8) for rate in FAILING]
    with ProcessPoolExecutor() as pool:
        for (engine, k, rate), kept in zip(
            cells, pool.map(play_promise, *zip(*cells, strict=True), repeat(runs)), strict=True
        ):
            yield (
                *(engine, k, f"{rate:.0%}", kept.planned, f"{kept.promised:.3f}"),
                *(Rate(kept.best, runs), Rate(kept.another, runs), f"{kept.rounds:.1f}"),
            )


FAILING: Final = (0.0, 0.02, 0.05)
"""Shares of sessions that fail, of each variant alike."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What became of a plan's promise in simulated runs.

    Attributes:
        planned: Rounds of the plan.
        promised: The chance to name the best variant that the plan says these have.
        best: Runs that named it.
        another: Runs that named another.
        rounds: Mean number of rounds after which a run was decided, or over.
        by_t: Of yes/no scores, rounds that would be planned by the noncentral t alone.
    """

    planned: int
    promised: float
    best: int
    another: int
    rounds: float
    by_t: int | None = None


def play_promise(engine: Engine, k: int, rate: float, runs: int) -> Promise:
    """Plan for a chance of 80 % to show half a standard deviation, and play the plan to verdicts.

    Five scenarios, a failure margin of ten points, failures that have nothing to do with the
    scores; the spread is that of rounds as a pilot with these failures would measure it.
    """
    goal, effect, margin, pairs = PowerGoal(ALPHA, n_variants=k, engine=engine), 0.5, 0.1, 5
    n = rounds_to_win(goal, margin, pairs, effect, 1.0, icc=0.1, rate=rate).total
    gate = gate_of(goal, margin, pairs, icc=0.1, rate=rate)
    rules = Rules(ALPHA, failure_margin=margin, score_bounds=None, engine=engine)
    rng, found = np.random.default_rng([k, int(100 * rate)]), []
    for _ in range(runs):
        scores = rng.normal(0.0, sqrt(pairs / 2) * (1 - rate), (n, pairs, k))
        scores[:, :, 0] += effect
        failed = rng.random(scores.shape) < rate
        found.append(_with_dropping(scores, rules, np.where(failed, _FAILED, 0)))
    best = sum(one.winner == 0 for one in found)
    return Promise(
        planned=n,
        promised=power_of_rounds(n, effect, 1.0, goal) * gate.chance(n),
        best=best,
        another=sum(one.winner is not None for one in found) - best,
        rounds=float(np.mean([one.decided_at or n for one in found])),
    )


def promised_yes_no(runs: int) -> Iterator[Sequence[object]]:
    """The same promise of scores that are 0 or 1, of which a winner takes six differing pairs."""
    yield (
        *("engine", "rates", "scenarios", "variants", "sessions that fail", "rounds planned"),
        *("promised", "by t alone", "the best named", "another named", "mean rounds"),
    )
    cells = [(engine, world) for engine in ENGINES for world in YES_NO]
    with ProcessPoolExecutor() as pool:
        played = pool.map(play_yes_no, *zip(*cells, strict=True), repeat(runs))
        for (engine, world), kept in zip(cells, played, strict=True):
            yield (
                *(engine, f"{world.best:g} and {world.other:g}", world.scenarios, world.k),
                *(f"{world.fail:.0%}", kept.planned, f"{kept.promised:.3f}", kept.by_t),
                *(Rate(kept.best, runs), Rate(kept.another, runs), f"{kept.rounds:.1f}"),
            )


@dataclass(frozen=True, slots=True)
class YesNoWorld:
    """True pass rates of the best variant and of each other one, and what they are played in."""

    best: float
    other: float
    scenarios: int = 1
    k: int = 2
    fail: float = 0.0

    @property
    def effect(self) -> float:
        """How far the best one is ahead."""
        return self.best - self.other

    @property
    def sd(self) -> float:
        """Spread of a round's difference, over the rounds that have any: as a pilot measures it."""
        seen, counts = (1 - self.fail) ** 2, range(1, self.scenarios + 1)
        weights = [
            comb(self.scenarios, n) * seen**n * (1 - seen) ** (self.scenarios - n) for n in counts
        ]
        share = sum(w / n for w, n in zip(weights, counts, strict=True)) / sum(weights)
        return sqrt(share * sum(rate * (1 - rate) for rate in (self.best, self.other)))


YES_NO: Final = (
    *(YesNoWorld(1.0, 0.6), YesNoWorld(1.0, 0.7), YesNoWorld(1.0, 0.8), YesNoWorld(0.95, 0.65)),
    *(YesNoWorld(0.9, 0.5), YesNoWorld(0.98, 0.8, 3), YesNoWorld(1.0, 0.85, 3)),
    *(YesNoWorld(0.95, 0.6, 1, 4), YesNoWorld(0.95, 0.6, 1, 2, 0.1)),
    YesNoWorld(0.95, 0.7, 3, 2, 0.05),
)


def play_yes_no(engine: Engine, world: YesNoWorld, runs: int) -> Promise:
    """Plan for a chance of 80 % to show the better pass rate, and play the plan to verdicts.

    A failure margin of 20 points, failures that have nothing to do with the scores.
    """
    goal, margin = PowerGoal(ALPHA, n_variants=world.k, engine=engine), 0.2
    size = (margin, world.scenarios, world.effect, world.sd)
    need = rounds_to_win(goal, *size, icc=0.1, rate=world.fail, yes_no=1.0)
    n, by_t = need.total, rounds_to_win(goal, *size, icc=0.1, rate=world.fail).total
    gate = gate_of(goal, margin, world.scenarios, icc=0.1, rate=world.fail)
    values = YesNoScores(1.0, world.scenarios, world.fail, need.failures)
    rules = Rules(ALPHA, failure_margin=margin, score_bounds=(0.0, 1.0), engine=engine)
    rng, found = np.random.default_rng([world.k, int(100 * world.best)]), []
    rates = np.where(np.arange(world.k) == 0, world.best, world.other)
    for _ in range(runs):
        scores = (rng.random((n, world.scenarios, world.k)) < rates).astype(np.float64)
        failed = rng.random(scores.shape) < world.fail
        found.append(_with_dropping(scores, rules, np.where(failed, _FAILED, 0)))
    best = sum(one.winner == 0 for one in found)
    return Promise(
        planned=n,
        promised=values.chance(n, world.effect, world.sd, goal) * gate.chance(n),
        best=best,
        another=sum(one.winner is not None for one in found) - best,
        rounds=float(np.mean([one.decided_at or n for one in found])),
        by_t=by_t,
    )


_FAILED: Final = OUTCOMES.index("failed")


def _with_dropping(
    scores: Scores, rules: Rules, ended: npt.NDArray[np.int64] | None = None
) -> Verdict:
    """The verdict when each variant is dropped two rounds after it is beaten."""
    return _dropping(scores, rules, ended)[0]


def _dropping(
    scores: Scores, rules: Rules, ended: npt.NDArray[np.int64] | None = None
) -> tuple[Verdict, RoundTable]:
    """The same, with the rounds that it is about."""
    outcomes = np.zeros(scores.shape, np.int64) if ended is None else ended.copy()
    table, known = _rounds(scores, outcomes), 0
    verdict = verdict_of(table, rules)
    while verdict.decided_at is None and len(verdict.beaten) > known:
        for one in verdict.beaten:
            outcomes[one.at + 2 :, :, one.variant] = OUTCOMES.index("dropped")
        known = len(verdict.beaten)
        table = _rounds(scores, outcomes)
        verdict = verdict_of(table, rules)
    return verdict, table


def printed(runs: int) -> Iterator[Sequence[object]]:
    """Every range that is printed: how often it holds the truth, for each engine and shape.

    Thirty rounds of five scenarios, beaten variants dropped two rounds later. False winners are
    counted among equals, everything else where the first variant is half a standard deviation of a
    round's difference ahead. The last two columns are of runs that named a winner: they were chosen
    for a large lead.
    """
    yield (
        *("scores", "engine", "variants", "false winners", "of them fragile", "best named"),
        *("another", "all pairs", "one pair", "own means", "winner's lead", "adjusted"),
    )
    cells = [(data, engine, k) for data in SHAPES for engine in ENGINES for k in (2, 4, 8)]
    with ProcessPoolExecutor() as pool:
        rows = pool.map(_ranges_held, *zip(*cells, strict=True), repeat(runs))
        for cell, row in zip(cells, rows, strict=True):
            yield (*cell, *row)


@dataclass(frozen=True, slots=True)
class Shape:
    """Scores of sessions with a known mean and spread.

    Attributes:
        draw: Scores, [R, S, k], of variants with the means handed in, [k].
        mean: Mean of a variant that is not the best.
        sd: Standard deviation of a round's difference of two variants over `PAIRS` scenarios.
        hides: Whether scores of the first variant are missing for what they are.
    """

    draw: Callable[[np.random.Generator, tuple[int, int, int], Scores], Scores]
    mean: float
    sd: float
    hides: bool = False


PAIRS: Final = 5
"""Scenarios, and so pairs of two variants in a round."""


def _moved(draw: Draw, mean: float) -> Callable[..., Scores]:
    """Scores of one shape, moved to the means."""
    return lambda rng, shape, means: draw(rng, shape) - mean + means


def _together(rng: np.random.Generator, shape: tuple[int, int, int]) -> Scores:
    """Sessions of one variant and round go together: intraclass correlation .3."""
    rounds = rng.normal(0, SD * sqrt(0.3), (shape[0], 1, shape[2]))
    return np.asarray(rounds + rng.normal(0, SD * sqrt(0.7), shape))


def _hidden(rng: np.random.Generator, shape: tuple[int, int, int], means: Scores) -> Scores:
    """Half of the worst fifth of the first variant's scores are missing: one in ten."""
    scores = rng.normal(0, SD, shape) + means
    first = scores[:, :, 0]
    first[(first < means[0] - 0.8416 * SD) & (rng.random(first.shape) < 0.5)] = np.nan
    return np.asarray(scores)


_ROUND: Final = sqrt(2 / PAIRS)
"""Standard deviation of a round's difference, by that of one session."""

SHAPES: Final[dict[str, Shape]] = {
    "normal": Shape(_moved(DISTRIBUTIONS["normal"], 50), 50, SD * _ROUND),
    "skewed beta(8, 2)": Shape(
        _moved(DISTRIBUTIONS["skewed beta(8, 2)"], 80), 80, 100 * sqrt(16 / 1100) * _ROUND
    ),
    "yes or no": Shape(
        lambda rng, shape, means: (rng.random(shape) < means).astype(np.float64),
        *(0.6, sqrt(0.24) * _ROUND),
    ),
    "t, 3 degrees of freedom": Shape(
        _moved(lambda rng, shape: SD * rng.standard_t(3, shape), 0), 50, SD * sqrt(3) * _ROUND
    ),
    "clustered, ICC .3": Shape(_moved(_together, 0), 50, SD * sqrt(2) * sqrt(0.3 + 0.7 / PAIRS)),
    "10 % missing, the worst": Shape(_hidden, 50, SD * _ROUND, hides=True),
}


def _ranges_held(name: str, engine: Engine, k: int, runs: int) -> tuple[object, ...]:
    """One row of `printed`, from the false winners on."""
    shape, rng = SHAPES[name], np.random.default_rng([list(SHAPES).index(name), k])
    rules = Rules(ALPHA, failure_margin=SCORES_ALONE, score_bounds=None, engine=engine)
    size, equal = (30, PAIRS, k), np.full(k, shape.mean)
    lead = equal + 0.5 * shape.sd * (np.arange(k) == 0)
    false, fragile = 0, 0
    for _ in range(runs):
        found = _with_dropping(shape.draw(rng, size, equal), _bounded(rules, shape))
        false += found.winner is not None
        fragile += found.winner is not None and "fragile" in found.flags
    named, held = [0, 0], {what: [0, 0] for what in ("all", "one", "own", "lead", "adjusted")}
    for _ in range(runs):
        scores = shape.draw(rng, size, lead)
        found, table = _dropping(scores, _bounded(rules, shape))
        for what, right in _held(found, table, lead):
            held[what][0] += right
            held[what][1] += 1
        if found.winner is not None:
            named[found.winner != 0] += 1
    shares = [Rate(*counts) if counts[1] else "-" for counts in held.values()]
    told = f"{fragile} of {false}" if shape.hides else "-"
    return (Rate(false, runs), told, *(Rate(count, runs) for count in named), *shares)


def _bounded(rules: Rules, shape: Shape) -> Rules:
    """The rules, with the scale that makes missing scores count, ten deviations to either side."""
    return replace(rules, score_bounds=(-10.0, 110.0)) if shape.hides else rules


def _held(found: Verdict, table: RoundTable, means: Scores) -> Iterator[tuple[str, bool]]:
    """Whether each range that is printed of a run holds the truth."""
    pairs = [
        one.interval.contains(float(means[one.b] - means[one.a]))
        for one in found.comparisons
        if one.interval is not None
    ]
    if pairs:
        yield "all", all(pairs)
    first = found.claims[0]
    if first.interval is not None:
        yield "one", first.interval.contains(float(means[first.b] - means[first.a]))
    for one in found.variants:
        if one.interval is not None:
            yield "own", one.interval.contains(float(means[one.index]))
    pair = found.decisive
    if found.winner is None or pair is None or pair.interval is None:
        return
    truth = float(means[pair.b] - means[pair.a])
    yield "lead", pair.interval.contains(truth)
    at = found.decided_at
    if found.rules.engine != "fixed" and at is not None and at < found.rounds_planned:
        adjusted = lead_after_looks(table, found.rules, pair.b, pair.a, at)
        if adjusted is not None:
            yield "adjusted", adjusted.interval.contains(truth)


def power(runs: int) -> Iterator[Sequence[object]]:
    """A planted difference of d standard deviations: how often found, after how many rounds."""
    yield "engine", "d", "rounds planned", "found", "wrong one", "mean rounds"
    plans: tuple[tuple[Engine, int], ...] = (("fixed", 34), ("planned", 37), ("open-ended", 57))
    for engine, n in plans:
        rules = Rules(ALPHA, failure_margin=SCORES_ALONE, score_bounds=None, engine=engine)
        for d in (0.5, 0.75, 1.0):
            rng = np.random.default_rng(int(100 * d))
            effect = np.array([0.0, d * SD * sqrt(2)])
            found = [_verdict(rng.normal(50, SD, (n, 1, 2)) + effect, rules) for _ in range(runs)]
            right, wrong = (sum(one.winner == who for one in found) for who in (1, 0))
            rounds = np.mean([one.decided_at or n for one in found])
            yield engine, d, n, Rate(right, runs), Rate(wrong, runs), f"{rounds:.1f}"


def gate(runs: int) -> Iterator[Sequence[object]]:
    """A variant far ahead in score failing just the margin more often: the gate's hardest case.

    Failures of one round go together, by a beta distribution of the round's own failure rate.
    """
    yield "engine", "failure rates", "declared ICC", "true ICC", "winners in spite of it"
    for engine in ENGINES:
        for base in (0.02, 0.1):
            for declared, true in ((0.0, 0.0), (0.0, 0.1), (0.1, 0.0), (0.1, 0.1), (0.1, 0.2)):
                rules = Rules(ALPHA, score_bounds=None, engine=engine, failure_icc=declared)
                rng, named = np.random.default_rng(int(100 * base)), 0
                for _ in range(runs):
                    scores = rng.normal(50, SD, (60, 5, 2)) + np.array([0.0, 3 * SD])
                    rates = np.array([base, base + rules.failure_margin])
                    failed = rng.random(scores.shape) < _of_rounds(rng, rates, true, 60)
                    outcomes = np.where(failed, _FAILED, 0)
                    named += _verdict(scores, rules, outcomes).winner == 1
                told = f"{base:g} and {base + rules.failure_margin:g}"
                yield engine, told, declared, true, Rate(named, runs)


def _of_rounds(rng: np.random.Generator, rates: Scores, icc: float, rounds: int) -> Scores:
    """Failure rates of each round, [rounds, 1, variants], with this intraclass correlation."""
    if not icc:
        return np.broadcast_to(rates, (rounds, 1, rates.size))
    size = 1.0 / icc - 1.0
    return rng.beta(rates * size, (1.0 - rates) * size, (rounds, 1, rates.size))


def means(runs: int) -> Iterator[Sequence[object]]:
    """One variant's mean: how often its 95 % interval covers the truth, and how it is marked."""
    yield (
        *("scores", "scenarios", "rounds", "covered", "by Student's t", "width by t's"),
        *("approximate", "covered where not"),
    )
    draws = DISTRIBUTIONS | {"hard scenario": _hard}
    for seed, (name, truth) in enumerate(MEANS.items()):
        for n_scenarios in (1, 5):
            for n in (10, 30, 100):
                rng = np.random.default_rng([seed, n_scenarios, n])
                found = _intervals(rng, draws[name], (1, n, n_scenarios), runs)
                low, high, mean, half, rough = found.T
                covered = (low <= truth(n_scenarios)) & (truth(n_scenarios) <= high)
                yield (
                    *(name, n_scenarios, n, Rate(int(covered.sum()), runs)),
                    Rate(int((abs(mean - truth(n_scenarios)) <= half).sum()), runs),
                    *(f"{np.nanmean((high - low) / (2 * half)):.2f}", f"{np.nanmean(rough):.3f}"),
                    Rate(int(covered[rough == 0].sum()), max(int((rough == 0).sum()), 1)),
                )


def _intervals(
    rng: np.random.Generator, draw: Draw, shape: tuple[int, int, int], runs: int
) -> Scores:
    """Ends, mean, half-width by Student and mark of each run, shape [runs, 5]; NaN without any."""
    rows = np.full((runs, 5), np.nan)
    for row in rows:
        one = own_mean(draw(rng, shape)[0], ALPHA)
        if one.interval and one.mean is not None and one.se is not None and one.df is not None:
            half = t_quantile(1 - ALPHA / 2, one.df) * one.se
            row[:] = one.interval.low, one.interval.high, one.mean, half, one.approximate
    return rows


SECTIONS: Final[dict[str, Callable[[int], Iterator[Sequence[object]]]]] = {
    "errors": errors,
    "unlike": unlike,
    "sessions": sessions,
    "missing": missing,
    "unpaired": unpaired,
    "zeros": zeros,
    "several": several,
    "printed": printed,
    "promised": promised,
    "promised_yes_no": promised_yes_no,
    "power": power,
    "gate": gate,
    "means": means,
}


def main() -> None:
    """Print every section as a table, row by row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibrate", description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}; default: all")
    parser.add_argument("--runs", type=int, default=20_000, help="simulated runs per figure")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {unknown[0]!r}; there are {', '.join(SECTIONS)}")
    for name in chosen.sections or SECTIONS:
        print(f"\n## {SECTIONS[name].__doc__}\n")
        for number, row in enumerate(SECTIONS[name](chosen.runs)):
            print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)
            if number == 0:
                print("|" + " --- |" * len(row))


if __name__ == "__main__":
    main()
