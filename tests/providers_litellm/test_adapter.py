"""What a provider promises, over loopback: replies, clocks, limits, caching marks, secrets."""

from __future__ import annotations

import asyncio
import gzip
import os
import pickle
import socket
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from aiohttp import web

from matrix.model.errors import (
    AuthenticationFailed,
    ContentRefused,
    MalformedAnswer,
    ProviderError,
    ProviderTimeout,
    RateLimited,
    RequestRejected,
    Unreachable,
)
from matrix.model.records import Usage
from matrix.providers.litellm_adapter.asking import CACHED_FROM_CHARS
from matrix.providers.litellm_adapter.connections import LONGEST_ANSWER
from matrix.providers.litellm_adapter.errors import AnswerTooLarge
from matrix.providers.litellm_adapter.provider import LiteLLMProvider
from matrix.providers.litellm_adapter.settings import LiteLLMSettings, ModelSettings
from tests.providers_litellm.service import (
    CLAUDE_USAGE,
    OPENAI_USAGE,
    Service,
    call,
    chat,
    claude,
)

Make = Callable[..., LiteLLMProvider]
BOTH = pytest.mark.parametrize("transport", ["direct", "litellm"])


def test_settings_and_tables_cost_no_import_of_litellm() -> None:
    script = (
        "import sys\n"
        "import matrix.providers.litellm_adapter.settings\n"
        "import matrix.providers.litellm_adapter.provider\n"
        "assert 'litellm' not in sys.modules and 'openai' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_settings_are_picklable_and_carry_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "very-secret")
    settings = LiteLLMSettings({"m": ModelSettings("openai/gpt-4o", api_key_env="A_KEY")})
    pickled = pickle.dumps(settings)
    assert pickle.loads(pickled) == settings
    assert b"very-secret" not in pickled


@pytest.mark.slow
@BOTH
async def test_a_reply_carries_text_usage_ending_and_limits(
    transport: str, service: Service, providers: Make
) -> None:
    service.headers = {"X-RateLimit-Remaining-Tokens": "7", "set-cookie": "a=b", "x-id": "1"}
    reply = await providers(transport=transport).complete(call("hi"), 1)
    assert reply.text == "hello"
    assert reply.usage == Usage(input=100, output=40, cached=20, reasoning=5)
    assert reply.finish_reason == "stop"
    assert dict(reply.headers) == {"x-ratelimit-remaining-tokens": "7"}


@pytest.mark.slow
@BOTH
async def test_claudes_usage_counts_cached_and_written_tokens_as_input(
    transport: str, providers: Make
) -> None:
    provider = providers("anthropic/claude-opus-4-5", transport=transport)
    reply = await provider.complete(call("hi"), 1)
    assert reply.usage == Usage(input=100, output=40, cached=20, cache_write=10)


async def test_the_clock_is_the_injected_one_and_starts_when_a_connection_is_free(
    service: Service, providers: Make
) -> None:
    now = 0.0

    async def slow(request: web.Request) -> web.StreamResponse:
        nonlocal now
        now += 5
        return web.json_response(chat())

    service.answer = slow
    provider = providers(clock=lambda: now, connections=1)
    replies = await asyncio.gather(*(provider.complete(call(str(n)), 1) for n in range(3)))
    assert [reply.duration_s for reply in replies] == [5.0, 5.0, 5.0]


async def test_requests_in_flight_reach_the_limit_and_never_exceed_it(
    service: Service, providers: Make
) -> None:
    most = inside = 0
    full = asyncio.Event()

    async def busy(request: web.Request) -> web.StreamResponse:
        nonlocal most, inside
        inside += 1
        most = max(most, inside)
        if inside == 60:
            full.set()
        await full.wait()
        inside -= 1
        return web.json_response(chat())

    service.answer = busy
    provider = providers(connections=60)
    await asyncio.gather(*(provider.complete(call(str(n)), 1) for n in range(200)))
    assert most == 60


@BOTH
async def test_no_answer_in_time_is_a_time_out_that_may_have_cost_money(
    transport: str, service: Service, providers: Make
) -> None:
    release = asyncio.Event()

    async def never(request: web.Request) -> web.StreamResponse:
        await release.wait()
        return web.json_response(chat())

    service.answer = never
    with pytest.raises(ProviderTimeout) as caught:
        await providers(transport=transport, timeout_s=0.05).complete(call("hi"), 1)
    release.set()
    assert not caught.value.unsent


@BOTH
async def test_a_closed_port_is_unreachable_and_releases_the_money(
    transport: str, providers: Make
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
    with pytest.raises(Unreachable) as caught:
        await providers(transport=transport, api_base=base).complete(call("hi"), 1)
    assert caught.value.unsent


@BOTH
async def test_a_broken_connection_may_have_cost_money(
    transport: str, service: Service, providers: Make
) -> None:
    async def hang_up(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    service.answer = hang_up
    with pytest.raises(ProviderError) as caught:
        await providers(transport=transport).complete(call("hi"), 1)
    assert caught.value.retryable
    assert not caught.value.unsent
    assert len(service.seen) == 1, "not sent twice below our own retries"


async def test_cancelling_is_not_an_error_of_the_provider(
    service: Service, providers: Make
) -> None:
    arrived = asyncio.Event()

    async def never(request: web.Request) -> web.StreamResponse:
        arrived.set()
        await asyncio.sleep(30)
        return web.Response()

    service.answer = never
    asking = asyncio.create_task(providers().complete(call("hi"), 1))
    await arrived.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_waits_given_as_a_date_are_measured_on_the_injected_clock(
    service: Service, providers: Make
) -> None:
    service.says({"error": "slow"}, 429, retry_after="Thu, 01 Jan 1970 00:01:00 GMT")
    with pytest.raises(RateLimited) as caught:
        await providers(wall=lambda: 45.0).complete(call("hi"), 1)
    assert caught.value.retry_after_s == 15


async def test_redirects_are_refused_and_carry_no_key_on(service: Service, providers: Make) -> None:
    service.says(b"", 307, location="http://127.0.0.1:1/elsewhere")
    told = "redirected to another machine, .*, which was sent nothing; if that is meant, give it"
    with pytest.raises(RequestRejected, match=told):
        await providers().complete(call("hi"), 1)
    service.says(b"", 307, location="/v2/chat")
    with pytest.raises(RequestRejected, match="redirected to /v2/chat; give that address"):
        await providers().complete(call("hi"), 1)


async def test_compressed_answers_are_read(service: Service, providers: Make) -> None:
    service.says(gzip.compress(orjson.dumps(chat("squeezed"))), content_encoding="gzip")
    assert (await providers().complete(call("hi"), 1)).text == "squeezed"


@BOTH
async def test_half_characters_are_replaced_on_the_way_out_and_in(
    transport: str, service: Service, providers: Make
) -> None:
    service.says(b'{"choices": [{"index": 0, "finish_reason": "stop", "message": '
                 b'{"role": "assistant", "content": "broken \\ud83d off"}}], "created": 1, '
                 b'"id": "x", "object": "chat.completion", "model": "m"}')  # fmt: skip
    reply = await providers(transport=transport).complete(call("half \ud83d", "whole 🎲"), 1)
    assert reply.text == "broken ? off"
    texts = [message["content"] for message in service.seen[-1].body["messages"]]
    assert texts[1:] == ["half ?", "whole 🎲"]


# --- refusals and empty answers ------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        chat("once", finish="content_filter"),
        chat(None, message={"refusal": "I cannot help with that."}),
    ],
)
async def test_a_refusal_in_an_answer_is_final_and_paid_for(
    body: Any, service: Service, providers: Make
) -> None:
    service.says(body)
    with pytest.raises(ContentRefused) as caught:
        await providers().complete(call("hi"), 1)
    assert not caught.value.unsent
    assert not caught.value.retryable


async def test_a_refusal_of_claudes_is_one_too(service: Service, providers: Make) -> None:
    service.says(claude("", stop="refusal"))
    with pytest.raises(ContentRefused):
        await providers("anthropic/claude-opus-4-5").complete(call("hi"), 1)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (chat(""), "without text"),
        (chat("  \n"), "without text"),
        (chat(None), "without text"),
        (chat("", finish="length"), "max_tokens was used up"),
        (chat(choices=[]), "without choices|cannot read"),
        (b"<html>", "cannot read"),
        (b"", "cannot read"),
        ({"error": {"message": "in a 200"}}, "cannot read"),
    ],
)
async def test_an_answer_without_text_is_malformed_and_says_why(
    body: Any, reason: str, service: Service, providers: Make
) -> None:
    service.says(body)
    with pytest.raises(MalformedAnswer, match=reason):
        await providers().complete(call("hi"), 1)


