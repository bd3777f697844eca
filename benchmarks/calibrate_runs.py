"""``python -m benchmarks.calibrate_runs``: how often whole runs err, and how early they stop.

python -m benchmarks.calibrate_runs                               everything, 1,000 runs per figure
python -m benchmarks.calibrate_runs equal --kinds counter --runs 200

`benchmarks/calibrate.py` asks the verdict code alone; here every run is a real one: planned,
launched round by round, journalled, looked at after every complete round, stopped when it is
decided, and compared from its tables. Models are simulated, and runs go by their seeds, so figures
repeat to the last digit; ``+-`` is one standard error of the simulation.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

from benchmarks.calibrate import Rate
from matrix import api
from matrix.engine.prepare.spec_files import SPEC_NAME
from matrix.stats import PowerGoal, power_of_rounds, rounds_needed
from matrix.stats.rounds.rules import Engine

ENGINES: Final[tuple[Engine, ...]] = ("planned", "open-ended")
ROUNDS: Final = 20
"""Rounds of a run of equal variants: looks after the tenth and every one that follows."""

GATE_PERCENT: Final = 50
"""Failure margin. Runs as small as these need a wide one: the gate opens after 6 rounds in which
the variants fail alike; at the usual 5 points it takes 79, and no run here could be decided."""

PILOT_ROUNDS: Final = 1000
PILOT_SEED: Final = 10**6
"""Beyond the seeds of the runs that are counted."""

POINTS_PER_MARK: Final = 25
"""Judges give marks from 1 to 5, scores go from 0 to 100."""

COUNTERS: Final[dict[str, Any]] = {"kind": "counter", "scenarios": ["one"]}
"""Scores are normal with a standard deviation of 1, drawn anew for every length and every step."""

PLAY_TESTS: Final[dict[str, Any]] = {
    "kind": "playtest",
    "scenarios": ["house-too-many"],
    "factors": {"prompt": ["baseline", "pulse-aware"]},
    "options": {
        "group": ["joker", "curious"],
        "weights": {"progress": 0, "tangents": 0, "quality": 1, "failures": 0},
    },
    "limits": {"turns": 1, "cost_usd": 1000},
}
"""Two players, one turn, the judge's score. Simulated narrators see no difference that matters
between these prompts, only other text, which is enough for other draws."""


@dataclass(frozen=True, slots=True)
class Question:
    """Two variants, and what is true of them.

    Attributes:
        kind: What the sessions are.
        spec: Run spec without rounds and rules.
        better: The level that is truly better; empty if the two are equal.
        effect: True difference in points.
        sd: Standard deviation of the difference from round to round, in points.
    """

    kind: str
    spec: Mapping[str, Any]
    better: str = ""
    effect: float = 0.0
    sd: float = 0.0

    def run_spec(self, engine: Engine, rounds: int) -> dict[str, Any]:
        """The whole run spec, looked at after every round."""
        compare = {"engine": engine, "failure_margin": GATE_PERCENT}
        return dict(self.spec) | {
            "per_cell": rounds,
            "stop": "never" if engine == "fixed" else "when-decided",
            "compare": compare,
        }


EQUAL: Final = {
    "counter": Question("counter", COUNTERS | {"factors": {"turns": [1, 2]}}),
    "playtest": Question("playtest", PLAY_TESTS),
}


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of one run.

    Attributes:
        winner: Name of the level that its verdict names; empty if none.
        stopped: What the run itself decided on the way: ``winner`` or nothing.
        looked: Complete rounds at the newest look.
        played: Sessions that were played.
        planned: Sessions of the plan.
    """

    winner: str
    stopped: str
    looked: int
    played: int
    planned: int


class Contradiction(RuntimeError):
    """A run stopped for a winner that its tables do not show, or the other way round."""


def play(spec: Mapping[str, Any], seed: int) -> Ran:
    """Play one run in a folder that is gone afterwards.

    Raises:
        Contradiction: The run and its comparison do not agree.
    """
    with tempfile.TemporaryDirectory(prefix="calibrate-") as folder:
        run = _played(Path(folder), dict(spec) | {"seed": seed})
        comparison, stopping = run.compare(), run.file.stopping
        left_out = 0 if stopping is None else stopping.unplayed
        planned = run.file.plan.sessions
    verdict = comparison.verdict
    winner = "" if verdict.winner is None else comparison.rows[verdict.winner].level
    decided, looked = ("", 0) if stopping is None else (stopping.decided, stopping.looked)
    told = (decided == "winner", looked if decided else None)
    if stopping is not None and told != (bool(winner), verdict.decided_at):
        raise Contradiction(f"seed {seed}: stopped with {stopping}, compared: {verdict}; {spec}")
    return Ran(winner, decided, looked, planned - left_out, planned)


def differences(question: Question, rounds: int, seed: int) -> npt.NDArray[np.float64]:
    """Second level minus first in each round of a run that is played to its end, in points."""
    ((factor, levels),) = question.spec["factors"].items()
    with tempfile.TemporaryDirectory(prefix="calibrate-") as folder:
        run = _played(Path(folder), question.run_spec("fixed", rounds) | {"seed": seed})
        sessions = run.sessions()
    sides = [
        sessions[sessions[factor].astype(str) == str(level)].sort_values("round")
        for level in levels
    ]
    first, second = (side["score"].to_numpy(dtype=np.float64) for side in sides)
    return np.asarray(second - first, dtype=np.float64)


