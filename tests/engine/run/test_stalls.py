"""Code that holds up the loop is named, with its line; what lets others run is not."""

from __future__ import annotations

import asyncio
import inspect
import threading
from pathlib import Path

from matrix.engine.run.stalls import code_at, stalls


async def test_code_that_does_not_give_the_loop_back_is_told_once_with_its_line() -> None:
    told: list[str] = []
    heard = threading.Event()

    def tell(where: str) -> None:
        told.append(where)
        heard.set()

    with stalls(tell, patience_s=0.05):
        await asyncio.sleep(0)
        while not heard.is_set():
            pass
        await asyncio.sleep(0)
    (where,) = told
    file, _, line = where.rpartition(":")
    assert file == Path(__file__).name
    first = test_code_that_does_not_give_the_loop_back_is_told_once_with_its_line.__code__
    assert int(line) > first.co_firstlineno


async def test_a_loop_that_moves_is_told_of_nothing() -> None:
    told: list[str] = []
    loop = asyncio.get_running_loop()
    with stalls(told.append, patience_s=0.5):
        turns = loop.create_future()
        loop.call_later(1.2, turns.set_result, None)
        await turns
    assert told == []


def test_the_innermost_frame_of_the_users_own_code_is_where_it_stands() -> None:
    found: list[str] = []

    def own() -> None:
        found.extend(map(code_at, [inspect.currentframe()]))

    own()
    assert found[0].startswith(f"{Path(__file__).name}:")
    assert code_at(None) == ""
