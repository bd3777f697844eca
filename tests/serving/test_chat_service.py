"""What the server answers, without sockets."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from matrix.judging.request import Part, judge_request, judge_system, verdict_schema
from matrix.judging.rubric import Criterion, Rubric
from matrix.kinds.playtest.setup import prompts
from matrix.model.records import Call, CallKey, CallParams, ChatMessage
from matrix.providers.simulated.language.schemas import conforms
from matrix.providers.simulated.provider import SimulatedProvider
from matrix.providers.simulated.settings import SimulationSettings
from matrix.serving.faults import FAULTS
from matrix.serving.writing import ECHO_TEXT
from tests.serving.asking import USER, Desk, request_body

RUBRIC = Rubric(
    "Judge it.",
    (Criterion("coherence", "Does it hang together?"), Criterion("pacing", "Pace?")),
)
JUDGING = [
    {"role": "system", "content": judge_system(RUBRIC)},
    {"role": "user", "content": judge_request([Part("Transcript", "Narrator: It is locked.")])},
]
EFFECT = {"factor": "prompt", "level": "b", "trait": "judge_bias", "add": 4.0}
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
            "required": ["city", "days"],
        },
    },
}
CLOCK = {"type": "function", "function": {"name": "get_time"}}
NAMED = {"type": "function", "function": {"name": "get_time"}}


async def _no_sleep(seconds: float) -> None:
    raise AssertionError(seconds)


def test_a_served_model_says_what_the_same_call_gets_in_process() -> None:
    system = prompts.narrator_system("Tell the story.", "Shadow Bay", "Shadow Bay\n\nA harbour.")
    messages = (ChatMessage("system", system), ChatMessage("user", prompts.opening_request(3)))
    call = Call(CallKey("s", "turn", 1, "0"), "", 0, "narrator", "m", messages,
                CallParams(700), 42, {})  # fmt: skip
    reply = SimulatedProvider(SimulationSettings(), _no_sleep).reply_to(call)
    sent = [{"role": said.role, "content": said.content} for said in messages]
    answer = Desk().json(request_body(messages=sent, seed=42, max_tokens=700))
    assert reply.usage is not None
    assert answer["choices"][0]["message"]["content"] == reply.text
    assert answer["usage"]["prompt_tokens"] == reply.usage.input
    assert answer["usage"]["completion_tokens"] == reply.usage.output


def test_an_answer_depends_on_the_request_and_not_on_what_came_before() -> None:
    desk = Desk()
    bodies = [request_body(messages=[{"role": "user", "content": str(i)}]) for i in range(20)]
    first = [desk.text(body) for body in bodies]
    assert [Desk().text(body) for body in reversed(bodies)] == first[::-1]
    assert len(set(first)) > 1


def test_the_seed_decides_alone_where_there_is_one() -> None:
    texts = {Desk().text(request_body(seed=seed, temperature=t)) for seed in (3,) for t in (0, 1)}
    assert len(texts) == 1
    assert len({Desk().text(request_body(seed=seed)) for seed in range(20)}) > 1


def test_the_first_of_several_choices_is_the_only_one_of_one() -> None:
    one, many = Desk().json(request_body(seed=1)), Desk().json(request_body(seed=1, n=12))
    assert many["choices"][0] == one["choices"][0]
    assert [choice["index"] for choice in many["choices"]] == list(range(12))
    assert len({choice["message"]["content"] for choice in many["choices"]}) > 1
    assert many["usage"]["prompt_tokens"] == one["usage"]["prompt_tokens"]
    assert many["usage"]["completion_tokens"] > one["usage"]["completion_tokens"]


@pytest.mark.parametrize("where", ["header", "metadata", "metadata text"])
def test_a_planted_effect_follows_the_cell(where: str) -> None:
    desk = Desk(simulation={"effects": [EFFECT], "traits": {"judge_noise": 0.0}})
    cell: Any = {"prompt": "b"}
    headers = {"X-Matrix-Cell": orjson.dumps(cell).decode()} if where == "header" else {}
    body = request_body(messages=JUDGING)
    plain = orjson.loads(desk.text(body))
    if where != "header":
        cell = cell if where == "metadata" else orjson.dumps(cell).decode()
        body |= {"metadata": {"matrix_cell": cell}}
    shifted = orjson.loads(desk.text(body, headers))
    assert plain["pacing"] < shifted["pacing"] == 5.0


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("model", ["echo", "sim-gpt"])
def test_no_answer_is_longer_than_its_bound(name: str, model: str) -> None:
    answer = Desk().json(request_body(model=model) | {name: 3})
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] == 3
    assert 0 < len(answer["choices"][0]["message"]["content"]) <= 12


def test_an_answer_ends_before_a_stop_text() -> None:
    answer = Desk().json(request_body(model="echo", stop=["nowhere", " answer"]))
    assert answer["choices"][0]["message"]["content"] == ECHO_TEXT.partition(" answer")[0]
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["usage"]["completion_tokens"] < len(ECHO_TEXT) / 4


def test_a_schema_is_followed_even_where_a_role_would_write_something_else() -> None:
    other = {"type": "object", "properties": {"mood": {"enum": ["calm"]}}, "required": ["mood"]}
    for messages in (USER, JUDGING):
        for schema in (other, verdict_schema(RUBRIC)):
            held = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
            text = Desk().text(request_body(messages=messages, response_format=held))
            assert conforms(orjson.loads(text), schema, schema)


def test_a_role_that_follows_the_schema_anyway_says_what_it_says_without() -> None:
    held = {"type": "json_schema", "json_schema": {"schema": verdict_schema(RUBRIC)}}
    body = request_body(messages=JUDGING, seed=5)
    assert Desk().text(body | {"response_format": held}) == Desk().text(body)


def test_a_json_object_is_one() -> None:
    text = Desk().text(request_body(response_format={"type": "json_object"}))
    assert isinstance(orjson.loads(text), dict)


@pytest.mark.parametrize(
    ("choice", "allowed", "finish"),
    [("required", {"get_weather", "get_time"}, "tool_calls"), (NAMED, {"get_time"}, "stop")],
)
def test_a_forced_tool_is_called_with_arguments_of_its_schema(
    choice: Any, allowed: set[str], finish: str
) -> None:
    called = set()
    for seed in range(20):
        body = request_body(tools=[WEATHER, CLOCK], tool_choice=choice, seed=seed)
        said = Desk().json(body)["choices"][0]
        (call,) = said["message"]["tool_calls"]
        assert (said["finish_reason"], said["message"]["content"]) == (finish, None)
        called.add(call["function"]["name"])
        if call["function"]["name"] == "get_weather":
            schema = WEATHER["function"]["parameters"]  # type: ignore[index]
            assert conforms(orjson.loads(call["function"]["arguments"]), schema, schema)
    assert called == allowed


@pytest.mark.parametrize("choice", [None, "auto", "none"])
def test_a_tool_that_is_not_forced_is_not_called(choice: str | None) -> None:
    message = Desk().json(request_body(tools=[CLOCK], tool_choice=choice))["choices"][0]["message"]
    assert message["content"]
    assert "tool_calls" not in message


def test_a_stream_adds_up_to_the_answer() -> None:
    body = request_body(seed=4, n=2, stream_options={"include_usage": True})
    whole, events = Desk().json(body), Desk().events(body)
    texts, finishes = ["", ""], ["", ""]
    for event in events[:-1]:
        assert event["usage"] is None
        (choice,) = event["choices"]
        texts[choice["index"]] += choice["delta"].get("content") or ""
        finishes[choice["index"]] += choice["finish_reason"] or ""
    assert texts == [choice["message"]["content"] for choice in whole["choices"]]
    assert finishes == ["stop", "stop"]
    assert events[-1]["choices"] == []
    assert events[-1]["usage"] == whole["usage"]


def test_a_stream_tells_its_usage_only_if_asked() -> None:
    assert all("usage" not in event for event in Desk().events(request_body()))


def test_a_streamed_tool_call_adds_up() -> None:
    body = request_body(tools=[WEATHER], tool_choice="required")
    (whole,) = Desk().json(body)["choices"][0]["message"]["tool_calls"]
    deltas = [event["choices"][0]["delta"] for event in Desk().events(body)]
    parts = [part for delta in deltas for part in delta.get("tool_calls", ())]
    assert (parts[0]["id"], parts[0]["function"]["name"]) == (whole["id"], "get_weather")
    assert "".join(p["function"]["arguments"] for p in parts) == whole["function"]["arguments"]


def test_a_stream_in_real_time_is_paced_and_a_body_is_late() -> None:
    stream = Desk(real_time=True).ask(request_body(stream=True))
    body = Desk(real_time=True, latency_ms=50).ask(request_body())
    assert stream.delay_s == 0
    assert stream.pace_s > 0
    assert body.delay_s == pytest.approx(0.05 + stream.pace_s * len(stream.parts))
    assert Desk(latency_ms=50).ask(request_body()).delay_s == 0.05


def test_rarer_messages_are_read() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "See:"}, {"type": "image_url"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "42"},
    ]
    assert Desk().ask(request_body(messages=messages)).status == 200


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": None}, "model"),
        ({"model": 3}, "model"),
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": ["hi"]}, "messages[0]"),
        ({"messages": [{"role": "king", "content": "hi"}]}, "messages[0].role"),
        ({"messages": [{"role": [], "content": "hi"}]}, "messages[0].role"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0].text"),  # noqa: E501
        ({"messages": [{"role": "user", "content": [3]}]}, "messages[0].content[0]"),
        ({"n": 0}, "n"),
        ({"n": True}, "n"),
        ({"n": 129}, "n"),
        ({"seed": 1.5}, "seed"),
        ({"seed": 10**19}, "seed"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_completion_tokens": "9"}, "max_completion_tokens"),
        ({"temperature": 2.1}, "temperature"),
        ({"stop": [""]}, "stop"),
        ({"stop": ["a"] * 5}, "stop"),
        ({"stream": 1}, "stream"),
        ({"stream_options": []}, "stream_options"),
        ({"response_format": "json"}, "response_format"),
        ({"response_format": {"type": "xml"}}, "response_format"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        ({"tools": []}, "tools"),
        ({"tools": [{"type": "function"}]}, "tools[0]"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function.name"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tools": [CLOCK], "tool_choice": "sometimes"}, "tool_choice"),
        ({"tools": [CLOCK], "tool_choice": {"function": {"name": "f"}}}, "tool_choice"),
        ({"metadata": {"matrix_cell": "{"}}, "X-Matrix-Cell"),
        ({"metadata": {"matrix_cell": {"prompt": []}}}, "X-Matrix-Cell"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named_in_a_400(fields: dict[str, Any], param: str) -> None:
    desk = Desk()
    outcome = desk.ask(request_body(**fields))
    error = orjson.loads(outcome.parts[0])["error"]
    assert (outcome.status, error["type"]) == (400, "invalid_request_error")
    assert error["param"] == param
    assert param in error["message"]
    assert desk.service.stats.accepted == 0


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'"\\ud800"', b"\xff", b"{" * 5000, b'{"a":' * 600],
)
def test_a_body_that_is_no_object_is_a_400(body: bytes) -> None:
    assert Desk().ask(body).status == 400


def test_what_nests_too_deeply_is_a_400() -> None:
    deep = b'{"a":' * 400 + b"1" + b"}" * 400
    held = b'{"type":"json_schema","json_schema":{"schema":{"x":' + deep + b"}}}"
    body = b'{"model":"m","messages":[{"role":"user","content":"x"}],"response_format":%s}'
    assert Desk().ask(body % held).status == 400


def test_a_schema_that_cannot_be_followed_is_a_400_with_the_reason() -> None:
    held = {"type": "json_schema", "json_schema": {"schema": {"$ref": "#/nowhere"}}}
    outcome = Desk().ask(request_body(response_format=held))
    assert outcome.status == 400
    assert "#/nowhere" in orjson.loads(outcome.parts[0])["error"]["message"]


def test_only_named_models_are_served_unless_any_is() -> None:
    desk = Desk(models=["echo"])
    assert desk.ask(request_body(model="echo")).status == 200
    assert desk.ask(request_body(model="gpt-4o")).status == 404
    assert Desk().ask(request_body(model="gpt-4o")).status == 200


def test_without_the_key_nothing_is_read() -> None:
    desk = Desk(api_key="secret")
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "secret"}):
        outcome = desk.ask(b"{", headers)
        assert outcome.status == 401
        assert b"secret" not in outcome.parts[0]
    assert desk.ask(headers={"Authorization": "Bearer secret"}).status == 200


def test_every_fault_is_told_apart_from_a_good_answer() -> None:
    good = Desk().ask(request_body())
    for name in set(FAULTS) - {"ok"}:
        outcome = Desk().ask(request_body(), {"X-Matrix-Fault": name})
        assert outcome != good, name
