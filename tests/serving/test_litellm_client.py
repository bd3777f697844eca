"""A client library that people use, against the server: what it reads and how it names errors."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from matrix.providers.simulated.language.schemas import conforms
from matrix.serving.faults import ServerFaultSettings
from matrix.serving.options import ServeOptions
from matrix.serving.process import SimServer

SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}


TOOL = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}


class Client:
    """litellm, set up to ask one server, without retries of its own."""

    def __init__(self, server: SimServer, litellm: Any) -> None:
        self.server, self.litellm = server, litellm

    async def ask(self, fault: str = "", **more: Any) -> Any:
        if fault:
            await self.server.schedule([fault])
        return await self.litellm.acompletion(
            model="openai/sim-gpt",
            api_base=self.server.url,
            messages=[{"role": "user", "content": "Say something."}],
            max_retries=0,
            num_retries=0,
            **{"api_key": "k", "timeout": 20, "max_tokens": 100, "seed": 3} | more,
        )


@pytest.fixture
async def client(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    monkeypatch.setitem(os.environ, "LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    monkeypatch.setattr(litellm, "suppress_debug_info", True)
    async with SimServer(
        ServeOptions(api_key="k", faults=ServerFaultSettings(slow_s=60))
    ) as server:
        yield Client(server, litellm)


@pytest.mark.slow
async def test_litellm_reads_answers_streams_schemas_and_tools(client: Client) -> None:
    whole = await client.ask()
    assert min(whole.usage.prompt_tokens, whole.usage.completion_tokens) > 0

    chunks = [chunk async for chunk in await client.ask(stream=True)]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == whole.choices[0].message.content

    held = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA, "strict": True}}
    answer = await client.ask(response_format=held)
    assert conforms(orjson.loads(answer.choices[0].message.content), SCHEMA, SCHEMA)

    # this version of litellm imports an optional package of MCP for any tool, unless told not to
    called = await client.ask(tools=[TOOL], tool_choice="required", _skip_mcp_handler=True)
    assert called.choices[0].finish_reason == "tool_calls"
    arguments = called.choices[0].message.tool_calls[0].function.arguments
    assert conforms(orjson.loads(arguments), SCHEMA, SCHEMA)


@pytest.mark.slow
async def test_litellm_tells_faults_apart(client: Client) -> None:
    litellm = client.litellm
    for fault, error in {
        "429;retry-after=86400": litellm.RateLimitError,
        "500": litellm.InternalServerError,
        "502": litellm.BadGatewayError,
        "503": litellm.ServiceUnavailableError,
        "504": litellm.Timeout,
        "529": litellm.APIError,
        "malformed": litellm.InternalServerError,
        "cut": litellm.InternalServerError,
        "reset": litellm.InternalServerError,
        "auth": litellm.AuthenticationError,
        "context": litellm.ContextWindowExceededError,
        "refusal": litellm.ContentPolicyViolationError,
        "bad-request": litellm.BadRequestError,
    }.items():
        with pytest.raises(error) as caught:
            await client.ask(fault)
        if fault.startswith("429"):
            headers = caught.value.litellm_response_headers  # those of the response are empty
            assert headers["retry-after"] == "86400"
    with pytest.raises(litellm.AuthenticationError):
        await client.ask(api_key="wrong")
    with pytest.raises(litellm.Timeout):
        await client.ask("slow;seconds=3600", timeout=0.3)


@pytest.mark.slow
async def test_litellm_makes_zero_of_a_usage_that_is_missing(client: Client) -> None:
    assert (await client.ask("no-usage")).usage.total_tokens == 0
    assert (await client.ask("absurd-usage")).usage.prompt_tokens == 10**12
    assert (await client.ask("negative-usage")).usage.prompt_tokens < 0
