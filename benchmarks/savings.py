"""``python -m benchmarks.savings``: what the rules of verdicts save, on rounds that were played.

python -m benchmarks.savings play POOL                        1,000 rounds, twice; 40 minutes
python -m benchmarks.savings resample POOL                    the rules of this checkout
python -m benchmarks.savings resample POOL --rules CHECKOUT   those of another one
python -m benchmarks.savings live                             twenty runs, stopped when decided

The rounds are those of the built-in matrix (five scenarios, four prompts), played in process to
the end of every plan: once as it is, where the simulated narrator does best with one of the
prompts, and once without effects, where all prompts are equally good. Histories are rounds drawn
with replacement. Where all are equal, the prompts change places at random in each round, so that
they are equal exactly and not only up to the error of the pool. Histories are the same whatever
the rules.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from math import sqrt
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import yaml

ROUNDS_PER_RUN: Final = 50
RUNS: Final = 20
BEST: Final = "pulse-aware"
"""The prompt that the simulated narrator does best with."""
LENGTHS: Final = range(10, 121)
POWER: Final = 0.8
PILOT: Final = 4_000
"""Histories that look for the plan's length; the figures come from others."""
UNDER_WAY: Final = 2
"""Rounds that are under way when a run is decided or a variant is out: played all the same."""
CHUNK: Final = 500
LIVE: Final = 20
Declared = Mapping[str, Any]
"""Fields of `matrix.stats.Rules` that the command line sets."""


@dataclass(frozen=True)
class Pool:
    """Rounds that were played.

    Attributes:
        scores: [R, S, k]; NaN where there is none.
        outcomes: [R, S, k], how each session ended, as an index into `matrix.stats.OUTCOMES`.
        best: Index of the best variant; -1 where all are equal.
    """

    scores: npt.NDArray[np.float64]
    outcomes: npt.NDArray[np.int64]
    best: int

    def history(self, rng: np.random.Generator, rounds: int) -> Pool:
        """So many rounds, drawn with replacement."""
        rows = rng.integers(0, len(self.scores), rounds)
        scores, outcomes = self.scores[rows], self.outcomes[rows]
        if self.best < 0:
            variants = scores.shape[2]
            places = rng.permuted(np.tile(np.arange(variants), (rounds, 1)), axis=1)[:, None, :]
            scores = np.take_along_axis(scores, np.broadcast_to(places, scores.shape), 2)
            outcomes = np.take_along_axis(outcomes, np.broadcast_to(places, scores.shape), 2)
        return Pool(scores, outcomes, self.best)


@dataclass(frozen=True)
class Found:
    """What came of histories, each a row: whom they named (-1 none), sessions, rounds."""

    named: npt.NDArray[np.int64]
    sessions: npt.NDArray[np.int64]
    rounds: npt.NDArray[np.int64]

    def share(self, right: bool, best: int) -> str:
        """Histories that named the best variant, or another one, with the standard error."""
        share = float(((self.named >= 0) & ((self.named == best) == right)).mean())
        return f"{share:.4f} +- {sqrt(share * (1 - share) / len(self.named)):.4f}"

    def mean_sessions(self) -> str:
        """Sessions played, with the standard error."""
        error = self.sessions.std(ddof=1) / sqrt(len(self.sessions))
        return f"{self.sessions.mean():.1f} +- {error:.1f}"


def spec(seed: int, *, effects: bool, **changed: Any) -> dict[str, Any]:
    """The built-in matrix with another seed, with or without what its simulation is told."""
    from matrix.engine.prepare.spec_files import find_spec

    told: dict[str, Any] = yaml.safe_load(find_spec(Path("builtin"), Path()).read_text())
    if not effects:
        del told["simulation"]
    plan = {"per_cell": ROUNDS_PER_RUN, "limits": {"cost_usd": 100_000}}
    return told | plan | {"seed": seed} | changed


