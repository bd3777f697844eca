"""A stand-in for a loaded model: the same endpoints on loopback, answers by a function.

One token per word. Nothing is patched: providers are handed a loader that leads here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web

from matrix.providers.local.server import LoadedModel
from matrix.providers.local.settings import LocalSettings

KEY = "only-this-process-knows"
PER_MESSAGE = 3

Say = Callable[[dict[str, Any]], Awaitable[str]]


async def echo(body: dict[str, Any]) -> str:
    return f"you said {body['messages'][-1]['content']}"


class FakeLlama:
    """Serves one model; ``bodies`` are the chats it was asked, ``open`` how many are under way."""

    def __init__(self, say: Say = echo, context: int = 1_000) -> None:
        self.say, self.context = say, context
        self.bodies: list[dict[str, Any]] = []
        self.open = self.most_open = self.hung_up = self.counted = 0
        self.address = ""

    def app(self) -> web.Application:
        app = web.Application(client_max_size=1 << 26, middlewares=[_with_key])
        app.router.add_get("/props", self._props)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/apply-template", self._template)
        app.router.add_post("/tokenize", self._tokenize)
        app.router.add_post("/v1/chat/completions", self._chat)
        return app

    async def _props(self, request: web.Request) -> web.Response:
        return web.json_response({"default_generation_settings": {"n_ctx": self.context}})

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"data": [{"meta": {"n_ctx_train": 4_000}}]})

    async def _template(self, request: web.Request) -> web.Response:
        messages = (await request.json())["messages"]
        words = [f"{'| ' * PER_MESSAGE}{message['content']}" for message in messages]
        return web.json_response({"prompt": " ".join(words)})

    async def _tokenize(self, request: web.Request) -> web.Response:
        self.counted += 1
        return web.json_response({"tokens": (await request.json())["content"].split()})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            text = await self.say(body)
        except web.HTTPException:
            raise
        except asyncio.CancelledError:
            self.hung_up += 1
            raise
        finally:
            self.open -= 1
        response = web.StreamResponse()
        await response.prepare(request)
        usage = {"prompt_tokens": 10, "completion_tokens": len(text.split())}
        for event in (
            {"choices": [{"delta": {"content": text}, "finish_reason": None}]},
            {"choices": [{"delta": {}, "finish_reason": "stop"}]},
            {"choices": [], "usage": usage},
        ):
            await response.write(b"data: " + orjson.dumps(event) + b"\n\n")
        await response.write(b"data: [DONE]\n\n")
        return response


class FakeLoader:
    """Leads to a fake; counts its users."""

    def __init__(self, llama: FakeLlama, *, failures: list[Exception] | None = None) -> None:
        self._llama, self._failures = llama, failures or []
        self.loaded = self.users = 0

    def acquire(self, weights: Path, settings: LocalSettings) -> LoadedModel:
        if self._failures:
            raise self._failures.pop(0)
        self.loaded += 1
        self.users += 1
        return LoadedModel(self._llama.address, KEY)

    def release(self, model: LoadedModel) -> None:
        self.users -= 1


@web.middleware
async def _with_key(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    if request.headers.get("Authorization") != f"Bearer {KEY}":
        raise web.HTTPUnauthorized
    return await handler(request)
