"""Shapes of requests and answers: what is read of them, and that nothing in them can break it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, get_args

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.admission.pricing import implausible
from matrix.dialects.answers import reported, without_usage_event
from matrix.dialects.requests import BadRequest, parse_request, telling_usage, under_name
from matrix.dialects.shapes import FAULTS, error_body, error_event
from matrix.dialects.usage import MOST_UNEXPLAINED
from matrix.model.records import Shape, Usage
from tests.gateway.provider import EVENTS, USED, WHOLE

SHAPES = st.sampled_from(get_args(Shape))
OF_PATH: dict[str, Shape] = {
    "/v1/chat/completions": "chat",
    "/v1/responses": "responses",
    "/v1/messages": "messages",
}
KEYS = st.sampled_from(
    ["model", "max_tokens", "stream", "n", "tools", "type", "usage", "choices", "message",
     "delta", "response", "file_id", "input_tokens", "stream_options"]
)  # fmt: skip
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**9) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(SHAPES, JSON | st.dictionaries(KEYS, JSON))
def test_any_request_is_read_or_refused_with_words(shape: Shape, data: Any) -> None:
    with suppress(BadRequest):  # and nothing else
        found = parse_request(shape, orjson.dumps(data))
        assert found.model == data["model"]
        assert found.choices >= 1


@given(SHAPES, st.binary(max_size=60) | JSON.map(orjson.dumps), st.booleans())
def test_any_answer_is_read(shape: Shape, body: bytes, stream: bool) -> None:
    found = reported(shape, body, stream=stream)
    assert found.usage is None or min(found.usage) >= 0


@given(SHAPES, st.lists(JSON, max_size=6))
def test_any_stream_is_read(shape: Shape, events: list[Any]) -> None:
    body = b"".join(b"data: " + orjson.dumps(event) + b"\n\n" for event in events)
    found = reported(shape, body, stream=True)
    assert found.usage is None or min(found.usage) >= 0


@pytest.mark.parametrize("path", list(OF_PATH))
def test_what_was_used_is_the_same_whole_and_streamed(path: str) -> None:
    asked = {"stream_options": {"include_usage": True}}
    whole = reported(OF_PATH[path], orjson.dumps(WHOLE[path](asked)), stream=False)
    events = EVENTS[path](asked)
    streamed = reported(OF_PATH[path], b"".join(events), stream=True)
    told = USED if path != "/v1/messages" else USED._replace(reasoning=0)
    assert whole.usage == streamed.usage == told
    assert whole.whole
    assert streamed.whole
    assert streamed.model
    mark = events[-1].startswith(b"data: [DONE]")  # its answer is all there without that, too
    for end in range(len(events)):
        part = reported(OF_PATH[path], b"".join(events[:end]), stream=True)
        assert part.whole is (mark and end == len(events) - 1)


def test_the_dear_side_of_a_report_that_contradicts_itself_counts() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 90,
             "completion_tokens_details": {"reasoning_tokens": 40}}  # fmt: skip
    found = reported("chat", orjson.dumps({"usage": usage}), stream=False)
    assert found.usage == Usage(5, 85, 0, 0, 40)


def streamed(*events: dict[str, Any]) -> bytes:
    return b"".join(b"data: " + orjson.dumps(event) + b"\n\n" for event in events)


def chunks(*deltas: dict[str, Any]) -> bytes:
    return streamed(*({"choices": [{"delta": delta}]} for delta in deltas))


def block(kind: str, *deltas: str, **begun: Any) -> list[dict[str, Any]]:
    """One block of an answer in Anthropic's shape, as events."""
    opened = {"type": "content_block_start", "content_block": {"type": kind, **begun}}
    field = {"text": "text", "thinking": "thinking", "tool_use": "partial_json"}[kind]
    return [opened, *({"type": "content_block_delta", "delta": {field: text}} for text in deltas)]


