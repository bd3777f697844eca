"""The fast path: litellm's translation of requests, answers and errors, over our connections.

``litellm.acompletion`` spends 4 ms on a call of two messages and 35 ms on one of two hundred,
nearly all of it outside the translation: the OpenAI client walks every message through its type
converter, and each call builds logging payloads and prices that nobody reads here. The translation
itself takes a few tenths of a millisecond. So for providers where both ways were found to send the
same bytes and read the same answer (the tests compare them), this path calls the translation and
sends the request itself. Parameters are translated once per set of parameters and not per call.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx
import orjson

from matrix.dialects.answers import reported, without_usage_event
from matrix.dialects.requests import under_name
from matrix.dialects.shapes import ENDPOINTS
from matrix.model.errors import MalformedAnswer, RequestRejected
from matrix.model.records import CallParams, RawRequest
from matrix.providers.base import ProviderReply
from matrix.providers.litellm_adapter.answers import only_limits, usage_in, without_usage
from matrix.providers.litellm_adapter.asking import Message, parameters_of
from matrix.providers.litellm_adapter.connections import CODED, Connections, HttpAnswer
from matrix.providers.litellm_adapter.library import Config, Endpoint, Library, Response
from matrix.providers.litellm_adapter.settings import SchemaMode

_CHECKED = """
anthropic cerebras custom_openai dashscope deepinfra deepseek fireworks_ai groq hosted_vllm
lm_studio minimax mistral moonshot nebius nvidia_nim openai openrouter perplexity sambanova
together_ai xai zai
"""
CHECKED_PROVIDERS = frozenset(_CHECKED.split())
"""Providers for which this path and ``litellm.acompletion`` were compared on the wire."""

_ANTHROPIC_VERSION = "2023-06-01"
_NOT_SENT = ("stream", "fake_stream", "max_retries")
"""What litellm's parameters say to its own callers; nothing is streamed here."""

_OPENAI_ACCOUNT = (
    ("OpenAI-Organization", "OPENAI_ORG_ID"),
    ("OpenAI-Organization", "OPENAI_ORGANIZATION"),
    ("OpenAI-Project", "OPENAI_PROJECT_ID"),
)


class Route(NamedTuple):
    """How requests for one model travel."""

    endpoint: Endpoint
    config: Config
    api_key: str | None
    api_base: str | None


class _Plan(NamedTuple):
    """What all calls of one model with the same parameters share.

    ``options`` is JSON text, so that every call gets options of its own to change.
    """

    url: str
    headers: dict[str, str]
    options: bytes
    json_mode: bool | None


class _Log:
    """Stands in for litellm's logging object, which its translations report to."""

    def __init__(self) -> None:
        self.model_call_details: dict[str, Any] = {}
        self.optional_params: dict[str, Any] = {}

    def post_call(self, *args: object, **kwargs: object) -> None:
        """Nothing is logged."""