def _played(folder: Path, spec: Mapping[str, Any]) -> api.Run:
    (folder / SPEC_NAME).write_text(yaml.safe_dump(dict(spec)))
    return api.run(folder / SPEC_NAME, results=folder, run_id="run", executor="in-process")


def planted(kind: str, share: float = 0.5) -> Question:
    """A question with a known answer.

    Counters that count by 2 are a point better than those that count by 1. In play-tests, the
    judge likes the second prompt better, by about ``share`` standard deviations of the difference;
    what that comes to in points, as marks are rounded and end at 5, two pilot runs with the same
    seeds say.
    """
    if kind == "counter":
        spec = COUNTERS | {"factors": {"step": [1, 2]}, "options": {"turns": 1}}
        return Question(kind, spec, "2", 1.0, sqrt(2))
    pilot = differences(EQUAL[kind], PILOT_ROUNDS, PILOT_SEED)
    bias = round(share * float(pilot.std(ddof=1)) / POINTS_PER_MARK, 3)
    effect = {"factor": "prompt", "level": "pulse-aware", "trait": "judge_bias", "add": bias}
    spec = dict(EQUAL[kind].spec) | {"simulation": {"effects": [effect]}}
    seen = differences(Question(kind, spec), PILOT_ROUNDS, PILOT_SEED)
    points = float(seen.mean() - pilot.mean())
    return Question(kind, spec, "pulse-aware", points, float(seen.std(ddof=1)))


class Players:
    """Processes that play runs side by side."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def play(self, question: Question, engine: Engine, rounds: int, runs: int) -> list[Ran]:
        """So many runs, with seeds from 1 on."""
        one = partial(play, question.run_spec(engine, rounds))
        return list(self._pool.map(one, range(1, runs + 1), chunksize=5))


def equal(players: Players, kinds: Iterable[str], runs: int) -> Iterator[Sequence[object]]:
    """False winners between two equals, in runs that look after every round."""
    yield "sessions", "engine", "rounds", "runs", "false winners"
    for kind in kinds:
        for engine in ENGINES:
            ran = players.play(EQUAL[kind], engine, ROUNDS, runs)
            yield kind, engine, ROUNDS, runs, Rate(sum(bool(one.winner) for one in ran), runs)


EFFECT_COLUMNS: Final = (
    *("sessions", "engine", "difference in sd", "planned for", "rounds planned", "runs", "found"),
    *("predicted", "wrong one", "rounds at the end", "sessions played", "fixed plan", "saved"),
)


def effects(players: Players, kinds: Iterable[str], runs: int) -> Iterator[Sequence[object]]:
    """The difference that was planned for: how often found, and with how many sessions."""
    yield EFFECT_COLUMNS
    for kind in kinds:
        question = planted(kind)
        for engine in ENGINES:
            yield _effect(players, question, question.effect, engine, runs)


def larger(players: Players, kinds: Iterable[str], runs: int) -> Iterator[Sequence[object]]:
    """A difference that is larger, by the root of two, than was planned for."""
    yield EFFECT_COLUMNS
    for kind in kinds:
        question = planted(kind)
        for engine in ENGINES:
            yield _effect(players, question, question.effect / sqrt(2), engine, runs)


def _effect(
    players: Players, question: Question, expected: float, engine: Engine, runs: int
) -> Sequence[object]:
    """Plan for 80 % power at ``expected`` points, play, and compare with one look at the end."""
    goal, sd = PowerGoal(engine=engine), question.sd
    rounds, fixed = rounds_needed(expected, sd, goal), 2 * rounds_needed(expected, sd)
    ran = players.play(question, engine, rounds, runs)
    found = sum(one.winner == question.better for one in ran)
    wrong = sum(bool(one.winner) for one in ran) - found
    sessions = float(np.mean([one.played for one in ran]))
    return (
        *(question.kind, engine, f"{question.effect / sd:.3f}", f"{expected / sd:.3f}", rounds),
        *(runs, Rate(found, runs), f"{power_of_rounds(rounds, question.effect, sd, goal):.4f}"),
        *(Rate(wrong, runs), f"{np.mean([one.looked for one in ran]):.1f}"),
        *(f"{sessions:.1f}", fixed, f"{100 * (1 - sessions / fixed):.0f} %"),
    )


SECTIONS: Final = {"equal": equal, "effects": effects, "larger": larger}


def main() -> None:
    """Print every section as a table, row by row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibrate_runs")
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}; default: all")
    parser.add_argument("--kinds", nargs="+", choices=list(EQUAL), default=list(EQUAL))
    parser.add_argument("--runs", type=int, default=1000, help="runs per figure")
    parser.add_argument("--processes", type=int, default=2, help="runs played side by side")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {unknown[0]!r}; there are {', '.join(SECTIONS)}")
    with ProcessPoolExecutor(chosen.processes, mp_context=get_context("spawn")) as pool:
        for name in chosen.sections or SECTIONS:
            print(f"\n## {SECTIONS[name].__doc__}\n")
            rows = SECTIONS[name](Players(pool), chosen.kinds, chosen.runs)
            for number, row in enumerate(rows):
                print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)
                if number == 0:
                    print("|" + " --- |" * len(row))


if __name__ == "__main__":
    main()
