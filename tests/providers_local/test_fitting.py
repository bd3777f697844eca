"""Laws of fitting: what must stay stays, nothing is too long, and the same is always left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.model.errors import ContextOverflow
from matrix.model.records import ChatMessage
from matrix.providers.local.fitting import (
    BLOCKS,
    LEAST_ASKED,
    NOTE_TOKENS,
    Fitted,
    answer_room,
    clean,
    fit,
    without_middle,
)
from tests.providers_local.calls import assistant, system, user


def chat(turns: int, words: str = "words") -> list[ChatMessage]:
    """A system prompt and an alternation that ends with a user's message."""
    talk = [
        user(f"{words} {i}") if i % 2 == 0 else assistant(f"{words} {i}")
        for i in range(2 * turns + 1)
    ]
    return [system("the guide"), *talk]


def test_what_fits_is_sent_as_it_is() -> None:
    messages = chat(5)
    assert fit(messages, [10] * len(messages), 10 * len(messages)) == Fitted(tuple(messages))


@given(
    turns=st.integers(0, 30),
    sizes=st.lists(st.integers(1, 400), min_size=62, max_size=62),
    room=st.integers(200, 3000),
)
def test_what_is_sent_fits_and_keeps_both_ends(turns: int, sizes: list[int], room: int) -> None:
    messages = chat(turns)
    sizes = sizes[: len(messages)]
    try:
        fitted = fit(messages, sizes, room)
    except ContextOverflow:
        assert sizes[0] + NOTE_TOKENS + min(LEAST_ASKED, sizes[-1]) > room
        return
    kept = len(fitted.messages) - 1
    assert fitted.messages[0] == messages[0]
    assert fitted.messages[-1].content.endswith(messages[-1].content)
    assert fitted.messages[1].role == "user"
    assert fitted.left_out + kept + 1 == len(messages)
    if fitted.last_room is None:
        note = NOTE_TOKENS if fitted.left_out else 0
        assert sizes[0] + sum(sizes[-kept:]) + note <= room
    else:
        assert kept == 1
        assert sizes[0] + fitted.last_room + NOTE_TOKENS == room
        assert fitted.last_room < sizes[-1]


def test_a_growing_conversation_keeps_its_beginning_for_many_turns() -> None:
    beginnings = []
    for turns in range(200):
        messages = chat(turns)
        fitted = fit(messages, [100] + [25] * (len(messages) - 1), 1_140)
        if fitted.left_out:
            beginnings.append(fitted.messages[1])
    steps = len(beginnings)
    per_block = 1_000 // BLOCKS // 50
    assert len(set(beginnings)) <= steps // per_block + 1
    assert len(set(beginnings)) > 2


def test_what_is_left_out_is_said_where_it_was() -> None:
    messages = chat(20)
    fitted = fit(messages, [50] * len(messages), 500)
    first = fitted.messages[1].content
    assert first.startswith(f"[{fitted.left_out} earlier messages are left out here.]\n\n")
    assert first.endswith(messages[1 + fitted.left_out].content)
    assert [m.content for m in fitted.messages[2:]] == [
        m.content for m in messages[2 + fitted.left_out :]
    ]


def test_one_message_that_is_too_long_is_to_be_cut_in_the_middle() -> None:
    fitted = fit([system("rubric"), user("transcript")], [100, 9_000], 1_000)
    assert fitted == Fitted((system("rubric"), user("transcript")), 0, 1_000 - 100 - NOTE_TOKENS)


def test_a_conversation_without_a_system_prompt_fits_as_well() -> None:
    messages = chat(10)[1:]
    fitted = fit(messages, [50] * len(messages), 400)
    assert fitted.left_out
    assert fitted.messages[0].role == "user"
    assert fitted.messages[-1] == messages[-1]


def test_a_system_prompt_that_leaves_no_room_is_an_overflow_with_both_numbers() -> None:
    with pytest.raises(ContextOverflow, match="990 tokens and the context leaves 1000"):
        fit(chat(3), [990, *[100] * 7], 1_000)


def test_the_answer_is_given_at_most_half_of_the_context() -> None:
    assert answer_room(700, 8_192) == 700
    assert answer_room(700, 512) == 256


@given(text=st.text(max_size=300), keep=st.integers(2, 400))
def test_a_text_without_its_middle_begins_and_ends_as_it_did(text: str, keep: int) -> None:
    shortened = without_middle(text, keep)
    if len(text) <= keep:
        assert shortened == text
    else:
        half = keep // 2
        assert shortened.startswith(text[:half])
        assert shortened.endswith(text[-half:])
        assert f"[... {len(text) - 2 * half} characters left out ...]" in shortened


def test_half_characters_are_replaced_before_anything_is_sent() -> None:
    assert clean([user("broken \ud800 off")]) == (user("broken ? off"),)