CALL = {"id": "c" * 90, "function": {"name": "read", "arguments": '{"path":"a"}'}}
WRITTEN: dict[str, tuple[Shape, dict[str, Any], bytes, str]] = {
    "chat": (
        "chat",
        {"choices": [{"message": {"reasoning_content": "hm", "content": "yes", "refusal": None,
                                  "tool_calls": [CALL], "role": "assistant"}}]},
        chunks({"role": "assistant", "reasoning_content": "h"}, {"reasoning_content": "m"},
               {"content": "yes"}, {"tool_calls": [CALL]}, {}),
        'hmyesread{"path":"a"}',
    ),
    "several answers": (
        "chat",
        {"choices": [{"message": {"content": "yes"}}, {"message": {"content": "no"}}]},
        chunks({"content": "yes"}, {"content": "no"}),
        "yesno",
    ),
    "blocks of content": (
        "chat",
        {"choices": [{"message": {"content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
            {"type": "text", "text": "yes"}]}}]},
        chunks({"content": [{"type": "text", "text": "hm"}]}, {"content": "yes"}),
        "hmyes",
    ),
    "a refusal": (
        "chat",
        {"choices": [{"message": {"content": None, "refusal": "no"}}]},
        chunks({"refusal": "no"}),
        "no",
    ),
    "responses": (
        "responses",
        {"instructions": "be brief", "text": {"format": {"type": "text"}}, "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}],
             "encrypted_content": "x" * 90},
            {"type": "message", "content": [{"type": "output_text", "text": "yes"}]},
            {"type": "function_call", "name": "read", "arguments": "{}", "call_id": "c" * 90}]},
        streamed(
            {"type": "response.reasoning_summary_text.delta", "delta": "hm"},
            {"type": "response.output_text.delta", "delta": "yes"},
            {"type": "response.output_text.done", "text": "yes"},
            {"type": "response.function_call_arguments.delta", "delta": "read{}"},
            {"type": "response.completed", "response": {"output": []}},
        ),
        "hmyesread{}",
    ),
    "messages": (
        "messages",
        {"content": [
            {"type": "thinking", "thinking": "hm", "signature": "x" * 90},
            {"type": "text", "text": "yes", "citations": None},
            {"type": "tool_use", "id": "c" * 90, "name": "read", "input": {"path": "a"}}]},
        streamed(
            {"type": "message_start", "message": {"content": []}},
            *block("thinking", "h", "m"),
            *block("text", "yes", text=""),
            *block("tool_use", '{"path":', '"a"}', name="read"),
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        ),
        'hmyesread{"path":"a"}',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(WRITTEN))
def test_all_that_a_model_wrote_is_read_thoughts_and_tools_and_nothing_beside(name: str) -> None:
    shape, whole, events, written = WRITTEN[name]
    assert reported(shape, orjson.dumps(whole), stream=False).written == written
    assert reported(shape, events, stream=True).written == written


@pytest.mark.parametrize("path", list(OF_PATH))
def test_what_a_stream_says_twice_was_written_once(path: str) -> None:
    found = reported(OF_PATH[path], b"".join(EVENTS[path]({})), stream=True)
    assert found.written == "well met"


def test_counts_that_say_nothing_of_what_was_written_are_no_report() -> None:
    def of(read: int, written: int, text: str, total: int = 0) -> Usage | None:
        usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": total}
        body = {"usage": usage, "choices": [{"message": {"content": text}}]}
        return reported("chat", orjson.dumps(body), stream=False).usage

    assert of(5, 0, "") == Usage(5, 0)
    assert of(5, 0, "yes") is of(0, 5, "yes") is of(0, 0, "") is None
    assert of(5, 1, "yes", MOST_UNEXPLAINED + 6) == Usage(5, MOST_UNEXPLAINED + 1)
    assert of(5, 1, "yes", MOST_UNEXPLAINED + 7) is None


@pytest.mark.parametrize(("more", "holds"), [(0, True), (5, True), (MOST_UNEXPLAINED + 1, False)])
def test_far_more_of_a_cache_than_was_read_is_implausible(more: int, holds: bool) -> None:
    told = {"cached_tokens": 5 + more}
    usage = {"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": told}
    body = {"usage": usage, "choices": [{"message": {"content": "yes"}}]}
    found = reported("chat", orjson.dumps(body), stream=False).usage
    assert found is not None
    assert implausible(found, size=10**6, max_tokens=100) is not holds


