"""Every row of the table in ``docs/failures.md``, through the adapter and over loopback HTTP.

The page says what comes of a failure for the call, the session and the ledger; these tests read
it there and make the failure happen.
"""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from matrix.admission.accounts import IN_A_ROW
from tests.badinput.conftest import Worlds
from tests.badinput.trouble import TROUBLE
from tests.badinput.world import COST, Attempt, trouble_at_the_second_call
from tests.providers_litellm.service import Service
from tests.waiting import LONGEST_WAIT_S

PAGE = Path(__file__).resolve().parents[2] / "docs" / "failures.md"
AGENTS = "## Agents under test"
"""From here on it is ``tests/agents/test_outcomes.py`` that reads the page."""
ATTEMPTS = 3


class Row(NamedTuple):
    """One row of the page."""

    title: str
    call: str
    error_class: str
    session: str
    ledger: str


def rows() -> dict[str, Row]:
    """The rows about models."""
    return rows_in(PAGE.read_text(encoding="utf-8").partition(AGENTS)[0])


def rows_in(text: str) -> dict[str, Row]:
    """The rows whose call is answered, tried again, parked or over."""
    found = re.findall(
        r"^\| ([^|]+?) +\| (answered|tried again|parked|over)(?:: `(\w+)`)?"
        r" +\| ([^|]+?) +\| (\w+) +\|$",
        text,
        re.M,
    )
    return {fields[0]: Row(*fields) for fields in found}


NOBODY = "http://no-such-host.invalid/v1"
KEYLESS: dict[str, Any] = {"api_key_env": "KEY_THAT_IS_GONE"}
AWAY: dict[str, dict[str, Any]] = {
    "no key where requests are sent": KEYLESS,
    "host name that does not resolve": {"api_base": NOBODY},
    "connection refused": {"api_base": "http://127.0.0.1:{closed}/v1"},
}
"""Rows whose trouble is not an answer: settings under which no request gets anywhere."""

REJECTED_WHOLE = frozenset(
    {
        "usage with fractions",
        "usage in words",
        "usage that is a list",
        "usage with senseless details",
        "unreadable answer that says its usage",
    }
)
"""Answers of which ``litellm.acompletion`` lets nothing be read."""


def test_every_row_of_the_page_is_tested_and_every_test_has_a_row() -> None:
    assert rows().keys() == TROUBLE.keys() | AWAY.keys()


def assert_ledger(attempt: Attempt, ledger: str) -> None:
    """A hold is an upper bound: settled below it, presumed in full, or given back."""
    assert attempt.disposition == ledger
    assert attempt.cost == {"settled": COST, "presumed": attempt.held, "released": 0}[ledger]
    assert 0 < COST < attempt.held


def assert_parked(row: Row, attempts: list[Attempt]) -> None:
    """Three attempts of one call decide where nobody else asks anything of the account."""
    assert (row.session, len(attempts)) == ("goes on", IN_A_ROW)
    for attempt in attempts:
        assert attempt.error_class == row.error_class
        assert_ledger(attempt, row.ledger)


def row_of(title: str, transport: str = "direct") -> Row:
    """The page's row, with what it says below the table of the way through litellm."""
    row = rows()[title]
    if transport == "litellm" and title in REJECTED_WHOLE:
        return row._replace(call="tried again", error_class="MalformedAnswer", ledger="presumed")
    return row


@pytest.mark.parametrize("transport", ["direct", "litellm"])
@pytest.mark.parametrize("title", TROUBLE)
async def test_trouble_that_happens_once(
    title: str, transport: str, service: Service, worlds: Worlds
) -> None:
    row = row_of(title, transport)
    trouble_at_the_second_call(service, TROUBLE[title], times=1)
    world = worlds(transport=transport, timeout_s=LONGEST_WAIT_S)
    played = await world.play()
    first, *more = played.second
    assert first.error_class == row.error_class
    assert_ledger(first, row.ledger)
    again, parked, over = (row.call == word for word in ("tried again", "parked", "over"))
    assert len(more) == again + parked
    assert len(world.pauses) == again
    for attempt in more:
        assert_ledger(attempt, "settled")
    assert row.session == ("errored" if over else "goes on")
    end = ("errored", row.error_class) if over else ("completed", "")
    assert (played.ended.outcome, played.ended.error_class) == end
    assert len(service.seen) == sum(map(len, played.attempts.values())), "one request an attempt"


@pytest.mark.parametrize("title", TROUBLE)
async def test_trouble_that_never_ends(title: str, service: Service, worlds: Worlds) -> None:
    """Every attempt is accounted for by itself, and the last error is the call's.

    A call that is parked has none: its session stays open, for when its account is mended.
    """
    row = rows()[title]
    trouble_at_the_second_call(service, TROUBLE[title], times=99)
    world = worlds(attempts=ATTEMPTS, timeout_s=LONGEST_WAIT_S)
    if row.call == "parked":
        assert_parked(row, (await world.play_until_drained())[2])
        return
    played = await world.play()
    assert len(played.second) == (ATTEMPTS if row.call == "tried again" else 1)
    for attempt in played.second:
        assert attempt.error_class == row.error_class
        assert_ledger(attempt, row.ledger)
    end = ("completed", "") if row.call == "answered" else ("errored", row.error_class)
    assert (played.ended.outcome, played.ended.error_class) == end


@pytest.mark.parametrize("title", AWAY)
async def test_trouble_before_anything_is_sent(
    title: str, service: Service, worlds: Worlds, loopback_only: list[object]
) -> None:
    row, settings = rows()[title], dict(AWAY[title])
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        if "api_base" in settings:
            settings["api_base"] = settings["api_base"].format(closed=unused.getsockname()[1])
    world = worlds(attempts=ATTEMPTS, **settings)
    if row.call == "parked":
        assert_parked(row, (await world.play_until_drained())[1])
        return
    played = await world.play()
    assert (played.ended.outcome, played.ended.error_class) == ("errored", row.error_class)
    assert (row.session, row.ledger) == ("errored", "released")
    assert len(played.attempts[1]) == (ATTEMPTS if row.call == "tried again" else 1)
    for attempt in played.attempts[1]:
        assert attempt.error_class == row.error_class
        assert_ledger(attempt, row.ledger)
    assert not service.seen
    loopback_only.clear()  # the name that does not resolve was looked up, as it should be
