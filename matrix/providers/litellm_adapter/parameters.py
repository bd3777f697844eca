"""Which parameters a real model takes, as litellm says; imports litellm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from matrix.model.records import JSON
from matrix.providers.litellm_adapter.asking import more_parameters
from matrix.providers.litellm_adapter.library import Library

_ALWAYS: Final = frozenset({"max_tokens", "timeout_s", "extra_body"})
_WARM_ONLY: Final = frozenset({"anthropic", "bedrock", "vertex_ai"})
"""Providers that take no temperature but 1 of a model that reasons; litellm sends any."""
_NO_KEY: Final = "none"
_OURS: Final = {"reasoning_effort": "effort", "thinking": "thinking_tokens"}


class LiteLLMParameters:
    """Answers from litellm's tables and descriptions; nothing is sent."""

    def __init__(self) -> None:
        """Import litellm, which takes seconds."""
        self._library = Library(connections=1)

    def names(self, target: str, api_base: str | None) -> frozenset[str]:
        """Parameters that a model takes, by the names of a run spec."""
        model, provider, *_ = self._library.endpoint(target, api_base, _NO_KEY)
        found = self._library.parameters(model, provider)
        return _ALWAYS | {_OURS.get(name, name) for name in found}

    def trouble(self, target: str, api_base: str | None, params: Mapping[str, JSON]) -> str:
        """Why a model would refuse these together; empty if litellm translates them."""
        model, provider, *_ = self._library.endpoint(target, api_base, _NO_KEY)
        asked = {name: value for name, value in params.items() if name not in _ALWAYS}
        limit = params.get("max_tokens") or 1_000_000
        try:
            sent = {"max_tokens": limit, **more_parameters(asked)}
            mapped = self._library.mapped(model, provider, sent)
            thinks = (mapped.get("thinking") or {}).get("type") not in (None, "disabled")
            if provider in _WARM_ONLY and thinks and mapped.get("temperature") not in (None, 1):
                return "takes no temperature but 1 while it reasons"
        except Exception as error:  # each provider's description raises its own
            lines = str(getattr(error, "message", None) or error).strip().splitlines()
            return lines[0].removeprefix("litellm.UnsupportedParamsError: ") if lines else "refused"
        return ""