def _play(one: dict[str, Any]) -> tuple[Any, ...]:
    """Scores, outcomes and prompts of a run that is played to its end."""
    from matrix import api
    from matrix.stats import OUTCOMES

    with tempfile.TemporaryDirectory(prefix="savings-") as folder:
        path = Path(folder) / "matrix.yaml"
        path.write_text(yaml.safe_dump(one))
        run = api.run(path, results=Path(folder), run_id="run", executor="in-process")
        sessions = run.sessions().sort_values(["round", "scenario", "prompt"])
        compared = run.compare()
    shape = (sessions["round"].nunique(), sessions["scenario"].nunique(), -1)
    ended = sessions["outcome"].astype(str).map(OUTCOMES.index).to_numpy(np.int64)
    scores = sessions["score"].to_numpy(np.float64, na_value=np.nan)
    verdict = compared.verdict
    winner = "" if verdict.winner is None else compared.rows[verdict.winner].level
    prompts = sorted(sessions["prompt"].astype(str).unique())
    return scores.reshape(shape), ended.reshape(shape), prompts, winner, verdict.decided_at


def play(file: Path, processes: int) -> None:
    """Play the pool, and keep it."""
    kept: dict[str, Any] = {}
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for name, effects in (("with", True), ("without", False)):
            specs = [spec(seed, effects=effects, stop="never") for seed in range(1, RUNS + 1)]
            scores, ended, prompts, *_ = zip(*pool.map(_play, specs), strict=True)
            kept[f"scores_{name}"] = np.concatenate(scores)
            kept[f"outcomes_{name}"] = np.concatenate(ended)
            kept["prompts"] = np.array(prompts[0])
    np.savez_compressed(file, **kept)
    _table(_of_pool(file))


def load(file: Path, *, effects: bool) -> Pool:
    """The rounds of a file that `play` made."""
    kept, name = np.load(file), "with" if effects else "without"
    best = kept["prompts"].tolist().index(BEST) if effects else -1
    return Pool(kept[f"scores_{name}"], kept[f"outcomes_{name}"], best)


def _of_pool(file: Path) -> Iterator[Sequence[object]]:
    """What was played: means with the pool's own errors, sessions that failed."""
    yield "pool", "prompt", "rounds", "mean", "behind the best", "sessions that are not `ok`"
    for effects in (True, False):
        pool, prompts = load(file, effects=effects), np.load(file)["prompts"].tolist()
        rounds = np.nanmean(pool.scores, axis=1)
        best = rounds[:, pool.best if effects else 0]
        for index, prompt in enumerate(prompts):
            behind = best - rounds[:, index]
            error = behind.std(ddof=1) / sqrt(len(behind))
            yield (
                *("with effects" if effects else "without", prompt, len(rounds)),
                f"{rounds[:, index].mean():.2f}",
                f"{behind.mean():.2f} +- {error:.2f} (sd {behind.std(ddof=1):.2f})",
                f"{(pool.outcomes[:, :, index] != 0).mean():.4f}",
            )


def _verdicts(
    rules: str, declared: Declared, file: Path, rounds: int, job: tuple[bool, int, int]
) -> Found:
    """Verdicts of histories, a beaten variant left out `UNDER_WAY` rounds later."""
    if rules and rules not in sys.path:
        sys.path.insert(0, rules)
    effects, seed, histories = job
    pool, rng = load(file, effects=effects), np.random.default_rng([effects, seed])
    rows = [_verdict(pool.history(rng, rounds), declared) for _ in range(histories)]
    return Found(*np.array(rows).T)


def _verdict(history: Pool, declared: Declared) -> tuple[int, int, int]:
    """Whom a history names, after how many sessions and rounds.

    By what `matrix.stats` itself gives, and nothing of `benchmarks.calibrate`: it may be that of
    another checkout, which has other modules.
    """
    from matrix.stats import OUTCOMES, Rules, complete_rounds, verdict_of

    outcomes, known = history.outcomes.copy(), 0
    rounds, scenarios, variants = (one.ravel() for one in np.indices(history.scores.shape))
    n, n_scenarios, k = history.scores.shape
    rules = Rules(0.05, score_bounds=(0.0, 100.0), engine="planned", **declared)
    while True:
        scores = np.where(outcomes == OUTCOMES.index("dropped"), np.nan, history.scores)
        table = complete_rounds(
            *(rounds, scenarios, variants, scores.ravel(), outcomes.ravel()),
            n_rounds_planned=n,
            n_scenarios=n_scenarios,
            n_variants=k,
        )
        verdict = verdict_of(table, rules)
        if verdict.decided_at is not None or len(verdict.beaten) <= known:
            break
        known = len(verdict.beaten)
        for one in verdict.beaten:
            outcomes[one.at + UNDER_WAY :, :, one.variant] = OUTCOMES.index("dropped")
    at = n if verdict.decided_at is None else verdict.decided_at
    played = outcomes[: min(at + UNDER_WAY, n)] != OUTCOMES.index("dropped")
    return -1 if verdict.winner is None else verdict.winner, int(played.sum()), at


