"""A time limit of waiting does not pass while the process that waits is stopped."""

from __future__ import annotations

import asyncio

import pytest

from matrix_actors.waiting import STEPS, patiently


class Stoppable(asyncio.SelectorEventLoop):
    """A loop whose clock jumps, as it does for a process that was stopped and goes on."""

    jumped_s = 0.0

    def time(self) -> float:
        return super().time() + self.jumped_s


def test_a_process_that_was_stopped_for_an_hour_still_hears_the_answer() -> None:
    loop = Stoppable()

    async def ask() -> str:
        answer: asyncio.Future[str] = loop.create_future()
        asked = asyncio.ensure_future(patiently(answer, 600.0))
        for _ in range(STEPS // 2):
            loop.jumped_s += 3600.0
            for _ in range(5):
                await asyncio.sleep(0)
        assert not asked.done(), "who asked has given up, and the other was alive"
        answer.set_result("here")
        return await asked

    assert loop.run_until_complete(ask()) == "here"
    loop.close()


def test_who_never_answers_is_given_up_and_is_waited_for_no_more() -> None:
    loop = Stoppable()

    async def ask() -> None:
        answer: asyncio.Future[str] = loop.create_future()
        asked = asyncio.ensure_future(patiently(answer, 600.0))
        while not asked.done():
            loop.jumped_s += 600.0 / STEPS
            await asyncio.sleep(0)
        with pytest.raises(TimeoutError, match="no answer in 600 s"):
            await asked
        assert answer.cancelled()

    loop.run_until_complete(ask())
    loop.close()
