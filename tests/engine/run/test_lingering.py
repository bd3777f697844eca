"""Sessions that wait in their kind's own code are let go where they stand when the run drains."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from matrix.engine.governor.lingering import GRACE_S
from matrix.kinds.context import Context
from matrix.kinds.counter import CounterKind, CounterState
from matrix.model.entries import Ended, Settled
from tests.engine.live import Live, journal_entries
from tests.engine.plans import plan, setup
from tests.engine.waiting import until
from tests.faults.laws import paid_twice


class Waiting(CounterKind):
    """Waits in its second turn, after a call, until it may go on; it may mind being stopped."""

    def __init__(self, *, minds: bool) -> None:
        self.waiting, self.may_go_on = 0, asyncio.Event()
        self._minds = minds

    async def turn(self, ctx: Context, state: CounterState) -> CounterState:
        after = await super().turn(ctx, state)
        if ctx.turn == 2:
            self.waiting += 1
            await self._wait()
        return after

    async def _wait(self) -> None:
        try:
            await self.may_go_on.wait()
        except asyncio.CancelledError:
            if self._minds:
                raise RuntimeError("it was not to be stopped") from None
            raise


class Clock:
    """Stands still but for what it is told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("minds", [False, True])
async def test_it_goes_on_later_from_there_and_nothing_is_paid_twice(
    tmp_path: Path, minds: bool
) -> None:
    clock, kind = Clock(), Waiting(minds=minds)
    kinds: dict[str, Any] = {"counter": kind}
    mine = [plan(f"s{n}", order=n, seed=n) for n in range(3)]
    async with Live(setup(tmp_path), kinds=kinds, clocks=(clock, clock)) as life:
        played = asyncio.create_task(life.play(*mine))
        await until(lambda: kind.waiting == len(mine))
        life.governor.drain()
        await until(lambda: life.governor.picture().idle == len(mine))
        assert not life.suspended
        clock.now += GRACE_S
        life.governor.drain()  # said twice: the governor looks up from its wait
        await played
        assert {one.plan.session_id for one in life.suspended} == {"s0", "s1", "s2"}
        assert not life.ended
    kind.may_go_on.set()
    async with Live(setup(tmp_path), kinds=kinds) as life:
        await life.play(*mine)
        assert len(life.ended) == len(mine)
    entries = journal_entries(tmp_path)
    assert paid_twice(entries) == []
    answered = sum(isinstance(one, Settled) and one.answer is not None for one in entries)
    assert answered == 3 * 3 * 2, "three sessions of three turns with two calls"
    assert {one.outcome for one in entries if isinstance(one, Ended)} == {"completed"}
