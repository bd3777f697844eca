"""The providers' own clients, and litellm's, work at a metered address without a change."""

from __future__ import annotations

import pytest

from tests.gateway.conftest import Gateway
from tests.gateway.provider import USED, Provider

OPENAI = """
    import json, openai
    client = openai.OpenAI()
    talk = [{"role": "user", "content": "hail"}]
    tool = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}
    whole = client.chat.completions.create(model="gpt-4o", messages=talk)
    tools = client.chat.completions.create(model="gpt-4o", messages=talk, tools=[tool])
    chunks = list(client.chat.completions.create(model="gpt-4o", messages=talk, stream=True))
    told = list(client.chat.completions.create(
        model="gpt-4o", messages=talk, stream=True, stream_options={"include_usage": True}))
    one = client.responses.create(model="gpt-5", input="hail")
    events = list(client.responses.create(model="gpt-5", input="hail", stream=True))
    print(json.dumps({
        "whole": whole.choices[0].message.content,
        "kept": whole.model_extra["unknown_field"],
        "tools": [c.function.arguments for c in tools.choices[0].message.tool_calls],
        "stream": "".join(c.choices[0].delta.content or "" for c in chunks),
        "usage": [c.usage.total_tokens for c in told if c.usage],
        "response": one.output_text,
        "events": [e.type for e in events],
    }))
"""

ANTHROPIC = """
    import json, anthropic
    client = anthropic.Anthropic()
    talk = [{"role": "user", "content": "hail"}]
    tool = {"name": "read", "description": "d", "input_schema": {"type": "object"}}
    asked = dict(model="claude-sonnet-4-5", max_tokens=900, messages=talk)
    whole = client.messages.create(**asked)
    tools = client.messages.create(**asked, tools=[tool], extra_headers={
        "anthropic-beta": "interleaved-thinking-2025-05-14"})
    with client.messages.stream(**asked) as stream:
        streamed = stream.get_final_message()
    counted = client.messages.count_tokens(model="claude-sonnet-4-5", messages=talk)
    print(json.dumps({
        "whole": whole.content[0].text,
        "blocks": [b.type for b in tools.content],
        "stream": streamed.content[0].text,
        "tokens": streamed.usage.output_tokens,
        "counted": counted.input_tokens > 0,
        "models": [m.id for m in client.models.list() if m.id == "claude-sonnet-4-5"],
    }))
"""

LITELLM = """
    import json, litellm
    talk = [{"role": "user", "content": "hail"}]
    whole = litellm.completion(model="openai/gpt-4o", messages=talk)
    other = litellm.completion(model="anthropic/claude-sonnet-4-5", messages=talk, max_tokens=900)
    parts = list(litellm.completion(model="openai/gpt-4o", messages=talk, stream=True))
    print(json.dumps({
        "whole": whole.choices[0].message.content,
        "other": other.choices[0].message.content,
        "stream": "".join(p.choices[0].delta.content or "" for p in parts),
    }))
"""


@pytest.mark.slow
async def test_openais_client(gateway: Gateway, provider: Provider) -> None:
    done = await gateway(OPENAI)
    assert done.result.code == 0, done.result.stderr
    assert done.said == {
        "whole": "well met",
        "kept": {"kept": True},
        "tools": ['{"path": "a"}'],
        "stream": "well met",
        "usage": [USED.input + USED.output],
        "response": "well met",
        "events": ["response.created", "response.output_text.delta", "response.completed"],
    }
    calls = done.calls
    assert len(calls) == provider.billed == 6
    assert set(calls.disposition) == {"settled"}
    assert (set(calls.tokens_in), set(calls.tokens_out)) == ({USED.input}, {USED.output})
    assert set(calls.tokens_cached) == {USED.cached}
    assert set(calls.tokens_reasoning) == {USED.reasoning}
    assert set(calls.model) == {"openai/gpt-4o", "openai/gpt-5"}
    assert "gpt-5-2025-08-07" in set(calls.answered_by)


@pytest.mark.slow
async def test_anthropics_client(gateway: Gateway, provider: Provider) -> None:
    done = await gateway(ANTHROPIC)
    assert done.result.code == 0, done.result.stderr
    assert done.said == {
        "whole": "well met",
        "blocks": ["thinking", "tool_use"],
        "stream": "well met",
        "tokens": USED.output,
        "counted": True,
        "models": ["claude-sonnet-4-5"],
    }
    calls = done.calls
    assert len(calls) == provider.billed == 3
    assert set(calls.disposition) == {"settled"}
    assert (set(calls.tokens_in), set(calls.tokens_cached)) == ({USED.input}, {USED.cached})
    assert provider.headers[1]["anthropic-beta"] == "interleaved-thinking-2025-05-14"


@pytest.mark.long
@pytest.mark.slow
async def test_litellms_client(gateway: Gateway, provider: Provider) -> None:
    done = await gateway(LITELLM)
    assert done.result.code == 0, done.result.stderr
    assert done.said == {"whole": "well met", "other": "well met", "stream": "well met"}
    assert len(done.calls) == provider.billed == 3


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("model", ["sim/opus-4.5"])
async def test_a_rehearsal_on_simulated_models_needs_no_provider(
    gateway: Gateway, provider: Provider, model: str
) -> None:
    done = await gateway(ANTHROPIC, "--model", model)
    assert done.result.code == 0, done.result.stderr
    assert done.said["whole"]
    assert done.said["stream"]
    done = await gateway(OPENAI.replace("gpt-5", "gpt-4o"), "--model", model, run_id="other")
    assert done.result.code == 1, "responses are OpenAI's alone"
    assert "does not speak OpenAI's responses shape" in done.result.stderr
    assert provider.bodies == []
    assert "simulated" in done.result.stderr
