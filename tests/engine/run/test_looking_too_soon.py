"""Why looks wait for complete rounds: what has completed first is not what was launched first.

Two equal variants pass four times in five, sixteen sessions are open at a time, and one of them
takes five times as long to fail. The real launcher opens the sessions, in virtual time.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from matrix.admission.ledger import Balance
from matrix.admission.rounds import CostEstimate
from matrix.engine.run.launcher import Launcher
from matrix.engine.wire.messages import Counters, Picture
from matrix.model.entries import Ended, Tally
from matrix.model.plan import Cell, Plan
from matrix.model.records import SessionPlan
from matrix.stats import RoundTable, complete_rounds

LEVELS = ("steady", "slow to fail")
PASSES, OPEN, SLOWER = 0.8, 16, 5.0
ROUNDS = 100
PLAN = Plan(
    tuple(Cell("one", "counter", {"prompt": level}, {}, {}, {}, None) for level in LEVELS),
    ROUNDS * len(LEVELS),
    1,
    10,
    60.0,
)
PICTURE = Picture(Balance(10**12, 0, 0, 0, 0), Counters(), 0, {})

COMPLETIONS = 160
"""Sessions that have ended when nothing more is launched."""
RUNS = 600


class Played(NamedTuple):
    """A run: who passed (1 or 0) by launch order, and who ended when, as launch orders."""

    passed: npt.NDArray[np.float64]
    ended: npt.NDArray[np.int64]

    def table(self, ended: int) -> RoundTable:
        """What statistics make of the first so many ends."""
        order = self.ended[:ended]
        return complete_rounds(
            order // 2,
            np.zeros_like(order),
            order % 2,
            self.passed[order],
            np.zeros_like(order),
            n_rounds_planned=ROUNDS,
            n_scenarios=1,
            n_variants=2,
        )


def played(seed: int) -> Played:
    """A run of the real launcher, drained in the end."""
    rng = np.random.default_rng(seed)
    passed = (rng.random(PLAN.sessions) < PASSES).astype(np.float64)
    slow = (np.arange(PLAN.sessions) % 2 == 1) & (passed == 0.0)
    takes = rng.exponential(1.0, PLAN.sessions) * np.where(slow, SLOWER, 1.0)
    launcher = Launcher(PLAN, "whole-rounds", OPEN, [CostEstimate(100) for _ in PLAN.cells], 0, {})
    running: list[tuple[float, int, SessionPlan]] = []
    ended: list[int] = []

    def launch(now: float) -> None:
        while True:
            for plan in launcher.take(PICTURE):
                heapq.heappush(running, (now + takes[plan.order], plan.order, plan))
            if not launcher.wants_round() or not launcher.next_round(PICTURE):
                return

    launch(0.0)
    while running:
        now, order, plan = heapq.heappop(running)
        ended.append(order)
        end = Ended(plan.session_id, "completed", "", "", 1, 1.0, Tally(), 0.0)
        launcher.ended(plan, end)
        launch(now)
        if len(ended) == COMPLETIONS:
            launcher.stop()
    return Played(passed, np.array(ended))


@pytest.fixture(scope="module")
def runs() -> list[Played]:
    return [played(seed) for seed in range(RUNS)]


class Estimate(NamedTuple):
    """A mean over many runs, with its standard error."""

    mean: float
    error: float


def estimated(runs: Sequence[Played], look: Callable[[Played], float]) -> Estimate:
    """The second variant's pass rate less the first's, which is truly 0, as ``look`` sees it."""
    seen = [look(run) for run in runs]
    return Estimate(float(np.mean(seen)), float(np.std(seen)) / sqrt(len(runs)))


@pytest.mark.slow
@pytest.mark.parametrize(("completions", "bias"), [(40, 0.10), (160, 0.04)])
def test_completed_sessions_alone_make_the_variant_that_fails_slowly_look_better(
    runs: Sequence[Played], completions: int, bias: float
) -> None:
    def look(run: Played) -> float:
        order = run.ended[:completions]
        first, second = (run.passed[order[order % 2 == side]].mean() for side in (0, 1))
        return float(second - first)

    seen = estimated(runs, look)
    assert seen.mean == pytest.approx(bias, abs=0.01 + 3 * seen.error)
    assert seen.mean > 10 * seen.error, "no chance, and no small one"


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [10, 20, 60])
def test_complete_rounds_in_launch_order_do_not(runs: Sequence[Played], rounds: int) -> None:
    def look(run: Played) -> float:
        """Made as soon as so many rounds are complete."""
        moment = int(np.flatnonzero(run.ended < 2 * rounds)[-1]) + 1
        assert run.table(moment - 1).prefix_length < rounds <= run.table(moment).prefix_length
        means = run.table(moment).sides(0, 1)[:rounds]
        return float((means[:, 1] - means[:, 0]).mean())

    seen = estimated(runs, look)
    assert abs(seen.mean) < 3 * seen.error


@pytest.mark.slow
def test_nor_does_a_run_that_waits_for_the_sessions_in_flight(runs: Sequence[Played]) -> None:
    def look(run: Played) -> float:
        table = run.table(run.ended.size)
        assert 2 * table.prefix_length == run.ended.size == COMPLETIONS + OPEN
        means = table.sides(0, 1)
        return float((means[:, 1] - means[:, 0]).mean())

    seen = estimated(runs, look)
    assert abs(seen.mean) < 3 * seen.error
