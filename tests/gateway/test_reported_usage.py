"""What an answer at a metered address says of its tokens is believed as any other answer's is."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from aiohttp import web

from matrix.model.money import from_usd
from matrix.providers.price_map import bundled
from tests.gateway.conftest import Done, Gateway, program
from tests.gateway.provider import EVENTS, USED, WHOLE, Provider
from tests.gateway.test_money import charged

LONG = "word " * 100
PATHS = {"gpt-4o": list(WHOLE)[:2], "claude-sonnet-4-5": list(WHOLE)[2:]}
HONEST = {"gpt-4o-mini": list(WHOLE)[:2], "claude-haiku-4-5": list(WHOLE)[2:]}
"""Models whose usage the provider reports as it is -> where they are asked."""
COUNTS = {
    "nothing": (0, 0, 0),
    "nothing written": (50, 0, 0),
    "nothing read": (0, 100, 0),
    "less than the text": (1, 1, 0),
    "more from the cache than can have been read": (50, 100, 200_000),
}
"""Tokens read, written, and read from the cache."""


def usage(path: str, read: int, written: int, cached: int) -> dict[str, Any]:
    if path == "/v1/messages":
        return {"input_tokens": read, "output_tokens": written, "cache_read_input_tokens": cached}
    names = ("prompt", "completion") if "chat" in path else ("input", "output")
    return {
        f"{names[0]}_tokens": read,
        f"{names[1]}_tokens": written,
        "total_tokens": read + written,
        f"{names[0]}_tokens_details": {"cached_tokens": cached},
    }


def changed(value: Any, said: dict[str, Any]) -> Any:
    """An answer, or an event of one, with a long text and another usage."""
    if isinstance(value, dict):
        return {
            name: said if name == "usage" and item else changed(item, said)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [changed(item, said) for item in value]
    return LONG if value in ("well met", "well ") else value


def events_with(path: str, asked: dict[str, Any], said: dict[str, Any]) -> list[bytes]:
    """The events of an answer, changed likewise."""
    found = []
    for event in EVENTS[path](asked):
        name, _, data = event.rpartition(b"data: ")
        if data.startswith(b"{"):
            data = orjson.dumps(changed(orjson.loads(data), said)) + b"\n\n"
        found.append(name + b"data: " + data)
    return found


class Understating:
    """The provider: it writes 500 characters, and reports what the request says it should."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider

    async def answer(self, request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        self.provider.billed += 1
        honest = asked["model"].startswith(("gpt-4o-mini", "claude-haiku"))
        counts = (50, 120, 0) if honest else COUNTS[asked["user"]]
        said = usage(request.path, *counts)
        if asked.get("stream"):
            return await self.provider.send(request, events_with(request.path, asked, said))
        return web.json_response(changed(WHOLE[request.path](asked), said))


ASKING = """
    done = []
    for model, paths in {models!r}.items():
        for path in paths:
            for stream in (False, True):
                for says in {counts!r}:
                    done.append(post(path, {{
                        "model": model, "max_tokens": 500, "stream": stream, "user": says,
                        "messages": [{{"role": "user", "content": "hail"}}], "input": "hail",
                    }})[0])
    print(json.dumps(done))
"""


async def asked(gateway: Gateway, models: dict[str, list[str]]) -> Done:
    return await gateway(program(ASKING.format(models=models, counts=list(COUNTS))))


@pytest.mark.slow
async def test_usage_that_no_answer_can_have_is_presumed_in_every_shape_whole_and_streamed(
    gateway: Gateway, provider: Provider
) -> None:
    provider.answer = Understating(provider).answer
    done = await asked(gateway, PATHS | HONEST)
    assert done.result.code == 0, done.result.stderr
    assert set(done.said) == {200}, "the answers themselves are kept"
    calls = done.calls.assign(honest=done.calls.model.str.contains("mini|haiku"))
    assert len(calls) == provider.billed == 12 * len(COUNTS)
    assert set(calls[calls.honest].disposition) == {"settled"}
    doubted = calls[~calls.honest]
    assert set(doubted.disposition) == {"presumed"}
    assert (doubted.cost_nano == doubted.held_nano).all()
    assert set(doubted.error_class.fillna("")) == {"", "ImplausibleUsage"}


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True])
async def test_a_provider_that_reports_nothing_is_not_asked_past_the_cap(
    gateway: Gateway, provider: Provider, stream: bool
) -> None:
    provider.answer = Understating(provider).answer
    done = await gateway(
        program(f"""
        body = asked(max_tokens=1000, stream={stream}, user="nothing")
        print(json.dumps([post(CHAT, body)[0] for _ in range(20)]))
        """),
        cost="0.05",
    )
    assert set(done.said) == {200, 402}
    truly = bundled().tariff("openai/gpt-4o").cost(USED._replace(output=1000))
    assert 0 < provider.billed * truly <= charged(done) <= from_usd("0.05")
    assert done.result.code == 4