BILLED = Usage(100, 40, cached=20, reasoning=5)


@BOTH
@pytest.mark.parametrize(
    "body",
    [
        chat("once", finish="content_filter"),
        chat(None, message={"refusal": "I cannot help with that."}),
        chat(""),
        chat(None, finish="length"),
        chat(choices=[]),
    ],
)
async def test_what_was_billed_without_an_answer_is_known(
    body: Any, transport: str, service: Service, providers: Make
) -> None:
    provider = providers(transport=transport)
    service.says(body)
    with pytest.raises(ProviderError) as caught:
        await provider.complete(call("hi"), 1)
    assert caught.value.usage == BILLED
    service.says({**body, "usage": None})
    with pytest.raises(ProviderError) as caught:
        await provider.complete(call("hi"), 1)
    assert caught.value.usage is None
    assert not caught.value.unsent


async def test_a_refusal_of_claudes_says_what_was_billed(service: Service, providers: Make) -> None:
    service.says(claude("", stop="refusal"))
    with pytest.raises(ContentRefused) as caught:
        await providers("anthropic/claude-opus-4-5").complete(call("hi"), 1)
    assert caught.value.usage == Usage(100, 40, cached=20, cache_write=10)


@pytest.mark.parametrize(
    ("body", "billed"),
    [
        (chat(choices=None), BILLED),
        (chat(message={"content": [{"type": "text", "text": "hi"}]}), BILLED),
        ({"error": {"message": "in a 200"}, "usage": {**OPENAI_USAGE, "prompt_tokens": -1}}, None),
        ({"usage": OPENAI_USAGE}, BILLED),
        ({"usage": "lots"}, None),
        (["no", "object"], None),
        (b"{" * 100_000, None),
        (b"[" * 100_000, None),
        (orjson.dumps(chat())[:-40], None),
    ],
)
async def test_an_answer_that_cannot_be_read_may_still_say_what_was_billed(
    body: Any, billed: Usage | None, service: Service, providers: Make
) -> None:
    service.says(body)
    with pytest.raises(MalformedAnswer, match="cannot read") as caught:
        await providers().complete(call("hi"), 1)
    assert caught.value.usage == billed
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize(
    "usage", ["lots", [1, 2], {"prompt_tokens": "many"}, {**OPENAI_USAGE, "prompt_tokens": 0.5}]
)
async def test_a_good_answer_is_not_lost_for_a_usage_that_makes_no_sense(
    usage: Any, service: Service, providers: Make
) -> None:
    service.says(chat("well said", usage=usage))
    for target in ("openai/gpt-4o", "hosted_vllm/local", "xai/grok-4"):
        reply = await providers(target).complete(call("hi"), 1)
        assert (reply.text, reply.usage) == ("well said", None), target


