"""Laws of tangents: where they start, when they end, how they were ended."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from matrix.kinds.playtest.detect.reading import read
from matrix.kinds.playtest.detect.tangents import close, follow, initiator_of, looks_off_story
from matrix.kinds.playtest.setup.state import TangentBook
from tests.kinds.playtest.script import PROSE, Script, label
from tests.kinds.playtest.test_playtest_session import play

OFF = label("tangent-response", group_off_story=True)


def test_a_tangent_lasts_from_leaving_the_story_to_the_next_pulse() -> None:
    labels = {
        3: OFF,
        4: label("clarification"),
        5: label(segue="natural", segue_quality=4),
    }

    def say(name: str, turn: int) -> str:
        return "Off topic, but who ordered the pizza?" if turn == 2 and name == who else "I nod."

    who = ""
    who = play(Script(), max_turns=1).prelude[1]["name"]
    played = play(Script(labels=labels, say=say), max_turns=8)
    (event,) = played.of_kind("tangent")
    assert (event.turn, event.value, event.subject, event.severity) == (5, 3.0, who, "")
    assert event.detail == "turns: 3-5; recovery: natural; segue: 4; intensity: medium"
    values = played.values
    assert values["tangent_count"] == 1.0
    assert values["tangent_avg_length"] == values["tangent_max_length"] == 3.0
    assert (values["recovery_rate"], values["segue_quality"]) == (1.0, 4.0)


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
    assert event.severity == "warning"
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


steps = st.lists(
    st.tuples(
        st.booleans(),
        st.booleans(),
        st.sampled_from(["", "natural", "forced"]),
        st.none() | st.floats(1, 5),
    ),
    max_size=40,
)


@given(steps)
def test_the_books_add_up(outputs: list[tuple[bool, bool, str, float | None]]) -> None:
    book, lengths, recovered = TangentBook(), [], 0
    for turn, (off, pulse, segue, quality) in enumerate(outputs, start=1):
        book, ended = follow(
            book, turn, off_story=off, pulse=pulse, segue=segue, quality=quality, initiator="Sam"
        )
        assert book.since <= turn
        if ended:
            assert pulse
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
    assert initiator_of(said[:1], story) == ""
    assert initiator_of([], story) == ""


def test_story_talk_is_not_off_story() -> None:
    assert not any(looks_off_story(text) for text in PROSE)
    assert looks_off_story("By the way, has anybody seen that documentary?")
