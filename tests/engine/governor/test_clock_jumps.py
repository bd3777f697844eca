"""Clocks that jump by hours, to and fro, under a live governor: its limits, pauses and money."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from matrix.admission.clock import onward
from matrix.engine.wire.setup import GroupLimits
from matrix.model.entries import Ended
from matrix.model.errors import RateLimited
from matrix.model.records import Call
from tests.engine.live import Live, count, journal_entries
from tests.engine.plans import GROUP, plan, setup
from tests.faults.laws import most_committed, paid_twice

HOUR_S = 3600.0
OPTIONS = {"step": 1, "turns": 4, "width": 3}
LIMITS = GroupLimits(rpm=120_000.0, tpm=50_000_000.0, concurrency=5)


class Jumping:
    """A clock that now and then jumps by up to an hour."""

    def __init__(self, clock: Callable[[], float], seed: int, back: float, ahead: float) -> None:
        self._clock, self._draw = clock, random.Random(seed)
        self._by = (-back * HOUR_S, ahead * HOUR_S)
        self._off = 0.0

    def __call__(self) -> float:
        if self._draw.random() < 0.1:
            self._off += self._draw.uniform(*self._by)
        return self._clock() + self._off


def restless(call: Call, attempt: int) -> str:
    """Some calls are told to come back a little later."""
    if attempt == 1 and call.seed % 4 == 0:
        raise RateLimited("later", retry_after_s=0.01)
    return count(call, attempt)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("back", "ahead"), [(0, 1), (1, 0), (1, 1)], ids=["on", "back", "both"])
async def test_clocks_that_jump_neither_break_the_cap_nor_hang_nor_lose_a_session(
    tmp_path: Path, seed: int, back: float, ahead: float
) -> None:
    ends = []
    for name, clocks in (
        ("calm", (time.monotonic, time.time)),
        (
            "jumpy",
            (
                Jumping(time.monotonic, seed, back, ahead),
                Jumping(time.time, seed + 100, back, ahead),
            ),
        ),
    ):
        (tmp_path / name).mkdir()
        run = setup(tmp_path / name, groups={GROUP: LIMITS})
        plans = [plan(f"s{n}", order=n, seed=n, options=OPTIONS) for n in range(6)]
        async with Live(run, restless, clocks=clocks) as life:
            await life.play(*plans)
        assert life.failures == []
        entries = journal_entries(tmp_path / name)
        assert most_committed(entries) <= run.cap_nano
        assert paid_twice(entries) == []
        ends.append(
            {e.session_id: (e.outcome, e.score, e.tally) for e in entries if isinstance(e, Ended)}
        )
    calm, jumpy = ends
    assert jumpy == calm
    assert Counter(outcome for outcome, _, _ in calm.values()) == {"completed": 6}


@pytest.mark.parametrize("seed", range(3))
async def test_where_the_cap_binds_jumps_do_not_let_more_through(tmp_path: Path, seed: int) -> None:
    clocks = (Jumping(time.monotonic, seed, 1, 1), Jumping(time.time, seed, 1, 1))
    cap = 20_000
    run = setup(tmp_path, groups={GROUP: LIMITS}, cap_nano=cap)
    async with Live(run, restless, clocks=clocks) as life:
        await life.play(*(plan(f"s{n}", order=n, seed=n, options=OPTIONS) for n in range(12)))
    outcomes = {end.ended.outcome for end in life.ended}
    assert "censored" in outcomes, "the cap was not met"
    assert most_committed(journal_entries(tmp_path)) <= cap


def test_a_clock_that_jumps_back_stands_still_and_goes_on_from_there() -> None:
    read = iter([10.0, 11.0, 12.5, 3.0, 4.0, 9.0, 2.0, 2.5])
    now = onward(lambda: next(read))
    assert [now() for _ in range(7)] == [11.0, 12.5, 12.5, 13.5, 18.5, 18.5, 19.0]
