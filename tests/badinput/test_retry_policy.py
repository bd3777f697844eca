"""One retry layer: who is tried again, how long it waits, and that nothing below it tries again.

Both ways of the adapter, over loopback: its own connections, and ``litellm.acompletion``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest

from matrix.engine.calls.attempts import UNASKED_PAUSE_S
from matrix.engine.calls.provider_host import MAX_WAIT_S
from matrix.model.errors import ProviderError
from matrix.providers.litellm_adapter.provider import LiteLLMProvider
from matrix.providers.litellm_adapter.settings import LiteLLMSettings, ModelSettings
from tests.badinput.conftest import Worlds
from tests.badinput.trouble import (
    TROUBLE,
    break_off_in_the_middle,
    error,
    hang,
    reset_before_the_answer,
    says,
)
from tests.badinput.world import trouble_at_the_second_call
from tests.providers_litellm.service import Answer, Seen, Service, call
from tests.providers_litellm.test_wire_parity import TARGETS
from tests.waiting import LONGEST_WAIT_S

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp()
DAY_S = 86_400
BOTH = pytest.mark.parametrize("transport", ["direct", "litellm"])
BOUNDS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


def provider_of(service: Service, target: str, **settings: Any) -> LiteLLMProvider:
    model = ModelSettings(target, api_base=service.base(target))
    return LiteLLMProvider(LiteLLMSettings({"m": model}, **settings))


# --- what is tried again -------------------------------------------------------------------------

FINAL = {
    "refused by the content policy (4xx)": "ContentRefused",
    "messages too long (400 or 413)": "ContextOverflow",
    "any other 4xx": "RequestRejected",
}


@BOTH
@pytest.mark.parametrize("title", FINAL)
async def test_what_cannot_get_better_is_asked_once(
    title: str, transport: str, service: Service, worlds: Worlds
) -> None:
    trouble_at_the_second_call(service, TROUBLE[title], times=99)
    world = worlds(transport=transport, attempts=5)
    played = await world.play()
    assert [attempt.error_class for attempt in played.second] == [FINAL[title]]
    assert world.pauses == []
    assert len(service.seen) == 2


TRANSIENT: dict[str, Answer] = {
    "reset": reset_before_the_answer,
    "broken off": break_off_in_the_middle,
    "hang": hang,
    "no JSON": says(b"<html>"),
    **{
        str(status): error(status, "trouble", x_should_retry="true", retry_after="0")
        for status in (408, 409, 425, 429, 500, 502, 503, 504, 529)
    },
}
"""With what makes the OpenAI client try again by itself, if it is left to it."""


@BOTH
@pytest.mark.parametrize("trouble", TRANSIENT)
async def test_an_attempt_is_one_request_whatever_comes_back(
    trouble: str, transport: str, service: Service
) -> None:
    service.answer = TRANSIENT[trouble]
    provider = provider_of(service, "openai/gpt-4o", transport=transport, timeout_s=LONGEST_WAIT_S)
    with pytest.raises(ProviderError) as caught:
        await provider.complete(call("hi"), 1)
    await provider.aclose()
    assert caught.value.retryable
    assert len(service.seen) == 1


# --- what is on the wire -------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("target", TARGETS)
async def test_every_request_says_how_long_its_answer_may_be(
    target: str, transport: str, service: Service
) -> None:
    provider = provider_of(service, target, transport=transport)
    await provider.complete(call("hi", max_tokens=77), 1)
    await provider.aclose()
    (request,) = service.seen
    assert [request.body[name] for name in BOUNDS if name in request.body] == [77]
    assert not request.body.get("stream")
    assert request.body.get("n") in (None, 1)


async def test_litellms_client_is_told_its_time_out_and_not_to_retry(service: Service) -> None:
    provider = provider_of(service, "openai/gpt-4o", transport="litellm", timeout_s=12.5)
    await provider.complete(call("hi"), 1)
    await provider.aclose()
    headers = service.seen[0].headers
    assert float(headers["x-stainless-read-timeout"]) == 12.5
    assert headers["x-stainless-retry-count"] == "0"


@BOTH
async def test_no_call_changes_what_litellm_does_for_the_next(
    transport: str, service: Service
) -> None:
    """Its ``num_retries`` is said to end up in a global of the module."""
    import litellm

    provider = provider_of(service, "openai/gpt-4o", transport=transport)
    service.answer = error(500, "trouble")
    with pytest.raises(ProviderError):
        await provider.complete(call("hi"), 1)
    service.answer = service.well
    await provider.complete(call("hi"), 1)
    await provider.aclose()
    assert litellm.num_retries is None
    assert litellm.num_retries_per_request is None
    assert (litellm.drop_params, litellm.modify_params) == (False, False)
    assert not litellm.model_fallbacks
    assert [len(seen.body["messages"]) for seen in service.seen] == [2, 2]


@BOTH
async def test_parameters_that_a_model_does_not_take_are_refused_and_never_dropped(
    transport: str, service: Service
) -> None:
    provider = provider_of(service, "openai/o3", transport=transport)
    with pytest.raises(ProviderError, match="temperature") as caught:
        await provider.complete(call("hi", temperature=0.3), 1)
    assert (caught.value.retryable, caught.value.unsent) == (False, True)
    await provider.complete(call("hi", max_tokens=33), 1)
    await provider.aclose()
    assert [bound_of(request) for request in service.seen] == [33]


def bound_of(request: Seen) -> object:
    return next(request.body[name] for name in BOUNDS if name in request.body)


# --- how long is waited --------------------------------------------------------------------------


def date(seconds: float) -> str:
    return format_datetime(datetime.fromtimestamp(NOW + seconds, UTC), usegmt=True)


def exactly(seconds: float) -> Callable[[float], bool]:
    return lambda pause: pause == seconds


def only_backoff(pause: float) -> bool:
    """The first pause of full jitter is up to a second."""
    return 0 <= pause <= 1


WAITS: dict[str, tuple[dict[str, str], Callable[[float], bool]]] = {
    "seconds": ({"retry-after": "7"}, exactly(7.0)),
    "milliseconds": ({"retry-after-ms": "2500"}, exactly(2.5)),
    "a date": ({"retry-after": date(15)}, exactly(15.0)),
    "a day": ({"retry-after": str(DAY_S)}, exactly(MAX_WAIT_S)),
    "a date tomorrow": ({"retry-after": date(DAY_S)}, exactly(MAX_WAIT_S)),
    "for ever": ({"retry-after": "inf"}, exactly(MAX_WAIT_S)),
    "a date that is past": ({"retry-after": date(-DAY_S)}, only_backoff),
    "less than nothing": ({"retry-after": "-30"}, only_backoff),
    "nothing": ({"retry-after": "0"}, only_backoff),
    "nonsense": ({"retry-after": "soon"}, exactly(UNASKED_PAUSE_S)),
    "no number": ({"retry-after": "nan"}, exactly(UNASKED_PAUSE_S)),
    "no word": ({}, exactly(UNASKED_PAUSE_S)),
}
"""What a 429 says -> the pause before the next attempt."""


@BOTH
@pytest.mark.parametrize("said", WAITS)
async def test_a_429s_wait_is_read_from_the_headers_of_its_response(
    said: str, transport: str, service: Service, worlds: Worlds
) -> None:
    headers, expected = WAITS[said]
    named = {name.replace("-", "_"): value for name, value in headers.items()}
    trouble_at_the_second_call(service, error(429, "slow down", **named), times=1)
    world = worlds(transport=transport, utc=lambda: NOW)
    played = await world.play()
    (pause,) = world.pauses
    assert expected(pause), pause
    assert [attempt.disposition for attempt in played.second] == ["released", "settled"]
    assert played.ended.outcome == "completed"


async def test_pauses_without_a_429_never_exceed_the_ceiling(
    service: Service, worlds: Worlds
) -> None:
    trouble = error(503, "overloaded", retry_after=str(DAY_S))
    trouble_at_the_second_call(service, trouble, times=9)
    world = worlds(attempts=10)
    assert (await world.play()).ended.outcome == "completed"
    assert world.pauses == [MAX_WAIT_S] * 9


# --- clocks that jump ----------------------------------------------------------------------------


@pytest.mark.parametrize("jump_s", [-365 * DAY_S, 365 * DAY_S])
async def test_a_wall_clock_that_jumps_moves_no_wait_and_no_money(
    jump_s: float, service: Service, worlds: Worlds
) -> None:
    """Waits are measured on a clock that does not jump; only a wait given as a date can err."""
    wall = [NOW]

    def utc() -> float:
        wall[0] += jump_s
        jumps.append(wall[0])
        return wall[0]

    jumps: list[float] = []
    trouble_at_the_second_call(service, error(429, "slow", retry_after=date(15)), times=1)
    world = worlds(utc=utc)
    played = await world.play()
    assert len(jumps) > 5
    assert played.ended.outcome == "completed"
    (pause,) = world.pauses
    assert pause == MAX_WAIT_S if jump_s < 0 else only_backoff(pause)


async def test_after_a_monotonic_clock_has_jumped_ahead_a_run_goes_on(
    service: Service, worlds: Worlds
) -> None:
    """A machine that was asleep: the pause is over, and a limit has saved nothing up."""
    trouble_at_the_second_call(service, error(429, "slow", retry_after="30"), times=1)
    world = worlds()
    asleep = asyncio.create_task(world.play())
    while not service.seen:
        await asyncio.sleep(0.001)
    world.now += DAY_S
    played = await asleep
    assert played.ended.outcome == "completed"
    assert world.pauses == [30.0]