@BOTH
@pytest.mark.parametrize("code", [None, 400, 401, 429, 500, "rate_limit"])
async def test_an_error_inside_a_good_answer_proves_nothing_about_its_cost(
    code: Any, transport: str, service: Service, providers: Make
) -> None:
    """litellm gives it a status of its own choice, and some of those would release the hold."""
    service.says({"error": {"message": "upstream failed", "code": code}})
    for target in ("openai/gpt-4o", "hosted_vllm/local"):
        with pytest.raises(MalformedAnswer) as caught:
            await providers(target, transport=transport).complete(call("hi"), 1)
        assert (caught.value.retryable, caught.value.unsent) == (True, False)


@BOTH
@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}]
)
async def test_a_missing_usage_is_none_and_never_zero(
    usage: Any, transport: str, service: Service, providers: Make
) -> None:
    service.says(chat(usage=usage))
    reply = await providers(transport=transport).complete(call("hi"), 1)
    assert reply.usage is None


async def test_usage_that_contradicts_itself_is_read_on_the_dear_side(
    service: Service, providers: Make
) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 40,
             "prompt_tokens_details": {"cached_tokens": 12},
             "completion_tokens_details": {"reasoning_tokens": 25}}  # fmt: skip
    service.says(chat(usage=usage))
    reply = await providers("hosted_vllm/local").complete(call("hi"), 1)
    assert reply.usage == Usage(input=12, output=28, cached=12, reasoning=25)


