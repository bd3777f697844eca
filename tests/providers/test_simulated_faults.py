"""Laws of simulated trouble: deterministic, bounded in a row, and never in the way of the text."""

from __future__ import annotations

import pytest

from matrix.model.errors import (
    MalformedAnswer,
    ProviderError,
    ProviderTimeout,
    ProviderUnavailable,
    RateLimited,
)
from matrix.model.records import Call
from tests.providers.loop import call_of, provider_with

ERRORS = {
    "rate_limited": RateLimited,
    "server_error": ProviderUnavailable,
    "timeout": ProviderTimeout,
    "malformed": MalformedAnswer,
    "empty": MalformedAnswer,
}


def call(seed: int = 1) -> Call:
    return call_of("Hello.", "Well?", seed)


@pytest.mark.parametrize("fault", sorted(ERRORS))
async def test_every_fault_is_an_error_of_this_project_and_stops_in_time(fault: str) -> None:
    provider = provider_with(faults={fault: 1.0, "max_in_a_row": 3})
    for attempt in (1, 2, 3):
        with pytest.raises(ERRORS[fault]) as caught:
            await provider.complete(call(), attempt)
        assert caught.value.retryable
    calm = await provider_with().complete(call(), 1)
    assert await provider.complete(call(), 4) == calm


async def test_a_rate_limit_says_how_long_to_wait() -> None:
    provider = provider_with(faults={"rate_limited": 1.0, "retry_after_s": 7.5})
    with pytest.raises(RateLimited) as caught:
        await provider.complete(call(), 1)
    assert caught.value.retry_after_s == 7.5


async def test_faults_come_at_their_rate_and_the_same_every_time() -> None:
    provider = provider_with(faults={"server_error": 0.3})

    async def failing() -> list[int]:
        failed = []
        for seed in range(400):
            try:
                await provider.complete(call(seed), 1)
            except ProviderError:
                failed.append(seed)
        return failed

    first = await failing()
    assert 85 <= len(first) <= 155
    assert await failing() == first


async def test_a_damaged_reply_is_the_same_for_every_attempt() -> None:
    whole = await provider_with().complete(call(), 1)
    provider = provider_with(faults={"cut_off": 1.0, "missing_usage": 1.0})
    replies = [await provider.complete(call(), attempt) for attempt in (1, 2, 3)]
    assert replies[0] == replies[1] == replies[2]
    assert replies[0].text == whole.text[: len(whole.text) // 2]
    assert replies[0].finish_reason == "length"
    assert replies[0].usage is None
