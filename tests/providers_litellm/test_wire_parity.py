"""The direct path sends what ``litellm.acompletion`` sends and reads what it reads.

Requests are compared after parsing, answers as replies, refusals by class. A litellm upgrade that
changes a provider fails here first; the remedy is to take that provider off ``CHECKED_PROVIDERS``:
it then goes through ``litellm.acompletion`` again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest
from aiohttp import web

from matrix.model.errors import ProviderError, ProviderTimeout
from matrix.model.records import Call, CallParams, ChatMessage, ToolCall
from matrix.providers.base import ProviderReply
from matrix.providers.litellm_adapter.direct import CHECKED_PROVIDERS
from matrix.providers.litellm_adapter.provider import LiteLLMProvider
from tests.providers_litellm.service import Seen, Service, call, chat, claude

_TABLE = """
anthropic/claude-opus-4-5 anthropic/claude-sonnet-4-5 anthropic/claude-3-haiku-20240307
cerebras/llama3.1-8b custom_openai/local dashscope/qwen-plus deepinfra/meta-llama/Llama-3.1-8B
deepseek/deepseek-chat deepseek/deepseek-reasoner
fireworks_ai/accounts/fireworks/models/llama-v3p1-70b-instruct groq/llama-3.3-70b-versatile
hosted_vllm/local lm_studio/local minimax/MiniMax-M2 mistral/mistral-large-latest
moonshot/kimi-k2.5 nebius/Qwen/Qwen3-32B nvidia_nim/meta/llama3-70b-instruct openai/gpt-4o
openai/gpt-5 openai/o3 openai/local openrouter/openai/gpt-4o perplexity/sonar
sambanova/Meta-Llama-3.1-8B-Instruct together_ai/meta-llama/Llama-3.3-70B-Instruct-Turbo
xai/grok-4 zai/glm-4.6
"""
TARGETS = _TABLE.split()
"""At least one model for each provider of the direct path."""

_CLIENT = """
host content-length accept accept-encoding connection user-agent http-referer x-title
x-pplx-integration
"""
OF_THE_CLIENT = frozenset(_CLIENT.split())
"""Headers that HTTP clients choose, and litellm's advertisements of itself."""

SCHEMA = orjson.dumps(
    {
        "type": "object",
        "properties": {"mood": {"type": "string"}, "score": {"type": "integer"}},
        "required": ["mood", "score"],
        "additionalProperties": False,
    }
).decode()
OPEN_SCHEMA = orjson.dumps({"type": "object", "properties": {"mood": {"type": "string"}}}).decode()

TOOLS = orjson.dumps(
    [
        {
            "name": "read",
            "description": "Read a file.",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string"}},
                "required": ["path"],
            },
        },
        {"name": "list", "description": "List all files.", "parameters": None},
    ]
).decode()


def tool_loop(carry: str = "") -> Call:
    """A call in whose history a tool was called, side by side with another."""
    asked = call("look", max_tokens=5_000, tools=TOOLS)
    calls = (ToolCall("call_1", "read", '{"path":"a"}'), ToolCall("call_2", "list", "{}"))
    said = ChatMessage("assistant", "", calls, carry=carry)
    results = [ChatMessage("tool", f"{c.name} done", tool_call_id=c.id) for c in calls]
    return replace(asked, messages=(*asked.messages, said, *results))


CALLS = {
    "plain": call("hi", "well met", "go on "),
    "warm": call("hi", temperature=0.7),
    "schema": call("Answer as JSON.", schema=SCHEMA, max_tokens=77),
    "open schema": call("Answer as JSON.", schema=OPEN_SCHEMA),
    "long system message": call("hi", system="You narrate. " * 400),
    "long history": call("hi", "once upon a time " * 400, "go on "),
    "tools": call("look", tools=TOOLS),
    "one tool": call("look", tools=TOOLS, tool_choice="read"),
    "any tool": call("look", tools=TOOLS, tool_choice="required"),
    "tool loop": tool_loop(),
    "effort": call("think", max_tokens=9_000, more='{"effort":"low"}'),
    "budget": call("think", max_tokens=9_000, more='{"thinking_tokens":2048}'),
    "parameters": call("hi", more='{"seed":4,"stop":["END"],"top_p":0.5}'),
    "passed on": call("hi", more='{"extra_body":{"repetition_penalty":1.1}}'),
    "every script": call("Grüße, 世界, 🎲 \u2028 end"),
}

ONLY_DIRECT = {
    ("passed on", "anthropic"),  # litellm sends a field called extra_body, which is refused
    ("budget", "zai"),  # the OpenAI client knows no parameter called thinking, and raises
}
"""Calls that ``litellm.acompletion`` cannot make."""

Make = Callable[..., LiteLLMProvider]


