"""A provider in a process of its own: answers, stops and defects all reach the session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from matrix.engine.calls.provider_client import ProviderClient, RemoteCalls
from matrix.engine.governor.governor import Governor
from matrix.engine.wire.messages import OpenSession
from matrix.model.errors import Censored, DigestMismatch, MatrixError, Suspended
from tests.engine.live import CountingTransport
from tests.engine.plans import MODEL, call, key, plan, setup
from tests.engine.waiting import settled
from tests.waiting import LONGEST_WAIT_S


class Pair:
    """A session worker's side and the client's side, with a real governor behind them."""

    def __init__(self, run_dir: Path, cap_nano: int = 10**10) -> None:
        settings = setup(run_dir, clients={"sim": 1}, cap_nano=cap_nano)
        self.governor = Governor(settings)
        self.client = ProviderClient("client-sim-0", "sim", settings, self.governor)
        self.line = CountingTransport(self.client)
        self.calls = RemoteCalls("worker-0", self.line)

    async def start(self) -> None:
        self.governor.start()
        self.client.start()
        self.calls.start()
        await self.governor.post("worker-0", 1, [OpenSession(plan())])
        await self.governor.poll("worker-0", 0)

    async def stop(self) -> None:
        await self.calls.stop()
        await self.client.stop()
        await self.governor.stop()


@pytest.fixture
async def pair(run_dir: Path) -> AsyncIterator[Pair]:
    pair = Pair(run_dir)
    await pair.start()
    yield pair
    await pair.stop()


async def test_an_answer_comes_back_and_is_recorded(pair: Pair) -> None:
    first = await asyncio.wait_for(pair.calls.ask(call()), LONGEST_WAIT_S)
    assert first.failure is None
    assert await asyncio.wait_for(pair.calls.ask(call()), LONGEST_WAIT_S) == first
    assert pair.governor.picture().counters.answered == 1


async def test_answers_come_back_singly_over_one_post_and_one_poll(pair: Pair) -> None:
    asking = [pair.calls.ask(call(key(slot=str(n)), text=f"Count on from {n}.")) for n in range(60)]
    answers = await asyncio.wait_for(asyncio.gather(*asking), LONGEST_WAIT_S)
    assert len(answers) == 60
    assert (pair.line.most_posts, pair.line.most_polls) == (1, 1)


async def test_a_call_that_the_cap_cannot_admit_is_censored_in_the_worker(run_dir: Path) -> None:
    pair = Pair(run_dir, cap_nano=1)
    await pair.start()
    with pytest.raises(Censored, match="cap"):
        await asyncio.wait_for(pair.calls.ask(call()), LONGEST_WAIT_S)
    await pair.stop()


async def test_a_draining_run_suspends_in_the_worker(pair: Pair) -> None:
    pair.governor.drain()
    with pytest.raises(Suspended):
        await asyncio.wait_for(pair.calls.ask(call()), LONGEST_WAIT_S)


async def test_another_request_under_a_recorded_key_is_told_apart_in_the_worker(
    pair: Pair,
) -> None:
    await asyncio.wait_for(pair.calls.ask(call(text="one")), LONGEST_WAIT_S)
    with pytest.raises(DigestMismatch, match="another request"):
        await asyncio.wait_for(pair.calls.ask(call(text="two")), LONGEST_WAIT_S)


async def test_a_defect_in_the_client_reaches_the_session_instead_of_leaving_it_waiting(
    pair: Pair,
) -> None:
    with pytest.raises(MatrixError, match="KeyError"):
        await asyncio.wait_for(pair.calls.ask(call(model="unknown")), LONGEST_WAIT_S)
    fine = await asyncio.wait_for(pair.calls.ask(call(key(slot="1"), model=MODEL)), LONGEST_WAIT_S)
    assert fine.failure is None


async def test_a_stopped_client_holds_nobody_at_its_door(pair: Pair) -> None:
    poll = asyncio.ensure_future(pair.client.poll("another", 0))
    await settled()
    assert not poll.done()
    await pair.client.stop()
    assert (await asyncio.wait_for(poll, LONGEST_WAIT_S)).messages == []
