"""What is asked of llama.cpp for a call, and what its answers mean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson
import pytest

from matrix.model.errors import (
    ContextOverflow,
    MalformedAnswer,
    ProviderUnavailable,
    RequestRejected,
)
from matrix.model.records import CallParams, Usage
from matrix.providers.local.answers import LocalAnswer, StreamReader, error_of, refusal, usage_of
from matrix.providers.local.asking import SCHEMA_TEMPERATURE, TEMPERATURE, chat_body, seed_for
from tests.providers_local.calls import system, user


def body(cache: bool = True, **params: Any) -> dict[str, Any]:
    return chat_body([system("be"), user("hello")], CallParams(**params), 7, cache=cache)


def event(**fields: Any) -> bytes:
    return b"data: " + orjson.dumps(fields) + b"\n"


def delta(text: str | None = None, finish: str | None = None) -> bytes:
    said = {"content": text} if text is not None else {}
    return event(choices=[{"index": 0, "delta": said, "finish_reason": finish}])


USAGE = event(
    choices=[],
    usage={
        "prompt_tokens": 20,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 12},
    },
)
DONE = b"data: [DONE]\n"


def test_a_call_is_asked_as_it_was_meant() -> None:
    asked = body(max_tokens=33, temperature=0.1)
    assert asked["messages"] == [
        {"role": "system", "content": "be"},
        {"role": "user", "content": "hello"},
    ]
    assert (asked["max_tokens"], asked["temperature"], asked["seed"]) == (33, 0.1, 7)
    assert asked["stream"] is True
    assert body(cache=False)["cache_prompt"] is False


def test_free_text_is_warm_and_repeats_little_and_labels_are_neither() -> None:
    text, label = body(), body(schema='{"type":"boolean"}')
    assert (text["temperature"], label["temperature"]) == (TEMPERATURE, SCHEMA_TEMPERATURE)
    assert text["repeat_penalty"] > 1
    assert "repeat_penalty" not in label


def test_a_schema_becomes_a_grammar_or_is_handed_on() -> None:
    assert body(schema='{"type":"boolean"}')["grammar"] == 'root ::= ("true" | "false")\n'
    handed_on = body(schema='{"type":"string","pattern":"^a$"}')
    assert "grammar" not in handed_on
    assert handed_on["response_format"]["json_schema"]["schema"]["pattern"] == "^a$"
    assert not {"grammar", "response_format"} & body().keys()


def test_seeds_are_32_bits_never_the_random_one_and_new_for_every_attempt() -> None:
    assert seed_for(2**63 + 5, 1) == 5
    assert seed_for(5, 2) != seed_for(5, 1)
    assert seed_for(2**32 - 1, 1) != 2**32 - 1
    assert 0 <= seed_for(-3, 1) < 2**32


def read_stream(lines: Iterable[bytes], name: str) -> LocalAnswer:
    """The answer in the lines of an event stream."""
    reader = StreamReader(name)
    for line in lines:
        reader.read(line)
    return reader.finish()


def test_a_stream_is_put_together() -> None:
    lines = [delta(None), b"\n", b": ping\n", delta("Hel"), delta("lo"), delta(finish="stop")]
    assert read_stream([*lines, USAGE, DONE], "m") == LocalAnswer("Hello", "stop", Usage(20, 3, 12))


def test_usage_that_is_not_reported_is_none_and_not_zero() -> None:
    assert read_stream([delta("Hi", "length"), DONE], "m") == LocalAnswer("Hi", "length", None)
    assert usage_of({"prompt_tokens": 3}) is None
    assert usage_of({"prompt_tokens": "3", "completion_tokens": 1}) is None


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [delta("cut")],
        [delta(" \n", "stop")],
        [b"data: {\n"],
        [b"data: [1]\n"],
        [b"<html>\n"],
    ],
)
def test_an_answer_that_is_cut_off_empty_or_no_answer_is_malformed(lines: list[bytes]) -> None:
    with pytest.raises(MalformedAnswer, match="m: "):
        read_stream(lines, "m")


@pytest.mark.parametrize("prefix", [b"data: ", b"error: "])
def test_an_error_in_the_middle_of_a_stream_is_one(prefix: bytes) -> None:
    raw = b'{"error":{"code":500,"message":"out of cache"}}\n'
    with pytest.raises(ProviderUnavailable, match="out of cache"):
        read_stream([delta("Hel"), prefix + raw], "m")


def test_errors_are_translated_by_what_can_be_done_about_them() -> None:
    too_long = {"code": 400, "type": "exceed_context_size_error", "message": "too long"}
    assert isinstance(error_of(too_long, "m"), ContextOverflow)
    assert isinstance(error_of({"code": 400, "message": "bad"}, "m"), RequestRejected)
    assert isinstance(error_of({"code": 503, "message": "busy"}, "m"), ProviderUnavailable)
    assert isinstance(error_of({}, "m"), ProviderUnavailable)
    assert isinstance(refusal(404, b"not found", "m"), RequestRejected)
    assert isinstance(refusal(500, b'{"error": 3}', "m"), ProviderUnavailable)


def test_parameters_that_a_spec_may_give_a_local_model_are_sent() -> None:
    asked = body(more='{"stop":["END"],"top_k":7,"top_p":0.5}')
    assert (asked["stop"], asked["top_k"], asked["top_p"]) == (["END"], 7, 0.5)
    assert "stop" not in body()
