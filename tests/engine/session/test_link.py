"""Post and poll: nothing is lost, nothing is taken twice, order is kept, one batch at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.engine.wire.link import Link, Mail, Mailboxes
from tests.engine.waiting import settled, until
from tests.waiting import LONGEST_WAIT_S


class Echo:
    """A server that sends every message back, several per batch."""

    def __init__(self) -> None:
        self.mailboxes = Mailboxes()
        self.taken: list[Any] = []

    async def post(self, peer: str, number: int, batch: Sequence[Any]) -> None:
        if self.mailboxes.is_new(peer, number):
            self.taken += batch
            self.mailboxes.deliver(peer, batch)

    async def poll(self, peer: str, after: int) -> Mail:
        return await self.mailboxes.collect(peer, after)


class BadLine:
    """A transport on which replies get lost: whoever does not hear back says it again.

    ``fates`` says for every exchange how often its reply is lost first; a lost poll is either
    answered into the void or still parked when the next one arrives.
    """

    def __init__(self, server: Echo, fates: Sequence[int]) -> None:
        self._server = server
        self._fates = list(fates)
        self._parked: list[asyncio.Future[Mail]] = []

    async def post(self, peer: str, number: int, batch: Sequence[Any]) -> None:
        for _ in range(1 + self._fate()):
            await self._server.post(peer, number, batch)

    async def poll(self, peer: str, after: int) -> Mail:
        fate = self._fate()
        if fate == 1:
            await self._server.poll(peer, after)
        elif fate == 2:
            self._parked.append(asyncio.ensure_future(self._server.poll(peer, after)))
            await asyncio.sleep(0)
        return await self._server.poll(peer, after)

    def hang_up(self) -> None:
        for parked in self._parked:
            parked.cancel()

    def _fate(self) -> int:
        return self._fates.pop() if self._fates else 0


@given(
    groups=st.lists(st.lists(st.integers(), min_size=1, max_size=4), max_size=8),
    fates=st.lists(st.integers(0, 2), max_size=40),
)
def test_lost_replies_and_repeated_batches_lose_nothing_and_double_nothing(
    groups: list[list[int]], fates: list[int]
) -> None:
    sent = [message for group in groups for message in group]

    async def talk() -> tuple[list[int], list[int]]:
        server, heard = Echo(), list[int]()
        line = BadLine(server, fates)
        link = Link("peer", line, heard.append)
        link.start()
        for group in groups:
            for message in group:
                link.send(message)
            await asyncio.sleep(0)
        await until(lambda: len(heard) >= len(sent))
        await settled()
        await link.stop()
        line.hang_up()
        return server.taken, heard

    assert asyncio.run(talk()) == (sent, sent)


def test_a_batch_posted_again_is_not_new_and_peers_are_told_apart() -> None:
    boxes = Mailboxes()
    assert boxes.is_new("a", 1)
    assert not boxes.is_new("a", 1)
    assert boxes.is_new("b", 1)
    assert boxes.is_new("a", 2)
    assert not boxes.is_new("a", 1)


async def test_mail_is_kept_until_the_next_poll_acknowledges_it() -> None:
    boxes = Mailboxes()
    boxes.deliver("a", ["x", "y"])
    assert await boxes.collect("a", 0) == Mail(2, ["x", "y"])
    assert await boxes.collect("a", 0) == Mail(2, ["x", "y"])
    assert await boxes.collect("a", 1) == Mail(2, ["y"])
    boxes.deliver("a", ["z"])
    assert await boxes.collect("a", 2) == Mail(3, ["z"])


async def test_a_poll_parks_until_its_own_peer_has_mail() -> None:
    boxes = Mailboxes()
    poll = asyncio.ensure_future(boxes.collect("a", 0))
    boxes.deliver("b", ["not for a"])
    await settled()
    assert not poll.done()
    boxes.deliver("a", ["for a"])
    assert await asyncio.wait_for(poll, LONGEST_WAIT_S) == Mail(1, ["for a"])


async def test_close_lets_every_parked_poll_return() -> None:
    boxes = Mailboxes()
    polls = [asyncio.ensure_future(boxes.collect(peer, 0)) for peer in "abc"]
    await settled()
    assert not any(poll.done() for poll in polls)
    boxes.close()
    assert await asyncio.wait_for(asyncio.gather(*polls), LONGEST_WAIT_S) == [Mail(0, [])] * 3


class SlowLine(Echo):
    """Posts that return only when told to, and a count of what is under way."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list[Any]] = []
        self.posting = self.polling = self.most_posting = self.most_polling = 0
        self.door = asyncio.Event()

    async def post(self, peer: str, number: int, batch: Sequence[Any]) -> None:
        self.batches.append(list(batch))
        self.posting += 1
        self.most_posting = max(self.most_posting, self.posting)
        await self.door.wait()
        await super().post(peer, number, batch)
        self.posting -= 1

    async def poll(self, peer: str, after: int) -> Mail:
        self.polling += 1
        self.most_polling = max(self.most_polling, self.polling)
        try:
            return await super().poll(peer, after)
        finally:
            self.polling -= 1


async def test_one_batch_and_one_poll_are_under_way_and_what_gathers_is_the_next_batch() -> None:
    line, heard = SlowLine(), list[int]()
    link = Link("peer", line, heard.append)
    link.start()
    link.send(0)
    await settled()
    for message in range(1, 100):
        link.send(message)
        await asyncio.sleep(0)
    assert line.batches == [[0]]
    line.door.set()
    await until(lambda: len(heard) == 100)
    assert line.batches == [[0], list(range(1, 100))]
    assert heard == list(range(100))
    assert (line.most_posting, line.most_polling) == (1, 1)
    await link.stop()


class DeadServer(Echo):
    async def post(self, peer: str, number: int, batch: Sequence[Any]) -> None:
        raise ConnectionError("the server is gone")


async def test_a_server_that_is_gone_is_noticed_by_whoever_watches_the_link() -> None:
    link = Link("peer", DeadServer(), lambda message: None)
    link.start()
    link.send("anything")
    with pytest.raises(ConnectionError, match="gone"):
        await asyncio.wait_for(link.failed(), LONGEST_WAIT_S)
    await link.stop()


async def test_servers_replaced_faster_than_a_client_goes_over_leave_it_with_the_last() -> None:
    first, second, third, heard = SlowLine(), SlowLine(), SlowLine(), list[int]()
    link = Link("peer", first, heard.append)
    link.start()
    link.send(0)
    await settled()
    await asyncio.gather(link.reconnect(second), link.reconnect(third))
    for line in (first, second, third):
        line.door.set()
    link.send(1)
    await until(lambda: heard == [0, 1])
    assert [line.polling for line in (first, second, third)] == [0, 0, 1]
    await link.stop()
