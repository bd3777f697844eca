"""``python -m benchmarks.calibrate``: how often verdicts err, and how early they come.

python -m benchmarks.calibrate                    everything, 20,000 runs per figure
python -m benchmarks.calibrate errors --runs 500  one section, with fewer runs

Every run is a simulated matrix that goes through `matrix.stats.verdict_of`, as a real one does;
those of ``means`` are of one variant, and go through `matrix.stats.own_mean`.
Seeds are fixed, so figures repeat to the last digit; ``+-`` is one standard error of the
simulation.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from math import exp, sqrt
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
)
from matrix.stats.own_mean import own_mean
from matrix.stats.planning import gate_of
from matrix.stats.student import t_quantile

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
    rounds, scenarios, variants = (index.ravel() for index in np.indices(scores.shape))
    codes = np.zeros(scores.shape, np.int64) if outcomes is None else outcomes
    table = complete_rounds(
        rounds,
        scenarios,
        variants,
        scores.ravel(),
        codes.ravel(),
        n_rounds_planned=scores.shape[0],
        n_scenarios=scores.shape[1],
        n_variants=scores.shape[2],
    )
    return verdict_of(table, rules)


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
                    hold += interval is not None and interval.low <= 0.0 <= interval.high
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
    """

    planned: int
    promised: float
    best: int
    another: int
    rounds: float


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


_FAILED: Final = OUTCOMES.index("failed")


def _with_dropping(
    scores: Scores, rules: Rules, ended: npt.NDArray[np.int64] | None = None
) -> Verdict:
    """The verdict when each variant is dropped two rounds after it is beaten."""
    outcomes = np.zeros(scores.shape, np.int64) if ended is None else ended.copy()
    verdict, known = _verdict(scores, rules, outcomes), 0
    while verdict.decided_at is None and len(verdict.beaten) > known:
        for one in verdict.beaten:
            outcomes[one.at + 2 :, :, one.variant] = OUTCOMES.index("dropped")
        known = len(verdict.beaten)
        verdict = _verdict(scores, rules, outcomes)
    return verdict


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
    "zeros": zeros,
    "several": several,
    "promised": promised,
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
