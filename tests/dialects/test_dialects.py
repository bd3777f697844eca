"""Shapes of requests and answers: what is read of them, and that nothing in them can break it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, get_args

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.dialects.answers import reported, without_usage_event
from matrix.dialects.requests import BadRequest, telling_usage, under_name, wanted
from matrix.dialects.shapes import FAULTS, error_body, error_event
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
        found = wanted(shape, orjson.dumps(data))
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
    for end in range(len(events)):
        assert not reported(OF_PATH[path], b"".join(events[:end]), stream=True).whole


def test_the_dear_side_of_a_report_that_contradicts_itself_counts() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 90,
             "completion_tokens_details": {"reasoning_tokens": 40}}  # fmt: skip
    found = reported("chat", orjson.dumps({"usage": usage}), stream=False)
    assert found.usage == Usage(5, 85, 0, 0, 40)


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
    found = wanted("chat", orjson.dumps(body))
    assert (found.images, found.choices, found.refers) == (2, 3, False)
    document = {"type": "document", "source": {"type": "url", "url": "https://x/y.pdf"}}
    body = {"model": "m", "max_tokens": 5, "messages": [{"content": [document]}]}
    assert wanted("messages", orjson.dumps(body)).refers


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
    assert wanted("chat", orjson.dumps({"model": "m", **fields})).max_tokens == most


def test_answers_that_a_server_makes_to_choose_from_are_held() -> None:
    assert wanted("chat", orjson.dumps({"model": "m", "best_of": 50})).choices == 50


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
        wanted("chat", body)


def test_the_same_name_in_several_objects_is_nothing_twice() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "string"}, "model": {}}}
    tools = [{"type": "function", "function": {"name": "n", "parameters": schema}}]
    body = orjson.dumps({"model": "m", "n": 2, "tools": tools})
    assert wanted("chat", body).choices == 2