class Direct:
    """Sends calls on the fast path."""

    def __init__(self, library: Library, connections: Connections) -> None:
        self._library, self._connections = library, connections
        self._plan = lru_cache(maxsize=1_024)(self._make_plan)

    def route(self, endpoint: Endpoint, api_key: str | None) -> Route | None:
        """The route for a model, or ``None`` where only ``litellm.acompletion`` knows the way."""
        model, provider = endpoint.model, endpoint.provider
        if provider not in CHECKED_PROVIDERS or self._library.speaks_responses(model, provider):
            return None
        config = self._library.config(model, provider)
        return config and Route(endpoint, config, self._key(endpoint, api_key), _base_of(endpoint))

    async def complete(
        self, route: Route, messages: list[Message], params: CallParams, mode: SchemaMode
    ) -> tuple[Response, dict[str, str]]:
        """One request: litellm's response object, and the headers that came with it.

        Raises:
            Exception: litellm's or the connection's errors, for the caller to translate.
        """
        plan = self._plan(route, params, mode)
        model, provider, *_ = route.endpoint
        options, headers = orjson.loads(plan.options), dict(plan.headers)
        extra = options.pop("extra_body", None) or {}
        body = route.config.transform_request(
            model=model,
            messages=messages,
            optional_params=options,
            litellm_params=_litellm_params(route),
            headers=headers,
        )
        if provider == "anthropic":
            headers, body = self._library.without_unknown_betas(headers, body, provider)
        answer = await self._connections.post(plan.url, _encode({**body, **extra}), headers)
        self._refuse(answer, route.config, model, provider)
        return self._read(answer, route, plan, body, options), answer.headers

    async def pass_through(
        self, endpoint: Endpoint, api_key: str | None, raw: RawRequest
    ) -> ProviderReply:
        """Send a request as its client wrote it; only the key is ours.

        Raises:
            Exception: litellm's or the connection's errors, for the caller to translate.
            MalformedAnswer: A stream that did not come to its end.
        """
        model, provider, *_ = endpoint
        key = self._key(endpoint, api_key)
        base = _base_of(endpoint) or ""
        url = base if provider == "anthropic" else f"{base.rstrip('/')}{ENDPOINTS[raw.shape]}"
        url = f"{url}?{raw.query}" if raw.query else url
        headers = {"Content-Type": "application/json", **dict(raw.headers)}
        if provider == "anthropic":
            headers.setdefault("anthropic-version", _ANTHROPIC_VERSION)
            headers["x-api-key"] = key or ""
        else:
            headers |= _account_headers(model_provider=provider)
            headers["Authorization"] = f"Bearer {key}"
        body = raw.body if raw.model == model else under_name(raw.body, model)
        answer = await self._connections.post(url, body, headers)
        self._refuse(answer, self._library.config(model, provider), model, provider)
        media = answer.headers.get("content-type", "application/json")
        said = reported(raw.shape, answer.body, stream="event-stream" in media)
        if not said.whole:
            cut_short = "event-stream" in media or "json" in media
            cut = "the answer broke off before its end" if cut_short else f"no answer, but {media}"
            told = said.error or cut
            raise MalformedAnswer(f"{model}: {told}", usage=said.usage, written=said.written)
        shown = without_usage_event(answer.body) if raw.hides_usage else answer.body
        return ProviderReply(
            shown.decode(errors="replace"),
            said.usage,
            0.0,
            said.finish_reason or "stop",
            only_limits(answer.headers),
            said.model,
            media=media,
            wrote=said.written,
        )

    def _key(self, endpoint: Endpoint, api_key: str | None) -> str | None:
        named = os.environ.get(f"{endpoint.provider.upper()}_API_KEY")
        return api_key or endpoint.api_key or named

    def _make_plan(self, route: Route, params: CallParams, mode: SchemaMode) -> _Plan:
        model, provider, *_ = route.endpoint
        options = self._library.mapped(model, provider, parameters_of(params, mode))
        json_mode = options.pop("json_mode", None)
        for name in _NOT_SENT:
            options.pop(name, None)
        shared: dict[str, Any] = {
            "api_key": route.api_key,
            "api_base": route.api_base,
            "model": model,
            "optional_params": options,
            "litellm_params": _litellm_params(route),
        }
        account = _account_headers(model_provider=provider)
        headers = route.config.validate_environment(headers=account, messages=[], **shared)
        url = route.config.get_complete_url(stream=None, **shared)
        return _Plan(url, headers, orjson.dumps(options), json_mode)

    def _refuse(self, answer: HttpAnswer, config: Config, model: str, provider: str) -> None:
        if answer.status >= 400:
            error = config.get_error_class(
                error_message=answer.body.decode(errors="replace"),
                status_code=answer.status,
                headers=httpx.Headers(answer.headers),
            )
            raise self._library.classified(error, model, provider) from error

    def _read(
        self, answer: HttpAnswer, route: Route, plan: _Plan, body: Message, options: Message
    ) -> Response:
        asked = (route, plan, body, options)
        try:
            return self._translated(answer, *asked)
        except Exception as error:  # its translations assume well-formed answers
            bare = without_usage(answer.body)
            if bare is not None:  # a good answer is not lost for a usage that makes no sense
                with suppress(Exception):
                    return self._translated(answer._replace(body=bare), *asked)
            raise MalformedAnswer(
                f"{route.endpoint.model}: an answer that litellm cannot read: "
                f"{_reason(error, answer.body)}",
                usage=usage_in(answer.body),
            ) from None

    def _translated(
        self, answer: HttpAnswer, route: Route, plan: _Plan, body: Message, options: Message
    ) -> Response:
        headers = {name: text for name, text in answer.headers.items() if name not in CODED}
        return route.config.transform_response(
            model=route.endpoint.model,
            raw_response=httpx.Response(answer.status, headers=headers, content=answer.body),
            model_response=self._library.empty_response(),
            logging_obj=_Log(),
            request_data=body,
            messages=body.get("messages", []),
            optional_params=options,
            litellm_params=_litellm_params(route),
            encoding=None,
            api_key=route.api_key,
            json_mode=plan.json_mode,
        )


def _reason(error: Exception, body: bytes) -> str:
    """What litellm says, without its traceback; the beginning of the answer if it says nothing."""
    said = str(getattr(error, "message", None) or error)
    said = said.partition("Traceback (most recent call last)")[0].strip()
    return f"{type(error).__name__}: {said or body[:200].decode(errors='replace')}"


def _litellm_params(route: Route) -> dict[str, Any]:
    return {"custom_llm_provider": route.endpoint.provider, "api_base": route.api_base}


def _account_headers(model_provider: str) -> dict[str, str]:
    """Headers that the OpenAI client takes from the environment."""
    names = _OPENAI_ACCOUNT if model_provider == "openai" else ()
    return {header: os.environ[name] for header, name in names if os.environ.get(name)}


def _base_of(endpoint: Endpoint) -> str | None:
    """The address with what litellm's own callers add to it before asking its descriptions."""
    base, provider = endpoint.api_base, endpoint.provider
    if provider == "anthropic":
        base = base or os.environ.get("ANTHROPIC_API_BASE") or "https://api.anthropic.com"
        return base if urlsplit(base).path.endswith("/v1/messages") else f"{base}/v1/messages"
    if provider == "openai":
        return (
            base
            or os.environ.get("OPENAI_BASE_URL")
            or os.environ.get("OPENAI_API_BASE")
            or "https://api.openai.com/v1"
        )
    return base


def _encode(body: Message) -> bytes:
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError as error:
        raise RequestRejected(f"the request cannot be written as JSON: {error}") from None
