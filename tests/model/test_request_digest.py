"""Digests of requests: equal for equal requests, and telling of unequal ones what differs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.model.errors import DigestMismatch
from matrix.model.records import CallKey, CallParams, ChatMessage, ToolCall
from matrix.model.request_digest import check_same_request, content_of, request_digest
from matrix.model.seeds import content_hash

KEY = CallKey("s1", "turn", 22, "0")
MESSAGE = st.builds(
    ChatMessage, st.sampled_from(["system", "user", "assistant"]), st.text(max_size=8)
)
REQUEST: dict[str, Any] = {
    "role": "narrator",
    "model": "sim/opus-4.5",
    "messages": [ChatMessage("system", "You narrate."), ChatMessage("user", "We go in.")],
    "params": CallParams(512, 0.7, None),
}


def digest(**changes: Any) -> str:
    r = REQUEST | changes
    messages = [message.parts for message in r["messages"]]
    content = content_hash([r["role"], r["model"], messages, r["params"].parts])
    return request_digest(content, r["role"], r["model"], r["messages"], r["params"])


def said(recorded: str, asked: str) -> str:
    with pytest.raises(DigestMismatch) as caught:
        check_same_request(KEY, recorded, asked)
    return str(caught.value)


@given(messages=st.lists(MESSAGE, max_size=60))
def test_an_equal_request_is_the_same_whether_or_not_an_earlier_version_recorded_it(
    messages: list[ChatMessage],
) -> None:
    check_same_request(KEY, digest(messages=messages), digest(messages=list(messages)))
    check_same_request(KEY, content_of(digest(messages=messages)), digest(messages=messages))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"role": "players"}, "role changed"),
        ({"model": "sim/grok-4"}, "model changed"),
        ({"params": CallParams(513, 0.7, None)}, "max_tokens changed"),
        ({"params": CallParams(512, None, None)}, "temperature changed"),
        ({"params": CallParams(512, 0.7, "{}")}, "schema changed"),
        ({"params": CallParams(512, 0.7, None, '["read"]')}, "tools changed"),
        (
            {"params": CallParams(512, 0.7, None, more='{"seed":1}')},
            "a parameter changed",
        ),
        ({"messages": REQUEST["messages"][:1]}, "the number of messages (2 then, 1 now)"),
        (
            {"messages": [ChatMessage("system", "You tell."), *REQUEST["messages"][1:]]},
            "message 1 of 2 changed",
        ),
        (
            {"messages": [*REQUEST["messages"][:1], ChatMessage("user", "We stay.")]},
            "message 2 of 2 changed",
        ),
    ],
)
def test_each_part_that_differs_is_named_and_no_other(change: dict[str, Any], named: str) -> None:
    message = said(digest(), digest(**change))
    assert f": {named}" in message
    assert "call turn:22:0 of session s1" in message
    assert "--redo-turn" in message


def test_in_a_long_history_the_first_and_last_messages_are_named() -> None:
    long = [ChatMessage("user", f"line {number}") for number in range(100)]
    for place, named in [(0, "message 1 of"), (50, "between 9 and 84"), (99, "message 100 of")]:
        edited = [*long[:place], ChatMessage("user", "another"), *long[place + 1 :]]
        assert named in said(digest(messages=long), digest(messages=edited))


def test_without_a_sketch_it_says_why_it_cannot_tell() -> None:
    assert "cannot be told" in said(content_of(digest()), digest(role="players"))


def test_the_digest_of_a_plain_request_is_as_it_was_before_there_were_tools() -> None:
    assert digest() == "6a26c97fa8b7a548.301c5ba1f10266b3"


def test_changed_tools_are_named_in_a_tool_loop_too() -> None:
    called = ChatMessage("assistant", "", (ToolCall("1", "read", "{}"),))
    result = ChatMessage("tool", "done", tool_call_id="1")
    messages = [*REQUEST["messages"], called, result]
    then = digest(messages=messages, params=CallParams(512, 0.7, None, "[1]", "auto"))
    now = digest(messages=messages, params=CallParams(512, 0.7, None, "[2]", "auto"))
    assert "tools changed" in said(then, now)
    other = [*messages[:-1], result._replace(tool_call_id="2")]
    assert "message 4 of 4 changed" in said(digest(messages=messages), digest(messages=other))
