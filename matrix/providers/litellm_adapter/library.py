"""The one module that imports litellm: a small typed view of it, with its side effects off.

Everything untyped stays behind these methods. What is used of litellm beyond ``acompletion`` is
the interface that its providers are written against (``BaseConfig``) and its tables; tests compare
the requests on the wire with those of ``acompletion``, so that an upgrade that changes one of them
is noticed.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeAlias

from matrix.model.errors import RequestRejected
from matrix.providers.litellm_adapter.asking import Message
from matrix.providers.litellm_adapter.carrier import carrying
from matrix.providers.litellm_adapter.settings import SchemaMode

Response: TypeAlias = Any
"""A ``litellm.ModelResponse``."""
Config: TypeAlias = Any
"""litellm's description of a provider: how requests, answers and errors of it look."""

_QUIET = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # otherwise it fetches a price list on import
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",  # otherwise on the first request
    "LITELLM_LOCAL_BLOG_POSTS": "True",
    "LITELLM_MODE": "PRODUCTION",  # otherwise it reads the .env files of whatever folder this is
    "LITELLM_LOG": "ERROR",
}
_CALLBACKS = (
    "callbacks",
    "input_callback",
    "success_callback",
    "failure_callback",
    "service_callback",
    "_async_input_callback",
    "_async_success_callback",
    "_async_failure_callback",
)
_CARRIED = "carried_by_matrix"
"""Marks litellm's maker of transports, which is one for the whole process, as replaced."""


class Endpoint(NamedTuple):
    """Where litellm would send requests for a model.

    Attributes:
        model: The provider's own name of the model.
        provider: litellm's name of the provider.
        api_key: The key it found, if it looks for one.
        api_base: The address it found, if it looks for one.
    """

    model: str
    provider: str
    api_key: str | None
    api_base: str | None


class Library:
    """litellm, imported and silenced."""

    def __init__(self, connections: int) -> None:
        """Import litellm: takes seconds, so only the process that calls models does it.

        Args:
            connections: Most connections that its own transport may open.
        """
        limit = str(connections)
        os.environ.update(
            _QUIET, AIOHTTP_CONNECTOR_LIMIT=limit, AIOHTTP_CONNECTOR_LIMIT_PER_HOST=limit
        )
        import litellm

        self._litellm: Any = litellm
        self._silence()
        self._carry()

    def _silence(self) -> None:
        """Nothing of litellm's own: no callbacks, cache, retries, changed requests or chatter."""
        for name in _CALLBACKS:
            setattr(self._litellm, name, [])
        settings: Mapping[str, Any] = {
            "telemetry": False,
            "suppress_debug_info": True,
            "turn_off_message_logging": True,
            "cache": None,
            "num_retries": None,
            "drop_params": False,
            "modify_params": False,
            "model_fallbacks": None,
        }
        for name, value in settings.items():
            setattr(self._litellm, name, value)
        logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)

    def _carry(self) -> None:
        """Have its clients send attempts over the connections of whoever makes them."""
        from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

        made: Any = AsyncHTTPHandler
        if not getattr(made, _CARRIED, False):
            made.create_async_transport = staticmethod(carrying(made.create_async_transport))
            setattr(made, _CARRIED, True)

    async def complete(self, target: str, messages: Sequence[Message], **params: Any) -> Response:
        """``litellm.acompletion``, once: no retries, no dropped parameters."""
        return await self._litellm.acompletion(
            model=target,
            messages=messages,
            max_retries=0,
            num_retries=0,
            drop_params=False,
            caching=False,
            _skip_mcp_handler=True,  # for any tool it would import an optional package
            **params,
        )

    def endpoint(self, target: str, api_base: str | None, api_key: str | None) -> Endpoint:
        """Which provider a model name stands for, and its address.

        Raises:
            litellm.BadRequestError: No provider goes by this name.
        """
        return Endpoint(
            *self._litellm.get_llm_provider(model=target, api_base=api_base, api_key=api_key)
        )

    def config(self, model: str, provider: str) -> Config | None:
        """The description of a provider's chat requests, if it has one."""
        from litellm.types.utils import LlmProviders
        from litellm.utils import ProviderConfigManager

        known = {member.value: member for member in LlmProviders}
        if provider not in known:
            return None
        return ProviderConfigManager.get_provider_chat_config(model=model, provider=known[provider])

    def mapped(self, model: str, provider: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters under the provider's own names.

        Raises:
            litellm.UnsupportedParamsError: The provider takes no such parameter.
        """
        found: dict[str, Any] = self._litellm.get_optional_params(
            model=model, custom_llm_provider=provider, drop_params=False, **params
        )
        return found

    def parameters(self, model: str, provider: str) -> frozenset[str]:
        """Names of the parameters that a model takes, litellm's own and the provider's."""
        listed = self._litellm.get_supported_openai_params(
            model=model, custom_llm_provider=provider
        )
        config = self.config(model, provider)
        described = [] if config is None else type(config).__mro__
        own = {name for each in described for name in vars(each).get("__annotations__", ())}
        fields = {name for name in own if name.islower() and not name.startswith("_")}
        return frozenset({*(listed or ()), *fields})

    def schema_mode(self, model: str, provider: str) -> SchemaMode:
        """The strongest way of asking for JSON that this model is known to follow."""
        if self._litellm.supports_response_schema(model=model, custom_llm_provider=provider):
            return "schema"
        takes = self._litellm.get_supported_openai_params(model=model, custom_llm_provider=provider)
        return "object" if "response_format" in (takes or ()) else "none"

    def refuse_uncallable(self, model: str, provider: str) -> None:
        """Refuse what litellm would only fail at, with an error that reads like an outage.

        Raises:
            RequestRejected: The model needs a package that is not installed.
        """
        if self.speaks_responses(model, provider) and find_spec("mcp") is None:
            raise RequestRejected(
                f"{provider}/{model} answers only to OpenAI's Responses API, for which litellm "
                "needs the package mcp; install it, or choose a model of chat completions"
            )

    def speaks_responses(self, model: str, provider: str) -> bool:
        """Whether litellm sends this model's chats to another API than chat completions."""
        listed = self._litellm.model_cost
        entry = listed.get(f"{provider}/{model}") or listed.get(model) or {}
        return model.startswith("responses/") or entry.get("mode") == "responses"

    def without_unknown_betas(
        self, headers: dict[str, str], body: Message, provider: str
    ) -> tuple[dict[str, str], Message]:
        """Headers and body without beta features that this provider would refuse."""
        from litellm.anthropic_beta_headers_manager import update_request_with_filtered_beta

        cleaned: tuple[dict[str, str], Message] = update_request_with_filtered_beta(
            headers=headers, request_data=body, provider=provider
        )
        return cleaned

    def empty_response(self) -> Response:
        """A response for a provider's description to fill."""
        return self._litellm.ModelResponse()

    def tls(self) -> Any:
        """TLS context or setting that litellm itself would use (its environment variables)."""
        from litellm.llms.custom_httpx.http_handler import get_ssl_configuration

        return get_ssl_configuration()

    def classified(self, error: Exception, model: str, provider: str) -> Exception:
        """The class of error that litellm finds for a provider's refusal."""
        try:
            found = self._litellm.exception_type(
                model=model,
                custom_llm_provider=provider,
                original_exception=error,
                completion_kwargs={},
                extra_kwargs={},
            )
        except Exception as raised:  # raising is how it returns
            return raised
        return found if isinstance(found, Exception) else error
