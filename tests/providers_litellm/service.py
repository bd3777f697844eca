"""A loopback service that answers as OpenAI or Anthropic would, and calls to ask it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import orjson
from aiohttp import web

from matrix.model.records import Call, CallKey, CallParams, ChatMessage

OPENAI_USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 40,
    "total_tokens": 140,
    "prompt_tokens_details": {"cached_tokens": 20},
    "completion_tokens_details": {"reasoning_tokens": 5},
}
CLAUDE_USAGE = {
    "input_tokens": 70,
    "cache_creation_input_tokens": 10,
    "cache_read_input_tokens": 20,
    "output_tokens": 40,
}


def chat(text: str | None = "hello", *, finish: str = "stop", **more: Any) -> dict[str, Any]:
    """An OpenAI-like answer. ``service_tier`` is there because litellm's groq fails without it."""
    message = {"role": "assistant", "content": text, **more.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "service_tier": "default",
        "choices": [choice],
        "usage": OPENAI_USAGE,
        **more,
    }


def claude(text: str = "hello", *, stop: str = "end_turn", **more: Any) -> dict[str, Any]:
    """An answer as Anthropic gives it."""
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [{"type": "text", "text": text}] if text else [],
        "stop_reason": stop,
        "usage": CLAUDE_USAGE,
        **more,
    }


class Seen(NamedTuple):
    """One request as the service got it; header names in lower case."""

    path: str
    headers: dict[str, str]
    body: Any


Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Service:
    """A loopback service whose answer a test may replace."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.headers: Mapping[str, str] = {"x-ratelimit-remaining-requests": "9", "x-other": "1"}
        self.answer: Answer = self.well
        self.port = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.seen.append(Seen(request.path, headers, orjson.loads(await request.read())))
        return await self.answer(request)

    async def well(self, request: web.Request) -> web.StreamResponse:
        body = claude() if request.path.endswith("/messages") else chat()
        return web.json_response(body, headers=self.headers)

    def says(self, body: Any, status: int = 200, **headers: str) -> None:
        """Answer every request with this body from now on."""

        async def answer(request: web.Request) -> web.StreamResponse:
            raw = body if isinstance(body, bytes) else orjson.dumps(body)
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            named.setdefault("content-type", "application/json")
            return web.Response(body=raw, status=status, headers=named)

        self.answer = answer

    def base(self, target: str) -> str:
        """The address to give as ``api_base`` for a model."""
        root = f"http://127.0.0.1:{self.port}"
        return root if target.startswith("anthropic/") else f"{root}/v1"


def call(*texts: str, system: str = "You narrate.", **params: Any) -> Call:
    """A call of model ``m``: a system message, then user and assistant in turn."""
    spoken = [
        ChatMessage("assistant" if number % 2 else "user", text)
        for number, text in enumerate(texts or ("hi",))
    ]
    messages = (ChatMessage("system", system), *spoken)
    return Call(CallKey("s", "turn", 1, "0"), "", 0, "r", "m", messages, CallParams(**params), 1)


@asynccontextmanager
async def served(handle: Answer) -> AsyncIterator[int]:
    """Serve every request on the loopback by ``handle``; gives the port."""
    app = web.Application(client_max_size=1 << 26)
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()
