"""Laws of tangents: where they start, when they end, how they were ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.kinds.playtest.detect.reading import read
from matrix.kinds.playtest.detect.tangents import (
    EndedTangent,
    Left,
    Met,
    close,
    explores,
    follow,
    initiator_of,
    left_by,
    looks_off_story,
)
from matrix.kinds.playtest.setup.state import TangentBook
from matrix.kinds.playtest.table.scoring import tangent_patience
from tests.kinds.fakes import Played
from tests.kinds.playtest.script import PROSE, Script, label
from tests.kinds.playtest.test_playtest_session import play

OFF = label("tangent-response", group_off_story=True)


TALK = "Off topic, but who ordered the pizza?"


def off_until(turn: int) -> Callable[[int], str]:
    """A group that leaves the story in turn 2, and is back after ``turn``."""
    return lambda now: TALK if 2 <= now <= turn else f"We go along, for the {now}. time."


def test_a_tangent_lasts_from_leaving_the_story_until_the_group_is_back_at_it() -> None:
    labels = {
        3: OFF,
        4: label("tangent-response", segue="natural", segue_quality=4),
        5: label("clarification"),
    }

    def say(name: str, turn: int) -> str:
        return "Off topic, but who ordered the pizza?" if turn == 2 and name == who else "I nod."

    who = ""
    who = play(Script(), max_turns=1).prelude[1]["name"]
    played = play(Script(labels=labels, say=say, relay=off_until(3)), max_turns=8)
    (event,) = played.of_kind("tangent")
    assert (event.turn, event.value, event.subject, event.severity) == (5, 2.0, who, "")
    assert event.detail == (
        "turns: 3-4; recovery: natural; type: everyday; method: hook; segue: 4; intensity: medium"
    )
    values = played.values
    assert values["tangent_count"] == 1.0
    assert values["tangent_avg_length"] == values["tangent_max_length"] == 2.0
    assert (values["recovery_rate"], values["segue_quality"]) == (1.0, 4.0)


@pytest.mark.parametrize(("taken_up", "woven"), [(True, True), (False, False), (None, False)])
def test_what_no_cue_shows_the_classifier_says(taken_up: bool | None, woven: bool) -> None:
    """Who talked of it goes by its words, and so does what the story would have to take up."""
    about = "last night's match"
    back = {"segue": "natural", "segue_quality": 4, "taken_up": taken_up}
    labels = {
        3: label("clarification", group_off_story=True, tangent=about, tangent_type="media"),
        4: label("tangent-response", tangent=about, tangent_type="media", **back),
        5: label("clarification"),
    }

    def say(name: str, turn: int) -> str:
        found = turn == 2 and name == who
        return "Did anyone catch the match last night?" if found else "I nod."

    who = ""
    who = play(Script(), max_turns=1).prelude[1]["name"]
    played = play(Script(labels=labels, say=say, relay=off_until(3)), max_turns=8)
    (event,) = played.of_kind("tangent")
    assert event.subject == who
    assert event.data is not None
    assert (event.data["about"], event.data["woven"]) == (about, woven)
    assert event.data["type"] == "media"
    assert "about: last night's match" in event.detail
    assert played.values["tangent_woven"] == woven


def test_nobody_leaves_the_story_who_has_said_nothing_or_nothing_but_the_story() -> None:
    """What a classifier calls a distraction is one where the group was off the story before it."""
    first = label("tangent-response", group_off_story=True)
    aside = label("tangent-response")
    played = play(Script(labels={1: first, 3: aside}, relay=off_until(1)), max_turns=5)
    assert played.of_kind("tangent") == []


AWAY = label("clarification", group_off_story=True)
HOOK = label("tangent-response", segue="natural", segue_quality=4)


@pytest.mark.parametrize(
    ("labels", "back_after", "until", "method"),
    [
        ({3: HOOK}, 2, 3, "hook"),
        ({3: HOOK, 4: HOOK, 5: HOOK}, 4, 5, "hook"),
        ({3: HOOK, 4: OFF, 5: label("tangent-response")}, 4, 6, "by-itself"),
        ({3: label("tangent-response")}, 3, 4, "by-itself"),
        ({3: label("tangent-response"), 4: label("clarification")}, 3, 4, "by-itself"),
        ({3: AWAY, 4: label("clarification")}, 3, 4, "by-itself"),
        ({3: OFF, 4: label("private-moment")}, 2, 4, "by-itself"),
        ({3: label(group_off_story=True)}, 2, 3, "by-itself"),
    ],
)
def test_a_return_counts_that_the_group_takes_and_no_other(
    labels: dict[int, str], back_after: int, until: int, method: str
) -> None:
    """Beats have nothing to do with it: here none is told but after the tangent."""
    played = play(Script(labels=labels, relay=off_until(back_after)), max_turns=9)
    (event,) = played.of_kind("tangent")
    assert event.data is not None
    assert (event.data["since"], event.data["until"]) == (3, until)
    assert (event.data["method"], event.data["recovery"]) == (method, "natural")
    assert event.value == until - 2


def test_two_tangents_with_the_story_between_them_are_two() -> None:
    """Each has its own way back: the forced one of the second says nothing of the first."""
    forced = label("tangent-response", group_off_story=True, segue="forced", segue_quality=1)
    labels = {3: HOOK, 4: label("clarification"), 5: forced, 6: label("clarification")}
    relay = {2: TALK, 4: TALK}
    played = play(Script(labels=labels, relay=lambda now: relay.get(now, "We go on.")), max_turns=8)
    ways = [(e.data["since"], e.data["until"], e.data["method"]) for e in found(played)]
    assert ways == [(3, 3, "hook"), (5, 5, "announced")]


def test_a_group_that_is_back_when_the_session_ends_has_returned() -> None:
    hooked = play(Script(labels={3: HOOK}, relay=off_until(2)), max_turns=3)
    assert [event.data["method"] for event in found(hooked)] == ["hook"]
    away = play(Script(labels={3: HOOK}, relay=off_until(9)), max_turns=3)
    assert [event.data["method"] for event in found(away)] == ["none"]
    labels = {3: label("clarification", segue="natural", concluded=True, group_off_story=True)}
    over = play(Script(labels=labels, relay=off_until(2)), max_turns=9)
    assert [event.data["method"] for event in found(over)] == ["hook"]


def found(played: Played) -> list[Any]:
    return played.of_kind("tangent")


def test_an_immediate_return_has_length_one() -> None:
    played = play(
        Script(labels={3: label(group_off_story=True, segue="natural", segue_quality=5)}),
        max_turns=4,
    )
    (event,) = played.of_kind("tangent")
    assert event.value == 1.0


def test_a_return_that_announces_itself_is_forced_whatever_the_classifier_says() -> None:
    told = [*PROSE[:2], f"Anyway, back to the story. {PROSE[2]}", *PROSE[3:6]]
    played = play(
        Script(narrator=told, labels={3: label(group_off_story=True, segue="natural")}), max_turns=5
    )
    (event,) = played.of_kind("tangent")
    assert "recovery: forced" in event.detail
    assert event.severity == ""
    assert [one.severity for one in played.of_kind("forced_segue")] == ["warning"]
    assert played.values["forced_segues"] == 1.0


def test_a_tangent_that_never_ends_is_recorded_when_the_session_does() -> None:
    played = play(Script(labels=dict.fromkeys(range(3, 7), OFF)), max_turns=6)
    (event,) = played.of_kind("tangent")
    assert (event.value, event.severity) == (4.0, "warning")
    assert "recovery: none" in event.detail
    assert played.values["recovery_rate"] == 0.0


def test_a_failed_session_closes_its_tangent_too() -> None:
    told = [*PROSE[:2], *[PROSE[2]] * 6]
    played = play(Script(narrator=told, labels=dict.fromkeys(range(2, 9), OFF)))
    assert played.ended is not None
    assert played.ended[0] == "failed"
    assert len(played.of_kind("tangent")) == 1


SAM = Left("Sam", "everyday", ("pizza",))
steps = st.lists(
    st.tuples(
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.sampled_from(["", "natural", "forced"]),
        st.none() | st.floats(1, 5),
    ),
    max_size=40,
)


@given(steps)
def test_the_books_add_up(outputs: list[tuple[bool, bool, bool, str, float | None]]) -> None:
    book, lengths, recovered = TangentBook(), [], 0
    for turn, (off, back, pulse, segue, quality) in enumerate(outputs, start=1):
        book, ended = follow(
            book,
            Met(
                turn,
                off_story=off,
                back=not off and back,
                advanced=pulse,
                segue=segue,
                quality=quality,
                left=SAM,
            ),
        )
        assert book.since <= turn
        assert bool(book.returned) <= bool(book.since)
        if ended:
            assert pulse or back
            lengths.append(ended.length)
            recovered += 1
    book, ended = close(book, len(outputs), "none")
    lengths += [ended.length] if ended else []
    assert book.since == 0
    assert (book.count, book.turns, book.longest) == (
        len(lengths),
        sum(lengths),
        max(lengths, default=0),
    )
    assert book.natural + book.forced == recovered
    assert all(length >= 1 for length in lengths)
    assert sum(lengths) <= len(outputs)


def test_the_initiator_is_whoever_spoke_least_of_the_story() -> None:
    story = read("The steward hums a tune in the corridor.").vocabulary
    said = [
        ("Sam", "I ask the steward about the tune."),
        ("Odette", "Random question: does the steward hum a tune about pizza in the corridor?"),
        ("Ravi", "Off topic, but my cat dislikes umbrellas."),
    ]
    assert initiator_of(said, story) == "Ravi"
    assert initiator_of(said, story, 'It was Odette: "Does the steward hum of pizza?"') == "Odette"
    assert initiator_of(said, story, "We go along to the dining car.") == "Ravi"
    assert initiator_of(said[:1], story) == ""
    assert initiator_of([], story) == ""


def test_story_talk_is_not_off_story() -> None:
    assert not any(looks_off_story(text) for text in PROSE)
    assert looks_off_story("By the way, has anybody seen that documentary?")


def met(*outputs: tuple[str, str], said: list[tuple[str, str]] | None = None) -> EndedTangent:
    """A tangent of a group's messages, each with the output after it; the last is a pulse."""
    book, ended = TangentBook(), None
    for turn, (relay, told) in enumerate(outputs, 1):
        off = looks_off_story(relay)
        left = left_by(said or [], relay, ()) if off else None
        last = turn == len(outputs)
        book, ended = follow(book, Met(turn, told, off_story=off, advanced=last, left=left))
    assert ended is not None
    return ended


