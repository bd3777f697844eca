"""What the adapter has to know: plain data, picklable, without secrets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

SchemaMode = Literal["auto", "schema", "object", "none"]
"""How an answer's JSON Schema is asked for.

``auto`` uses the strongest means that litellm says the model has: the schema itself, or else "some
JSON object", or else nothing, which leaves it to the prompt. The others say so for models that
litellm does not know, such as a local server's.
"""

Transport = Literal["direct", "litellm"]
"""``direct``: litellm's own translation of requests, answers and errors over this project's
connections, for the providers it was checked for; everything else, and everything under
``litellm``, goes through ``litellm.acompletion``."""


class ModelSettings(NamedTuple):
    """How to reach one model.

    Attributes:
        target: litellm's name of the model, with the provider's prefix.
        api_base: Address of the service; ``None`` is the provider's own.
        api_key_env: Name of the environment variable that holds the key; ``None`` leaves it to
            litellm (``OPENAI_API_KEY`` ...). The key itself never leaves the process.
        schema_mode: How JSON Schemas are asked for.
        prompt_cache: Whether to mark long prompts for the provider's cache where that takes marks
            (anthropic). Writing to the cache costs more than plain input, so this
            must be off for a model whose price has no cache-write rate.
    """

    target: str
    api_base: str | None = None
    api_key_env: str | None = None
    schema_mode: SchemaMode = "auto"
    prompt_cache: bool = True


@dataclass(frozen=True, slots=True)
class LiteLLMSettings:
    """Settings of one provider process.

    Attributes:
        models: Model name as calls carry it -> how to reach it.
        timeout_s: Longest wait for one answer, in seconds.
        connections: Most requests in flight from this process.
        transport: Which way requests take.
    """

    models: Mapping[str, ModelSettings] = field(default_factory=dict)
    timeout_s: float = 180.0
    connections: int = 1_000
    transport: Transport = "direct"
