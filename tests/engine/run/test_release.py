"""Sessions that are let go between two turns, to be played on elsewhere, come to the same end."""

from __future__ import annotations

import asyncio
from pathlib import Path

from matrix.model.entries import Ended, Settled
from tests.engine.live import Live, journal_entries
from tests.engine.plans import plan, setup
from tests.engine.waiting import until
from tests.faults.laws import paid_twice

LONG = {"step": 1, "turns": 40, "width": 2}


async def test_a_session_that_is_let_go_again_and_again_comes_to_the_same_end(
    tmp_path: Path,
) -> None:
    ends = []
    for name in ("whole", "moved"):
        (tmp_path / name).mkdir()
        mine = [plan(f"s{n}", order=n, seed=n, options=LONG) for n in range(3)]
        moved = 0
        async with Live(setup(tmp_path / name)) as life:
            played = asyncio.create_task(life.play(*mine))
            while name == "moved" and moved < 5 and len(life.ended) < 3:
                await _some_turns(life)
                gone = await life.worker.release(["s0", "s1"])
                moved += len(gone)
                await _let_go(life, moved)
                life.worker.open([one for one in mine if one.session_id in gone])
            await played
            await until(lambda: len(life.ended) == 3)
        entries = journal_entries(tmp_path / name)
        assert paid_twice(entries) == []
        answered = sum(isinstance(one, Settled) and one.answer is not None for one in entries)
        over = [one for one in entries if isinstance(one, Ended)]
        found = {one.session_id: (one.outcome, one.score) for one in over}
        ends.append((found, answered))
        assert moved >= (4 if name == "moved" else 0), "nobody was moved"
    assert ends[0] == ends[1]


async def _some_turns(life: Live) -> None:
    before = life.governor.picture().counters.turns
    await until(lambda: life.governor.picture().counters.turns > before + 3)


async def _let_go(life: Live, times: int) -> None:
    await until(lambda: len(life.suspended) >= times)


async def test_who_has_ended_or_is_not_here_is_not_let_go(tmp_path: Path) -> None:
    async with Live(setup(tmp_path)) as life:
        await life.play(plan("s0", order=0))
        assert await life.worker.release(["s0", "elsewhere"]) == []
