"""The language of ``--where``: what it takes, what it refuses and where, what it picks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.api import Run
from matrix.model.documents.conditions import Condition, comparisons, holds, parse_condition
from matrix.model.errors import BadInput
from matrix.store.reading.reader import RunTables
from matrix.store.reading.selecting import moments_before
from tests.branching.looking import ids


def parsed(text: str) -> Condition:
    return parse_condition(text, "--where")


ROW = {
    ("events", "kind"): "loop",
    ("events", "turn"): 7,
    ("events", "value"): None,
    ("sessions", "prompt"): "baseline",
    ("sessions", "simulated"): True,
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("events.kind == 'loop'", True),
        ('events.kind == "forced_segue"', False),
        ("events.kind != 'x' and events.turn >= 7", True),
        ("events.turn < 7 or events.turn > 7", False),
        ("events.turn <= 7.5", True),
        ("events.turn > -1", True),
        ("events.value == 0 or events.value != 0", False),
        ("(events.kind == 'x' or events.turn == 7) and sessions.prompt == 'baseline'", True),
        ("events.kind == 'x' or events.turn == 7 and sessions.prompt == 'other'", False),
        ("sessions.simulated == true", True),
        ("  events.kind ==\n 'loop' ", True),
    ],
)
def test_a_condition_holds_or_does_not(text: str, expected: bool) -> None:
    assert holds(parsed(text), ROW) is expected


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("", [1]),
        ("events.kind", [1]),
        ("events.kind = 'x'", [13]),
        ("kind == 'x'", [1]),
        ("events.kind == events.turn", [16]),
        ("events.turn in (1, 2)", [1, 16]),
        ("1 < events.turn < 3", [1]),
        ("not events.turn == 3", [1]),
        ("f(events.turn) == 3", [1]),
        ("events.a == 1 and __import__('os') == 1 or x == [3]", [19, 44, 49]),
        ("events.kind == 'é' and foo(1)", [24]),
        ("a.b.c == 1", [1]),
        ("events.kind == None", [16]),
        ("(lambda: 1)() == 1", [1]),
    ],
)
def test_what_is_not_of_the_language_is_refused_with_its_place(
    text: str, places: list[int]
) -> None:
    with pytest.raises(BadInput) as raised:
        parsed(text)
    found = [mistake.path for mistake in raised.value.mistakes]
    assert found == [f"character {place}" for place in places]
    assert all("table.column" in mistake.message for mistake in raised.value.mistakes)


@given(st.text(alphabet="abc.()='\"<>!~ 01andor[]{}:,\\\n\0é", max_size=40))
def test_any_text_is_a_condition_or_bad_input(text: str) -> None:
    try:
        found = parsed(text)
    except BadInput:
        return
    assert list(comparisons(found))


@pytest.mark.parametrize("text", ["(" * 1500 + ")" * 400, "-" * 1900 + "1", "a.b==1 or " * 500])
def test_monstrous_texts_are_refused(text: str) -> None:
    with pytest.raises(BadInput):
        parsed(text)


def test_the_turn_before_each_row_is_picked_once_in_launch_order(counter: Run) -> None:
    tables = RunTables(counter.path)
    found = moments_before(tables, parsed("calls.turn == 2 or calls.turn == 5"), "--where")
    assert found == [(session, turn) for session in ids(counter) for turn in (1, 4)]


def test_columns_of_the_session_narrow_it_down(counter: Run) -> None:
    condition = parsed("events.turn == 1 and sessions.step == '2'")
    found = moments_before(RunTables(counter.path), condition, "--where")
    rows = counter.sessions()
    assert {session for session, _ in found} == set(rows[rows["step"] == "2"]["session_id"])
    assert {turn for _, turn in found} == {0}


def test_what_happened_before_the_first_turn_has_no_turn_before_it(play: Run) -> None:
    with pytest.raises(BadInput, match="no row of messages in the 2 sessions"):
        moments_before(RunTables(play.path), parsed("messages.turn == 0"), "--where")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("evnts.kind == 'x'", "character 1: no table 'evnts'.*did you mean 'events'"),
        ("events.turn == 1 and events.knd == 'x'", "character 22: events has no column 'knd'"),
        ("events.turn == '1'", "character 1: found '1'; events.turn is a number"),
        ("events.kind == 1", "events.kind is a text"),
        ("events.kind == true", "events.kind is a text"),
        ("turns.ended_at > 3", "is a time"),
        ("sessions.turns > 1", "asks for only sessions; one table whose rows have a turn"),
        ("events.turn == 1 or scores.turn == 1", "asks for events and scores; one table"),
        ("players.name == 'x'", "no table 'players'"),
    ],
)
def test_what_the_tables_do_not_have_is_named(counter: Run, text: str, found: str) -> None:
    with pytest.raises(BadInput, match=found):
        moments_before(RunTables(counter.path), parsed(text), "--where")
