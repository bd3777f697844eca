"""The provider that plays real models: one attempt in, one reply or one error out."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from matrix.model.errors import AuthenticationFailed, RequestRejected
from matrix.model.records import Call, RawRequest
from matrix.providers.base import ProviderReply
from matrix.providers.litellm_adapter.answers import limit_headers, only_limits, reply_of
from matrix.providers.litellm_adapter.asking import (
    mentions_json,
    messages_of,
    parameters_of,
    wants_mark,
)
from matrix.providers.litellm_adapter.connections import Connections
from matrix.providers.litellm_adapter.direct import Direct, Route
from matrix.providers.litellm_adapter.errors import translate
from matrix.providers.litellm_adapter.library import Endpoint, Library
from matrix.providers.litellm_adapter.settings import LiteLLMSettings, ModelSettings, SchemaMode
from matrix.providers.litellm_adapter.wire import Wire, watching
from matrix.telemetry.redaction import Redactor, secrets_in

NO_KEY = "none"
"""Sent where an address is given without a key of its own, so that no other key goes there."""
_GRACE_S = 5.0
"""How long litellm's own time-out may be late before it is cut off."""


class _Model:
    """One model, with what litellm knows of it looked up once."""

    def __init__(self, settings: ModelSettings, library: Library) -> None:
        self.settings, self._library = settings, library

    @property
    def api_key(self) -> str | None:
        name = self.settings.api_key_env
        if name is not None and not os.environ.get(name):
            raise AuthenticationFailed(
                f"{self.settings.target}: the environment variable {name} is not set"
            )
        return os.environ[name] if name else NO_KEY if self.settings.api_base else None

    @cached_property
    def endpoint(self) -> Endpoint:
        return self._library.endpoint(self.settings.target, self.settings.api_base, self.api_key)

    @cached_property
    def schema_mode(self) -> SchemaMode:
        if self.settings.schema_mode != "auto":
            return self.settings.schema_mode
        return self._library.schema_mode(self.endpoint.model, self.endpoint.provider)

    def mode_for(self, call: Call) -> SchemaMode:
        """How this call's schema is asked for."""
        if call.params.schema is None:
            return "none"
        mode = self.schema_mode
        return "none" if mode == "object" and not mentions_json(call.messages) else mode

    @cached_property
    def marks_cache(self) -> bool:
        return wants_mark(self.endpoint.provider, self.settings.prompt_cache)


class LiteLLMProvider:
    """Answers attempts through litellm. Building one imports litellm."""

    def __init__(
        self,
        settings: LiteLLMSettings,
        *,
        clock: Callable[[], float] = time.perf_counter,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Import litellm; connect to nothing yet.

        Args:
            settings: Models, limits, and which way requests take.
            clock: For durations, in seconds.
            wall: Unix time, for waits that a provider gives as a date.
        """
        self._settings, self._clock, self._wall = settings, clock, wall
        self._library = Library(settings.connections)
        self._connections = Connections(self._library.tls())
        self._direct = Direct(self._library, self._connections)
        self._slots = asyncio.Semaphore(settings.connections)
        self._models: Mapping[str, _Model] = {
            name: _Model(model, self._library) for name, model in settings.models.items()
        }
        self._routes: dict[str, Route | None] = {}

    async def complete(self, call: Call, attempt: int) -> ProviderReply:
        """Answer one attempt of a call; the time waited for a free connection is not counted.

        Raises:
            ProviderError: One of this project's own types, without secrets in its message.
        """
        model = self._models.get(call.model)
        if model is None:
            raise RequestRejected(f"this process was not told how to reach {call.model!r}")
        async with self._slots:
            with watching(self._connections) as wire:
                return await self._asked(model, call, wire)

    async def _asked(self, model: _Model, call: Call, wire: Wire) -> ProviderReply:
        started = self._clock()
        try:
            if call.raw is not None:
                reply = await self._send_raw(model, call, call.raw)
                headers = reply.headers
            else:
                response, headers = await self._send(model, call)
                reply = reply_of(response, 0.0, model.settings.target, model.endpoint.provider)
            took = self._clock() - started
        except Exception as error:
            raise self._translated(error, model.settings, wire) from None
        clean = self._redactor.values  # a service may send back what it was sent, keys and all
        return reply._replace(
            duration_s=took,
            text=clean(reply.text),
            finish_reason=clean(reply.finish_reason),
            model=clean(reply.model),
            headers=headers,
            tool_calls=tuple(
                call._replace(name=clean(call.name), arguments=clean(call.arguments))
                for call in reply.tool_calls
            ),
            reasoning=clean(reply.reasoning),
            carry=clean(reply.carry),
        )

    async def aclose(self) -> None:
        """Close every connection."""
        await self._connections.close()

    async def _send(self, model: _Model, call: Call) -> tuple[Any, Mapping[str, str]]:
        route, mode = self._route(call.model, model), model.mode_for(call)
        messages = messages_of(call.messages, model.marks_cache, model.endpoint.provider)
        limit = call.timeout_s or self._settings.timeout_s
        if route is not None:
            async with asyncio.timeout(limit):
                response, headers = await self._direct.complete(route, messages, call.params, mode)
            return response, only_limits(headers)
        params = parameters_of(call.params, mode)
        params |= {"api_base": model.settings.api_base, "api_key": model.api_key}
        async with asyncio.timeout(limit + _GRACE_S):
            response = await self._library.complete(
                model.settings.target, messages, timeout=limit, **params
            )
        return response, limit_headers(response)

    async def _send_raw(self, model: _Model, call: Call, raw: RawRequest) -> ProviderReply:
        async with asyncio.timeout(call.timeout_s or self._settings.timeout_s):
            return await self._direct.pass_through(model.endpoint, model.api_key, raw)

    def _route(self, name: str, model: _Model) -> Route | None:
        if name not in self._routes:
            self._library.refuse_uncallable(model.endpoint.model, model.endpoint.provider)
            allowed = self._settings.transport == "direct"
            self._routes[name] = (
                self._direct.route(model.endpoint, model.api_key) if allowed else None
            )
        return self._routes[name]

    def _translated(self, error: Exception, model: ModelSettings, wire: Wire) -> Exception:
        return translate(
            error, target=model.target, now=self._wall(), redactor=self._redactor, wire=wire
        )

    @cached_property
    def _redactor(self) -> Redactor:
        """For the keys that this process has; by now every key has been read."""
        names = [model.api_key_env for model in self._settings.models.values()]
        return Redactor(secrets_in(os.environ, filter(None, names)))
