"""Who is at the other end of a connection is alive until it has ended and no other is taken."""

from __future__ import annotations

import asyncio

from matrix_actors.lifelines import Connection, Lifeline, first_dead


class Process:
    """A process that takes connections: so many, and then it is dead."""

    def __init__(self, *, takes: int) -> None:
        self.left = takes

    async def connect(self) -> Connection:
        if not self.left:
            raise ConnectionRefusedError
        self.left -= 1
        return ended(), Closed()  # type: ignore[return-value]  # nothing is ever written to it


class Closed:
    def close(self) -> None:
        """Nothing to close."""


def ended() -> asyncio.StreamReader:
    """A connection that its other end has closed, after it has said something."""
    reader = asyncio.StreamReader()
    reader.feed_data(b"settings")
    reader.feed_eof()
    return reader


async def forever() -> Connection:
    return asyncio.StreamReader(), Closed()  # type: ignore[return-value]


async def test_who_takes_no_more_connections_is_dead() -> None:
    lines = [Lifeline("living", forever), Lifeline("dying", Process(takes=1).connect)]
    assert await first_dead(lines, pause_s=0) == "dying"


async def test_one_refusal_is_no_death_and_a_new_connection_makes_up_for_earlier_ones() -> None:
    class Restarted(Process):
        refused = 0

        async def connect(self) -> Connection:
            if self.refused % 4 != 3 and self.left:
                self.refused += 1
                raise ConnectionRefusedError
            self.refused += 1
            return await super().connect()

    restarted = Restarted(takes=5)
    await first_dead([Lifeline("it", restarted.connect, tries=4)], pause_s=0)
    assert restarted.left == 0, "it was taken for dead although it came back each time"
