"""Laws of a history in a window: what always stays, what fits, and what is said of the rest."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from matrix.kinds.playtest.detect.window import HEAD, tokens_of, windowed
from matrix.kinds.playtest.kind import KIND
from matrix.kinds.playtest.setup.state import PlaytestState
from matrix.model.records import ChatMessage
from tests.kinds.fakes import Checkpoint, Played, make_prelude, play_session
from tests.kinds.playtest.script import PROSE, Script, binding, plan


def story(outputs: int, words: int = 30) -> list[ChatMessage]:
    chat = [ChatMessage("system", "# You are the narrator")]
    chat += [ChatMessage(role, "before the story") for role in ("user", "assistant") * 2]
    chat.append(ChatMessage("user", "[table] Begin the story now."))
    for number in range(outputs):
        chat.append(ChatMessage("assistant", f"Output {number} opens. " + "word " * words))
        chat.append(ChatMessage("user", f"We do {number}."))
    return chat


@given(st.integers(0, 40), st.integers(0, 80), st.integers(0, 4000))
def test_a_window_keeps_beginning_and_end_and_fits_where_it_can(
    outputs: int, words: int, tokens: int
) -> None:
    whole = story(outputs, words)
    shown, dropped = windowed(whole, tokens)
    assert shown[: HEAD - 1] == whole[: HEAD - 1]
    assert shown[HEAD - 1].content.startswith(whole[HEAD - 1].content)
    assert shown[-1].content.endswith(whole[-1].content)
    assert [one.role for one in shown[1:]] == [one.role for one in whole[1 : len(shown)]]
    least = tokens_of(whole[:HEAD]) + tokens_of(whole[HEAD:][-2:])
    assert tokens_of(shown) <= max(tokens, least)
    lost = len(whole) - len(shown)
    assert lost == (dropped.messages if dropped else 0)
    if tokens_of(whole) <= tokens:
        assert (shown, dropped) == (whole, None)


def test_what_is_dropped_is_told_in_short_newest_first() -> None:
    shown, dropped = windowed(story(40), 500)
    assert dropped is not None
    kept = (len(shown) - HEAD) // 2
    assert 2 <= kept < 40
    assert shown[HEAD].content.startswith(f"Output {40 - kept} opens.")
    summary = shown[HEAD - 1].content
    assert f"- Output {39 - kept} opens." in summary
    assert "- Output 0 opens." not in summary
    assert dropped.messages == 2 * (40 - kept)
    assert dropped.tokens > 40 * 20


def play(**options: object) -> Played:
    chosen = {"group": ["joker", "engaged"], **options}
    bound, session = binding(options=json.dumps(chosen)), plan(options=chosen, max_turns=14)
    prelude = make_prelude(KIND, session, bound.resources, Script())
    return play_session(KIND, session, bound.resources, Script(), prelude=prelude)


def test_a_session_says_in_its_checkpoints_what_its_narrator_was_not_shown() -> None:
    room = tokens_of(next(a.messages for a in play().asked if a.role == "narrator" and a.turn == 9))
    played = play(history_tokens=room)
    asked = {one.turn: one for one in played.asked if one.role == "narrator" and one.turn}
    states = [PlaytestState.model_validate_json(one.state) for one in played.checkpoints]
    assert states[9].dropped is None
    assert states[14].dropped is not None
    assert states[14].dropped.messages > 0
    assert all(tokens_of(one.messages) <= room for one in asked.values())
    assert PROSE[0] not in [message.content for message in asked[14].messages]
    newest = PROSE[states[14].dropped.messages // 2 - 1]
    assert f"- {newest.split('.')[0]}" in asked[14].messages[HEAD - 1].content
    assert all(one.dropped is None for one in map(_state, play().checkpoints))


def _state(checkpoint: Checkpoint) -> PlaytestState:
    return PlaytestState.model_validate_json(checkpoint.state)


def test_a_window_makes_the_estimate_smaller() -> None:
    def expected(tokens: int) -> float:
        bound = binding(options=json.dumps({"history_tokens": tokens}))
        return next(use.input_tokens for use in bound.profile if use.role == "narrator")

    assert expected(3000) < expected(5000) < expected(0) == expected(1_000_000)