# --- what is asked -------------------------------------------------------------------------------

STRICT = '{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}'  # noqa: E501
OPEN = '{"type":"object","properties":{"a":{"type":"object"}}}'


async def asked(service: Service, provider: LiteLLMProvider, **params: Any) -> Any:
    await provider.complete(call("Answer as JSON.", **params), 1)
    return service.seen[-1].body


async def test_limits_are_always_explicit(service: Service, providers: Make) -> None:
    body = await asked(service, providers(), max_tokens=33)
    assert body["max_tokens"] == 33
    assert "temperature" not in body
    body = await asked(service, providers("openai/o3"), max_tokens=33)
    assert body["max_completion_tokens"] == 33, "under the name that the model takes"


async def test_a_schema_is_sent_where_the_model_takes_one(
    service: Service, providers: Make
) -> None:
    shape = (await asked(service, providers(), schema=STRICT))["response_format"]
    assert shape["json_schema"]["schema"] == orjson.loads(STRICT)
    assert shape["json_schema"]["strict"] is True
    shape = (await asked(service, providers(), schema=OPEN))["response_format"]
    assert shape["json_schema"]["strict"] is False, "strict mode refuses open objects"


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("schema", "json_schema"), ("object", "json_object"), ("none", None)],
)
async def test_models_litellm_does_not_know_are_told_about(
    mode: str, expected: str | None, service: Service, providers: Make
) -> None:
    body = await asked(service, providers("hosted_vllm/x", schema_mode=mode), schema=STRICT)
    assert body.get("response_format", {}).get("type") == expected


async def test_any_json_object_is_asked_for_only_if_the_prompt_says_json(
    service: Service, providers: Make
) -> None:
    provider = providers("hosted_vllm/x", schema_mode="object")
    await provider.complete(call("Answer.", schema=STRICT), 1)
    assert "response_format" not in service.seen[-1].body


async def test_parameters_a_model_refuses_are_an_error_and_not_dropped(
    service: Service, providers: Make
) -> None:
    with pytest.raises(RequestRejected, match="temperature"):
        await providers("openai/o3").complete(call("hi", temperature=0.3), 1)
    assert not service.seen


@BOTH
async def test_long_system_messages_are_marked_for_claudes_cache_only(
    transport: str, service: Service, providers: Make
) -> None:
    long = call("hi", system="x" * CACHED_FROM_CHARS)
    provider = providers("anthropic/claude-opus-4-5", transport=transport)
    await provider.complete(long, 1)
    assert service.seen[-1].body["system"][0]["cache_control"] == {"type": "ephemeral"}
    await provider.complete(call("hi", system="short"), 1)
    assert b"cache_control" not in orjson.dumps(service.seen[-1].body)
    off = providers("anthropic/claude-opus-4-5", transport=transport, prompt_cache=False)
    await off.complete(long, 1)
    await providers(transport=transport).complete(long, 1)
    assert all(b"cache_control" not in orjson.dumps(seen.body) for seen in service.seen[-2:])
    assert CLAUDE_USAGE["cache_creation_input_tokens"]


