"""A server that means harm: whatever it does, what it has billed is on the books.

Each group of behaviours is decided about by one branch of the code, and its test fails without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

import matrix
from matrix.engine.calls.provider_host import MAX_WAIT_S
from matrix.model.entries import Entry, Settled
from tests.badinput.harm import GROUPS, Group, behaviours
from tests.badinput.hostile import MIXED, HostileServer
from tests.badinput.waiting_loop import WaitingLoop
from tests.badinput.world import COST, Attempt, World
from tests.books import fold_money
from tests.engine.live import journal_entries
from tests.executors.billing import most_committed, served_spec
from tests.faults.laws import assert_books
from tests.waiting import LONGEST_WAIT_S


@pytest.fixture(scope="module")
def server() -> Iterator[HostileServer]:
    with HostileServer(behaviours()) as found:
        yield found


class Place:
    """Behaviours of the server, as the address of a service."""

    def __init__(self, url: str) -> None:
        self._url = url

    def base(self, target: str) -> str:
        return self._url


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["direct", "litellm"])
@pytest.mark.parametrize("title", GROUPS)
async def test_every_behaviour_of_a_group_has_its_outcome_and_is_paid_for(
    title: str, transport: str, server: HostileServer, tmp_path: Path
) -> None:
    """Where sessions go on, one session meets all of the group; else each has one of its own."""
    group, names = GROUPS[title], list(GROUPS[title].scripts)
    alone = not group.again and "" not in group.classes
    wrong: dict[str, str] = {}
    loop = asyncio.get_running_loop()
    assert isinstance(loop, WaitingLoop)

    def give_up() -> None:
        loop.call_soon_threadsafe(loop.pass_time, 2 * LONGEST_WAIT_S)

    server.waited_for = give_up

    async def meet(first: int, turns: int) -> None:
        name = f"{title.replace(' ', '-')}-{transport}-{first}"
        folder = tmp_path / name
        folder.mkdir()
        place: Any = Place(server.url(name, title, first))
        world = World(folder, place, transport=transport, timeout_s=LONGEST_WAIT_S)
        played = await world.play(turns)
        for turn in range(turns):
            found = played.attempts.get(turn + 1, [])
            if fault := fault_of(found, group, transport):
                wrong[names[first + turn]] = f"{fault}: {found}, {played.ended.reason}"
        assert all(0 <= pause <= MAX_WAIT_S for pause in world.pauses)
        assert played.ended.outcome == ("errored" if alone else "completed"), wrong
        assert_bill(server, name, journal_entries(folder))

    if alone:
        await asyncio.gather(*(meet(first, 1) for first in range(len(names))))
    else:
        await meet(0, len(names))
    assert not wrong


def fault_of(found: Sequence[Attempt], group: Group, transport: str) -> str:
    """What is not as the group says in the attempts of a call, or nothing."""
    if not found:
        return "never asked"
    first, *more = found
    classes, again = group.classes, group.again
    if "" in classes and transport == "litellm" and first.error_class == "MalformedAnswer":
        classes, again = classes | {"MalformedAnswer"}, True  # it rejects whole what it cannot read
    if first.error_class not in classes:
        return "other class"
    if first.disposition != group.ledger or first.cost < least_of(first):
        return "other money"
    if [attempt.disposition for attempt in more] != ["settled"] * again:
        return "other attempts"
    return ""


def least_of(attempt: Attempt) -> int:
    return {"settled": COST, "presumed": attempt.held, "released": 0}[attempt.disposition]


def assert_bill(server: HostileServer, world: str, entries: Sequence[Entry]) -> None:
    """What the server has charged is on the books, and nothing was asked behind their back."""
    books = fold_money(entries).history
    assert server.billed[world] <= books.settled + books.presumed + books.overrun
    over = [entry for entry in entries if isinstance(entry, Settled)]
    assert len(over) == sum(request.world == world for request in server.requests)
    released = [entry for entry in over if entry.disposition == "released"]
    assert len(released) == server.free[world], "a hold too large elsewhere must not hide one"


@pytest.mark.slow
@pytest.mark.parametrize("target", ["openai/gpt-4o", "llamafile/gpt-4o"])
def test_a_whole_run_pays_what_was_billed_and_keeps_its_cap(
    target: str, server: HostileServer, tmp_path: Path
) -> None:
    world = target.partition("/")[0]
    spec = served_spec(
        server.url(world, MIXED),
        options={"turns": 6, "width": 1},
        per_cell=30,
        limits={"cost_usd": 1, "attempts": 9},
    )
    spec["models"]["narrator-x"]["target"] = target
    (tmp_path / "matrix.yaml").write_text(yaml.safe_dump(spec))
    run = matrix.run(tmp_path / "matrix.yaml", results=tmp_path / "results", executor="in-process")
    assert_books(run.path)
    assert most_committed(run.path) <= 10**9
    assert_bill(server, world, journal_entries(run.path))
    assert server.billed[world] > 0
    assert set(run.sessions().outcome) == {"completed", "errored"}