@dataclass(frozen=True)
class Resampling:
    """Histories of one pool by one checkout's rules, in several processes."""

    pool: ProcessPoolExecutor
    file: Path
    rules: str
    declared: Declared

    def found(self, rounds: int, histories: int, *, effects: bool, seed: int) -> Found:
        """What comes of so many histories of plans with so many rounds."""
        sizes = [min(CHUNK, histories - at) for at in range(0, histories, CHUNK)]
        jobs = [(effects, seed + number, size) for number, size in enumerate(sizes)]
        one = partial(_verdicts, self.rules, self.declared, self.file, rounds)
        parts = list(self.pool.map(one, jobs))
        columns = ("named", "sessions", "rounds")
        return Found(*(np.concatenate([getattr(p, name) for p in parts]) for name in columns))

    def length(self, best: int) -> int:
        """Rounds of the shortest plan that names the best variant in four runs of five."""
        low, high = LENGTHS[0] - 1, LENGTHS[-1]
        while high - low > 1:
            middle = (low + high) // 2
            found = self.found(middle, PILOT, effects=True, seed=1_000_000)
            low, high = (low, middle) if (found.named == best).mean() >= POWER else (middle, high)
        return high


def resample(
    file: Path, rules: str, declared: Declared, histories: int, processes: int
) -> Iterator[Sequence[object]]:
    """Plans that name the best prompt in four runs of five, and what they take."""
    best = load(file, effects=True).best
    yield (
        *("prompts", "histories", "rounds planned", "the best named", "another named"),
        *("rounds at the end", "sessions"),
    )
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        resampling = Resampling(pool, file, rules, declared)
        length = resampling.length(best)
        for effects in (True, False):
            found = resampling.found(length, histories, effects=effects, seed=1)
            yield (
                *("one best" if effects else "all equal", histories, length),
                found.share(True, best) if effects else "-",
                found.share(False, best if effects else -1),
                *(f"{found.rounds.mean():.1f}", found.mean_sessions()),
            )


def live(rounds: int, processes: int) -> Iterator[Sequence[object]]:
    """Runs of the built-in matrix as users play them, stopped when they are decided."""
    yield "runs", "rounds planned", "the best named", "another named", "mean rounds"
    specs = [
        spec(seed, effects=True, stop="when-decided", per_cell=rounds)
        for seed in range(1001, 1001 + LIVE)
    ]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        *_, winners, decided = zip(*pool.map(_play, specs), strict=True)
    named = sum(winner == BEST for winner in winners)
    mean = np.mean([rounds if at is None else at for at in decided])
    yield LIVE, rounds, named, sum(map(bool, winners)) - named, f"{mean:.1f}"


def _table(rows: Iterator[Sequence[object]]) -> None:
    for number, row in enumerate(rows):
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
        if number == 0:
            print("|" + " --- |" * len(row))


def main() -> None:
    """Play, resample, or run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.savings")
    parser.add_argument("what", choices=["play", "resample", "live"])
    parser.add_argument("pool", nargs="?", type=Path, help="file of the rounds that were played")
    parser.add_argument("--rules", default="", help="another checkout, for its matrix.stats")
    parser.add_argument("--failure-margin", type=float, default=0.05)
    parser.add_argument("--failure-icc", type=float, help="left out: what the rules say")
    parser.add_argument("--histories", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=40, help="of live runs")
    parser.add_argument("--processes", type=int, default=2)
    chosen = parser.parse_args()
    if chosen.what == "live":
        _table(live(chosen.rounds, chosen.processes))
    elif chosen.pool is None:
        parser.error(f"{chosen.what} takes the file of the pool")
    elif chosen.what == "play":
        play(chosen.pool, chosen.processes)
    else:
        declared = {"failure_margin": chosen.failure_margin}
        if chosen.failure_icc is not None:
            declared["failure_icc"] = chosen.failure_icc
        _table(resample(chosen.pool, chosen.rules, declared, chosen.histories, chosen.processes))


if __name__ == "__main__":
    main()