PIZZA = "Random question: who ordered the pizza with the anchovies?"
FILM = "Off topic, but they made a film of this, with a lighthouse and no budget."
PUN = "Before I forget, I have a terrible pun about herrings."


@pytest.mark.parametrize(
    ("text", "kind"),
    [(PIZZA, "everyday"), (FILM, "media"), (PUN, "humour"), ("By the way, hm.", "other")],
)
def test_a_tangent_has_the_kind_of_what_it_began_with(text: str, kind: str) -> None:
    assert met((text, "The train stops.")).kind == kind
    assert met((text, "The train stops."), said=[("Sam", text)]).initiator == "Sam"


def test_a_tangent_that_leads_to_others_is_a_spiral_and_more_of_the_same_is_none() -> None:
    spiral = met((PIZZA, "Yes."), (FILM, "Ha."), (PUN, "The train stops."))
    assert (spiral.subjects, spiral.intensity) == (3, "spiral")
    more = met((PIZZA, "Yes."), (PIZZA, "Ha."), (PIZZA, "No."), (PIZZA, "The train stops."))
    assert (more.subjects, more.intensity) == (1, "heavy")
    assert met((PIZZA, "The train stops.")).intensity == "light"
    assert met((PIZZA, "Hm."), ("We go on.", "The train stops.")).intensity == "medium"