# --- providers that go through litellm itself ---------------------------------------------------


async def test_gemini_goes_through_litellm(service: Service, providers: Make) -> None:
    usage = {"promptTokenCount": 100, "cachedContentTokenCount": 20, "candidatesTokenCount": 40,
             "thoughtsTokenCount": 25, "totalTokenCount": 165}  # fmt: skip
    part = {"content": {"parts": [{"text": "hello"}], "role": "model"}, "finishReason": "STOP"}
    service.says({"candidates": [part], "usageMetadata": usage})
    base = service.base("anthropic/x")
    reply = await providers("gemini/gemini-2.5-flash", api_base=base).complete(call("hi"), 1)
    assert reply.text == "hello"
    assert reply.usage == Usage(input=100, output=65, cached=20, reasoning=25)
    assert service.seen[-1].path.endswith(":generateContent")


async def test_azure_goes_through_litellm(service: Service, providers: Make) -> None:
    base = service.base("anthropic/x")
    provider = providers("azure/gpt-4o", api_base=base, api_key_env="HOME")
    assert (await provider.complete(call("hi"), 1)).usage == Usage(100, 40, cached=20, reasoning=5)
    assert "/deployments/gpt-4o/" in service.seen[-1].path


@pytest.mark.parametrize(
    ("text", "code"),
    [("The response was filtered", "content_filter"), ("maximum context length is 9", "too_long")],
)
async def test_what_azure_may_bill_though_it_refuses_is_not_given_back(
    service: Service, providers: Make, text: str, code: str
) -> None:
    """Its own page on costs says that a 400 for the filter or the length may be charged."""
    service.says({"error": {"message": text, "code": code}}, 400)
    base = service.base("anthropic/x")
    with pytest.raises(ProviderError) as caught:
        await providers("azure/gpt-4o", api_base=base, api_key_env="HOME").complete(call("hi"), 1)
    assert not caught.value.unsent


async def test_models_of_the_responses_api_never_take_the_direct_path(
    service: Service, providers: Make
) -> None:
    """Without the package ``mcp``, litellm itself cannot call them; nothing is sent then."""
    with pytest.raises(RequestRejected, match="mcp"):
        await providers("openai/o1-pro").complete(call("hi"), 1)
    assert not service.seen


async def test_a_status_that_litellm_makes_up_for_an_answer_proves_nothing(
    service: Service, providers: Make
) -> None:
    """Its description of Gemini calls an answer that it cannot read a 422."""
    service.says(b'{"candidates": [')
    provider = providers("gemini/gemini-2.5-flash", api_base=service.base("anthropic/x"))
    with pytest.raises(MalformedAnswer) as caught:
        await provider.complete(call("hi"), 1)
    assert not caught.value.unsent
    assert "422" not in str(caught.value)


# --- how much is read ----------------------------------------------------------------------------


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("status", [200, 400, 500])
async def test_what_lies_beyond_the_bound_is_never_unpacked(
    status: int, transport: str, service: Service, providers: Make
) -> None:
    """400 kB of gzip once became 2.2 GB of memory."""
    service.says(gzip.compress(bytes(100 << 20)) * 4, status, content_encoding="gzip")
    provider = providers(transport=transport)
    tracemalloc.start()
    try:
        with pytest.raises(AnswerTooLarge, match="more than 64 MiB") as caught:
            await provider.complete(call("hi"), 1)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (caught.value.retryable, caught.value.unsent) == (False, False)
    assert LONGEST_ANSWER < most < 3 * LONGEST_ANSWER