def sent(request: Seen) -> tuple[str, dict[str, str], Any]:
    """What matters of a request."""
    headers = {
        name: value
        for name, value in request.headers.items()
        if name not in OF_THE_CLIENT and not name.startswith("x-stainless")
    }
    return request.path, headers, request.body


async def outcome(
    provider: LiteLLMProvider, asked: Call
) -> ProviderReply | tuple[str, bool, float | None]:
    """The reply without its duration, or what kind of error it was.

    Headers are left out: litellm loses groq's.
    """
    try:
        return (await provider.complete(asked, 1))._replace(duration_s=0.0, headers={})
    except ProviderError as error:
        return type(error).__name__, error.unsent, error.retry_after_s


def test_every_provider_of_the_direct_path_is_compared() -> None:
    assert {target.partition("/")[0] for target in TARGETS} == CHECKED_PROVIDERS


@pytest.mark.parametrize("target", TARGETS)
async def test_both_ways_send_the_same_and_read_the_same(
    target: str, service: Service, providers: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", "k-123456")
    settings = {"api_key_env": "A_KEY"}
    direct = providers(target, **settings)
    through = providers(target, transport="litellm", **settings)
    for name, asked in CALLS.items():
        if (name, target.partition("/")[0]) in ONLY_DIRECT:
            continue
        service.seen.clear()
        replies = [await outcome(direct, asked), await outcome(through, asked)]
        assert replies[0] == replies[1], name
        assert len(service.seen) in (0, 2), "refused by both before sending, or sent by both"
        if service.seen:
            assert sent(service.seen[0]) == sent(service.seen[1]), name
        else:
            assert replies[0] == ("RequestRejected", True, None), name


async def test_both_ways_take_address_key_and_account_from_the_environment(
    service: Service, providers: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_BASE_URL", "DEEPSEEK_API_BASE", "XAI_API_BASE"):
        monkeypatch.setenv(name, service.base("openai/x"))
    monkeypatch.setenv("ANTHROPIC_API_BASE", service.base("anthropic/x"))
    for name in ("OPENAI", "DEEPSEEK", "XAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{name}_API_KEY", f"key-of-{name}")
    monkeypatch.setenv("OPENAI_ORGANIZATION", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    for target in ("openai/gpt-4o", "gpt-4o", "deepseek/deepseek-chat", "xai/grok-4",
                   "anthropic/claude-opus-4-5", "claude-opus-4-5"):  # fmt: skip
        service.seen.clear()
        for transport in ("direct", "litellm"):
            provider = providers(target, api_base=None, transport=transport)
            await provider.complete(CALLS["plain"], 1)
        assert sent(service.seen[0]) == sent(service.seen[1]), target
        key = service.seen[0].headers.get("authorization") or service.seen[0].headers["x-api-key"]
        assert "key-of-" in key


REFUSALS = [
    (400, {"error": {"message": "bad temperature", "type": "invalid_request_error"}}),
    (400, {"error": {"message": "This model's maximum context length is 8192 tokens."}}),
    (400, {"error": {"message": "bad prompt: rate limit 429", "type": "invalid_request_error"}}),
    (400, {"error": {"message": "x", "code": "content_policy_violation",
                     "type": "invalid_request_error"}}),
    (401, {"error": {"message": "Incorrect API key provided", "type": "invalid_request_error"}}),
    (403, {"error": {"message": "no access to this model"}}),
    (404, {"error": {"message": "The model does not exist", "code": "model_not_found"}}),
    (422, {"error": {"message": "unprocessable"}}),
    (429, {"error": {"message": "Rate limit reached", "type": "rate_limit_error"}}),
    (500, {"error": {"message": "The server had an error", "type": "server_error"}}),
    (500, {"error": {"message": "Rate limit: invalid_request_error in prompt"}}),
    (503, b"<html>upstream says: Request too large</html>"),
    (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
]  # fmt: skip


@pytest.mark.parametrize("target", ["openai/gpt-4o", "anthropic/claude-opus-4-5",
                                    "deepseek/deepseek-chat", "hosted_vllm/local"])  # fmt: skip
async def test_both_ways_find_the_same_error(
    target: str, service: Service, providers: Make
) -> None:
    direct, through = providers(target), providers(target, transport="litellm")
    for status, body in REFUSALS:
        service.says(body, status, retry_after="2")
        service.seen.clear()
        found = [await outcome(direct, CALLS["plain"]), await outcome(through, CALLS["plain"])]
        assert found[0] == found[1], (status, body)
        assert len(service.seen) == 2, "no retries below ours"
        if status == 429:
            assert found[0] == ("RateLimited", True, 2.0)
        if status >= 500:
            assert found[0] == ("ProviderUnavailable", False, 2.0)


ODDITIES: dict[str, Any] = {
    "no usage": chat(usage=None),
    "null content": chat(None),
    "cut short": chat("once upon", finish="length"),
    "filtered": chat("once", finish="content_filter"),
    "refused": chat(None, message={"refusal": "I cannot help with that."}),
    "unfolded reasoning": chat(
        usage={"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 40,
               "completion_tokens_details": {"reasoning_tokens": 25}}
    ),
    "no choices": chat(choices=[]),
    "tools called": chat(None, finish="tool_calls", message={"tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "read", "arguments": '{"path":"x"}'}},
        {"id": "b", "type": "function", "function": {"name": "list", "arguments": ""}},
    ]}),
    "tools called with words": chat("Let me look.", finish="tool_calls", message={"tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "read", "arguments": '{"pa'}},
    ]}),
    "reasoned": chat("42", message={"reasoning_content": "Six by nine."}),
    "reasoned only": chat("", finish="length", message={"reasoning_content": "Six by"}),
}  # fmt: skip


@pytest.mark.parametrize("oddity", ODDITIES)
async def test_both_ways_read_odd_answers_alike(
    oddity: str, service: Service, providers: Make
) -> None:
    service.says(ODDITIES[oddity])
    for target in ("openai/gpt-4o", "xai/grok-4", "hosted_vllm/local"):
        direct, through = providers(target), providers(target, transport="litellm")
        found = [await outcome(direct, CALLS["plain"]), await outcome(through, CALLS["plain"])]
        assert found[0] == found[1], target


async def test_both_ways_read_claudes_refusal_alike(service: Service, providers: Make) -> None:
    target = "anthropic/claude-opus-4-5"
    for body in (claude("", stop="refusal"), claude("once", stop="max_tokens")):
        service.says(body)
        direct, through = providers(target), providers(target, transport="litellm")
        assert await outcome(direct, CALLS["plain"]) == await outcome(through, CALLS["plain"])


THOUGHT = {"type": "thinking", "thinking": "I should read it.", "signature": "c2lnbmVk"}
USED = {"type": "tool_use", "id": "call_1", "name": "read", "input": {"path": "a"}}


async def test_what_claude_signed_goes_back_to_claude_alone(
    service: Service, providers: Make
) -> None:
    target = "anthropic/claude-opus-4-5"
    service.says(claude(stop="tool_use", content=[THOUGHT, USED]))
    asked = call("look", max_tokens=5_000, tools=TOOLS, more='{"effort":"low"}')
    found = [
        await outcome(providers(target, transport=way), asked) for way in ("direct", "litellm")
    ]
    assert found[0] == found[1]
    reply = found[0]
    assert isinstance(reply, ProviderReply)
    assert (reply.text, reply.reasoning, reply.finish_reason) == (
        "",
        "I should read it.",
        "tool_calls",
    )
    assert reply.tool_calls == (ToolCall("call_1", "read", '{"path": "a"}'),)
    again = replace(
        asked,
        messages=(
            *asked.messages,
            ChatMessage("assistant", reply.text, reply.tool_calls, carry=reply.carry),
            ChatMessage("tool", "what a says", tool_call_id="call_1"),
        ),
    )
    service.seen.clear()
    for way in ("direct", "litellm"):
        await providers(target, transport=way).complete(again, 1)
    service.says(chat())
    await providers("openai/gpt-4o").complete(replace(again, params=CallParams(tools=TOOLS)), 1)
    for seen in service.seen[:2]:
        blocks = seen.body["messages"][-2]["content"]
        assert blocks[0] == THOUGHT, "signed reasoning comes before the call that it led to"
        assert blocks[1]["id"] == "call_1"
    assert "c2lnbmVk" not in str(service.seen[2].body)


async def test_reasoning_goes_back_where_it_is_demanded_and_nowhere_else(
    service: Service, providers: Make
) -> None:
    body = chat(None, finish="tool_calls", message={
        "reasoning_content": "Six by nine.",
        "tool_calls": ODDITIES["tools called"]["choices"][0]["message"]["tool_calls"],
    })  # fmt: skip
    service.says(body)
    for target, requested in (("deepseek/deepseek-chat", True), ("openai/gpt-4o", False)):
        provider = providers(target)
        reply = await provider.complete(call("look", tools=TOOLS), 1)
        assert reply.reasoning == "Six by nine."
        said = ChatMessage("assistant", "", reply.tool_calls, carry=reply.carry)
        asked = call("look", tools=TOOLS)
        service.seen.clear()
        await provider.complete(replace(asked, messages=(*asked.messages, said)), 1)
        assert ("Six by nine." in str(service.seen[0].body)) is requested


@pytest.mark.parametrize("way", ["direct", "litellm"])
async def test_a_call_waits_as_long_as_its_own_limit_says(
    way: str, service: Service, providers: Make
) -> None:
    async def never(request: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    service.answer = never
    provider = providers(transport=way, timeout_s=3_600.0)
    with pytest.raises(ProviderTimeout):
        await provider.complete(replace(call("hi"), timeout_s=0.2), 1)