def test_what_is_woven_in_is_told_from_what_is_dropped() -> None:
    woven = met((PIZZA, "The smell of anchovies drifts from the dining car."))
    assert (woven.woven, woven.method) == (True, "woven")
    named = met((PIZZA, "Sam's laugh echoes strangely."), said=[("Sam", PIZZA)])
    assert named.woven
    dropped = met((PIZZA, "The whistle blows twice."))
    assert (dropped.woven, dropped.method) == (False, "by-itself")


def test_a_return_that_is_announced_has_woven_nothing_in() -> None:
    told = [*PROSE[:2], f"Anyway, back to the story. Anchovies, then. {PROSE[2]}", *PROSE[3:6]]
    off = label(group_off_story=True)
    played = play(Script(narrator=told, relay=lambda _: PIZZA, labels={3: off}), max_turns=5)
    assert all(event.data["woven"] is False for event in played.of_kind("tangent") if event.data)
    assert played.values["tangent_woven"] == 0.0


@pytest.mark.parametrize(
    ("recovery", "led", "woven", "method"),
    [
        ("natural", True, True, "woven"),
        ("natural", True, False, "hook"),
        ("natural", False, False, "by-itself"),
        ("forced", True, False, "announced"),
        ("none", False, False, "none"),
    ],
)
def test_every_way_back_has_a_name(recovery: str, led: bool, woven: bool, method: str) -> None:
    ended = EndedTangent(1, 2, "Sam", recovery, None, woven=woven, led=led)
    assert ended.method == method
    assert ended.data["method"] == method


@pytest.mark.parametrize(
    ("handled", "value"),
    [
        ((), None),
        ((1.0,), None),
        ((1.0, 0.0), -1.0),
        ((0.0, 0.5, 1.0), 1.0),
        ((1.0, 1.0, 0.5, 0.5), -0.5),
    ],
)
def test_patience_compares_later_tangents_with_earlier_ones(
    handled: tuple[float, ...], value: float | None
) -> None:
    assert tangent_patience(handled) == value


@pytest.mark.parametrize(
    ("relay", "found"),
    [
        ("What is carved above the door?", True),
        ("We look around the compartment.", True),
        ("Sam wants to know who made the clock.", True),
        ("We open the door and go in.", False),
        (PIZZA, False),
        ("", False),
    ],
)
def test_looking_around_in_the_story_is_no_tangent(relay: str, found: bool) -> None:
    assert explores(relay) is found


def test_exploration_that_is_met_as_a_tangent_lowers_its_score() -> None:
    script = Script(
        narrator=PROSE[:5],
        labels={3: label("tangent-response"), 4: label("clarification")},
        relay=lambda turn: "What is carved above the door?" if turn < 5 else "We go on.",
    )
    played = play(script)
    assert played.values["explorations"] == 4.0
    assert played.values["exploration_followed"] == 0.75
