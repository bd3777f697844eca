"""Laws of the fake: it says what the handler says, and keeps what it was asked."""

from __future__ import annotations

import pytest

from matrix.model.errors import RateLimited
from matrix.model.records import Call
from matrix.providers.base import Provider, ProviderReply
from matrix.providers.scripted import ScriptedProvider
from tests.providers.loop import call_of

CALL = call_of("Hello.", "Well?", 1)


async def test_text_becomes_a_reply_and_a_reply_passes_unchanged() -> None:
    provider: Provider = ScriptedProvider(lambda call, attempt: f"{call.role} {attempt}")
    reply = await provider.complete(CALL, 2)
    assert reply.text == "narrator 2"
    assert reply.usage is not None
    assert reply.usage.output == 3
    whole = ProviderReply("x", None, 1.5)
    assert await ScriptedProvider(lambda call, attempt: whole).complete(CALL, 1) is whole


async def test_a_handler_may_be_a_coroutine_and_may_raise() -> None:
    async def handler(call: Call, attempt: int) -> str:
        if attempt == 1:
            raise RateLimited("wait", retry_after_s=1.0)
        return "yes"

    provider = ScriptedProvider(handler)
    with pytest.raises(RateLimited):
        await provider.complete(CALL, 1)
    assert (await provider.complete(CALL, 2)).text == "yes"
    assert [attempt for _, attempt in provider.asked] == [1, 2]