@BOTH
async def test_an_answer_within_the_bound_is_read_whole(
    transport: str, service: Service, providers: Make
) -> None:
    said = "a" * (LONGEST_ANSWER // 16)
    service.says(gzip.compress(orjson.dumps(chat(said))), content_encoding="gzip")
    assert (await providers(transport=transport).complete(call("hi"), 1)).text == said


# --- other users of litellm in the same process --------------------------------------------------


async def test_whoever_else_uses_litellm_here_keeps_its_own_transport(
    service: Service, providers: Make
) -> None:
    await providers(transport="litellm").complete(call("hi"), 1)
    import litellm

    said = [{"role": "user", "content": "hi"}]
    base = f"http://127.0.0.1:{service.port}/moved"

    async def moved(request: web.Request) -> web.StreamResponse:
        if "moved" in request.path:
            return web.Response(status=307, headers={"location": "/v1/chat/completions"})
        return await service.well(request)

    service.answer = moved
    found = await litellm.acompletion("openai/gpt-4o", said, api_base=base, api_key="own")
    assert found.choices[0].message.content == "hello", "it follows redirects, as it always did"


# --- keys ----------------------------------------------------------------------------------------


@pytest.fixture
def real_key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real-0123456789")
    monkeypatch.setenv("LOCAL_KEY", "local-0123456789")
    return "sk-real-0123456789"


@BOTH
async def test_a_key_goes_only_to_the_address_it_was_named_for(
    transport: str, real_key: str, service: Service, providers: Make
) -> None:
    await providers(transport=transport).complete(call("hi"), 1)
    await providers(transport=transport, api_key_env="LOCAL_KEY").complete(call("hi"), 1)
    sent = [seen.headers["authorization"] for seen in service.seen]
    assert sent == ["Bearer none", "Bearer local-0123456789"]


@BOTH
async def test_no_key_appears_in_an_error(
    transport: str, real_key: str, service: Service, providers: Make
) -> None:
    service.says({"error": {"message": f"bad {real_key} local-0123456789 " + "x" * 9_999}}, 401)
    with pytest.raises(AuthenticationFailed) as caught:
        await providers(transport=transport, api_key_env="LOCAL_KEY").complete(call("hi"), 1)
    message = str(caught.value)
    assert real_key not in message
    assert "0123456789" not in message
    assert len(message) <= 500
    assert caught.value.__suppress_context__, "tracebacks would show the original"


async def test_a_missing_key_is_found_before_anything_is_sent(
    service: Service, providers: Make
) -> None:
    assert "NO_SUCH_KEY" not in os.environ
    with pytest.raises(AuthenticationFailed, match="NO_SUCH_KEY is not set"):
        await providers(api_key_env="NO_SUCH_KEY").complete(call("hi"), 1)
    assert not service.seen


async def test_unknown_models_are_refused(providers: Make) -> None:
    stranger = call("hi")
    with pytest.raises(RequestRejected, match="not told how to reach"):
        await LiteLLMProvider(LiteLLMSettings({})).complete(stranger, 1)
    with pytest.raises(RequestRejected, match="no-such-provider"):
        await providers("no-such-provider/x").complete(stranger, 1)


async def test_litellm_is_silenced(providers: Make, capfd: pytest.CaptureFixture[str],
                                   service: Service) -> None:  # fmt: skip
    service.says({"error": "x"}, 500)
    for transport in ("direct", "litellm"):
        with pytest.raises(ProviderError):
            await providers(transport=transport).complete(call("hi"), 1)
    import litellm

    assert not litellm.success_callback
    assert not litellm.callbacks
    assert litellm.cache is None
    assert os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"
    out, err = capfd.readouterr()
    assert "litellm" not in (out + err).lower()


async def test_the_wall_around_the_tests_stands(loopback_only: list[object]) -> None:
    with pytest.raises(OSError, match="may not"):
        socket.create_connection(("example.com", 80), timeout=0.1)
    with pytest.raises(OSError, match="may not"):
        socket.socket().connect(("192.0.2.1", 80))
    assert len(loopback_only) == 2
    loopback_only.clear()