@pytest.mark.parametrize(
    ("shape", "body"),
    [
        ("chat", {"messages": [
            {"role": "system", "content": "four"},
            {"role": "user", "content": [{"type": "text", "text": "hé"}, {
                "type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
        ]}),
        ("responses", {"instructions": "four", "input": "hé", "metadata": {"text": "x"}}),
        ("responses", {"input": [
            {"role": "user", "content": [{"type": "input_text", "text": "fourhé"}]}]}),
        ("messages", {"system": [{"type": "text", "text": "four"}], "messages": [
            {"role": "user", "content": [{"type": "tool_result", "content": "hé"}, {
                "type": "image", "source": {"type": "base64", "data": "AAAA"}}]}]}),
    ],
)  # fmt: skip
def test_the_texts_of_a_request_are_counted_in_bytes_without_its_images(
    shape: Shape, body: dict[str, Any]
) -> None:
    found = parse_request(shape, orjson.dumps({"model": "m", "max_tokens": 5, **body}))
    assert found.texts == len("fourhé".encode())


def test_usage_that_nobody_asked_for_is_taken_out_of_the_stream_again() -> None:
    asked = orjson.loads(telling_usage(b'{"model":"m","stream":true}'))
    assert asked["stream_options"] == {"include_usage": True}
    told = b"".join(EVENTS["/v1/chat/completions"](asked))
    assert without_usage_event(told) == b"".join(EVENTS["/v1/chat/completions"]({}))


def test_a_request_under_another_name_is_the_same_otherwise() -> None:
    body = b'{"model":"a","messages":[{"content":"a"}]}'
    assert orjson.loads(under_name(body, "b")) == {**orjson.loads(body), "model": "b"}


def test_images_files_and_choices_are_counted() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}
    body = {"model": "m", "n": 3, "messages": [{"content": [image, image]}]}
    found = parse_request("chat", orjson.dumps(body))
    assert (found.images, found.choices, found.refers) == (2, 3, False)
    document = {"type": "document", "source": {"type": "url", "url": "https://x/y.pdf"}}
    body = {"model": "m", "max_tokens": 5, "messages": [{"content": [document]}]}
    assert parse_request("messages", orjson.dumps(body)).refers


@given(SHAPES, st.sampled_from(sorted(FAULTS)), st.text())
def test_errors_are_json_in_the_words_of_their_shape(shape: Shape, name: str, words: str) -> None:
    text = words.encode(errors="replace").decode()
    body = orjson.loads(error_body(shape, FAULTS[name], text))
    assert body["error"]["message"] == text
    assert (body.get("type") == "error") is (shape == "messages")
    event = error_event(shape, FAULTS[name], text)
    assert event.endswith(b"\n\n")
    assert event.count(b"\n\n") == 1


@pytest.mark.parametrize(
    ("fields", "most"),
    [
        ({"max_tokens": 5, "max_completion_tokens": 20_000}, 20_000),
        ({"max_tokens": 20_000, "max_completion_tokens": 5}, 20_000),
        ({"max_tokens": 5, "min_tokens": 900}, 900),
        ({"max_tokens": 5}, 5),
        ({}, None),
    ],
)
def test_of_two_limits_the_larger_is_held_because_servers_differ(
    fields: dict[str, int], most: int | None
) -> None:
    assert parse_request("chat", orjson.dumps({"model": "m", **fields})).max_tokens == most


def test_answers_that_a_server_makes_to_choose_from_are_held() -> None:
    assert parse_request("chat", orjson.dumps({"model": "m", "best_of": 50})).choices == 50


@pytest.mark.parametrize(
    "body",
    [
        b'{"model": "m", "max_tokens": 20000, "max_tokens": 5}',
        b'{"model": "m", "max_tokens": 20000, "max\\u005ftokens": 5}',
        b'{"model": "a", "model": "b"}',
        b'{"model": "m", "tools": [{"type": "web_search"}], "tools": []}',
    ],
)
def test_a_field_that_is_there_twice_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequest, match="there twice"):
        parse_request("chat", body)


def test_the_same_name_in_several_objects_is_nothing_twice() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "string"}, "model": {}}}
    tools = [{"type": "function", "function": {"name": "n", "parameters": schema}}]
    body = orjson.dumps({"model": "m", "n": 2, "tools": tools})
    assert parse_request("chat", body).choices == 2
