"""Two sessions beside each other: where they part, and what each of them did from there."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from matrix import api
from matrix.model.records import Message
from matrix.report.session.difference import difference_as_data, difference_as_text, difference_of
from matrix.store.journal.transcript import Transcript

KEPT = Path(__file__).parents[1] / "store" / "journals_v3"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    shutil.copytree(KEPT / "play", folder / "play")
    api.repair("play", results=folder)
    return folder


@pytest.fixture(scope="module")
def one(results: Path) -> Transcript:
    return api.open_run("play", results=results).session("best")


def edited(session: Transcript, turn: int, text: str) -> Transcript:
    """The session with another first message in a turn."""
    steps = list(session.turns)
    place = next(i for i, done in enumerate(steps) if done.phase == "turn" and done.turn == turn)
    first, *rest = steps[place].messages
    said = (Message(first.channel, first.speaker, text, first.turn, first.label), *rest)
    steps[place] = replace(steps[place], messages=said)
    return replace(session, turns=tuple(steps))


def test_a_session_does_not_differ_from_itself(one: Transcript) -> None:
    found = difference_of(one, one)
    assert (found.turn, found.messages) == (None, len(one.messages))
    assert difference_as_data(found)["a"]["messages"] == []
    assert difference_as_data(found)["scores"] == {}
    assert "are alike" in difference_as_text(found)


@pytest.mark.parametrize("turn", [1, 2, 4])
def test_what_is_alike_is_counted_and_the_rest_shown_from_where_they_part(
    one: Transcript, turn: int
) -> None:
    other = edited(one, turn, "Something else entirely happens.")
    found = difference_of(one, other)
    assert found.turn == turn
    assert found.messages == sum(len(d.messages) for d in one.turns if d.turn < turn)
    text = difference_as_text(found)
    assert f"they part in turn {turn}" in text
    assert f"--- turn {turn} " in text
    assert f"--- turn {turn - 1} " not in text
    assert "Something else entirely" in text
    data = difference_as_data(found)
    assert data["a"]["messages"][0]["text"] == one.messages[found.messages].text
    assert data["b"]["messages"][0]["text"] == "Something else entirely happens."
    assert len(data["a"]["messages"]) == len(one.messages) - found.messages


def test_a_session_that_stopped_earlier_parts_where_it_stopped(one: Transcript) -> None:
    shorter = replace(one, turns=one.turns[:3], ended=None)
    found = difference_of(one, shorter)
    assert found.turn == 3
    assert "(over)" in difference_as_text(found)
    assert "still open" in difference_as_text(found)


@pytest.mark.parametrize("width", [60, 100])
def test_it_fits_its_width_whatever_was_said(one: Transcript, width: int) -> None:
    other = edited(one, 1, "unbroken" * 60 + "\x1b[2J\n\ttab and\rreturn" + " word" * 80)
    lines = difference_as_text(difference_of(one, other), width=width).splitlines()
    assert max(map(len, lines)) <= width
    assert "\x1b" not in "".join(lines)


def test_order_of_the_two_only_changes_the_sides(one: Transcript) -> None:
    other = edited(one, 2, "Another thing.")
    there = difference_as_data(difference_of(one, other))
    back = difference_as_data(difference_of(other, one))
    assert (there["a"], there["b"]) == (back["b"], back["a"])
    orjson.dumps(there)


def test_sessions_are_named_in_one_run_or_each_with_its_run(results: Path) -> None:
    in_one = api.diff("best", "worst", run="play", results=results)
    in_two = api.diff("play:best", "play:worst", results=results)
    newest = api.diff("best", "worst", results=results)
    assert in_one == in_two == newest
    assert in_one.a.session_id != in_one.b.session_id
