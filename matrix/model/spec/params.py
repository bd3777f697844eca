"""Parameters of model calls: what a run spec may say, and what it makes of a call's own.

From the weakest to the strongest: what the kind asks for, ``params.all``, the model's own
(``models.NAME.params``), ``params.ROLE``, and the levels of factors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from matrix.model.records import JSON, CallParams
from matrix.model.seeds import canonical

ALL: Final = "all"
"""Stands for every role."""

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]

ROOM: Final[Mapping[str, int]] = {
    "none": 0,
    "minimal": 1_024,
    "low": 4_096,
    "medium": 8_192,
    "high": 16_384,
    "xhigh": 32_768,
}
"""Tokens that an effort adds to what a kind allows for the text. Providers count reasoning as
output, so a limit that was meant for the text alone would leave none of it."""

TYPICAL_REASONING: Final[Mapping[str, int]] = {
    "none": 0,
    "minimal": 60,
    "low": 250,
    "medium": 800,
    "high": 2_500,
    "xhigh": 6_000,
}
"""Reasoning tokens of a call, for estimates and simulated models; a first round replaces it."""

COMMON: Final = frozenset(
    {
        "extra_body",
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "metadata",
        "parallel_tool_calls",
        "presence_penalty",
        "prompt_cache_key",
        "prompt_cache_retention",
        "response_format",
        "safety_identifier",
        "service_tier",
        "store",
        "top_k",
        "top_logprobs",
        "user",
        "verbosity",
    }
)
"""Parameters beside those of :class:`Params` that some providers take; simulated models ignore
them. What a real model takes, litellm says."""

_INSTEAD: Final[Mapping[str, str]] = {
    "max_completion_tokens": "is called max_tokens here",
    "max_output_tokens": "is called max_tokens here",
    "reasoning_effort": "is called effort here",
    "thinking": "is called thinking_tokens here, and is a number",
    "timeout": "is called timeout_s here",
    "request_timeout": "is called timeout_s here",
    "stop_sequences": "is called stop here",
    "n": "would multiply what a call costs; ask more often instead",
    "best_of": "would multiply what a call costs; ask more often instead",
    "num_choices": "would multiply what a call costs; ask more often instead",
    "model": "is what `roles` say",
    "messages": "is what the kind says",
    "tools": "is what the kind says",
    "tool_choice": "is what the kind says",
    "functions": "is what the kind says",
    "function_call": "is what the kind says",
    "stream": "belongs to the engine, which reads answers whole",
    "stream_options": "belongs to the engine, which reads answers whole",
    "max_retries": "belongs to limits.attempts",
    "num_retries": "belongs to limits.attempts",
    "api_base": "belongs to models.NAME.api_base",
    "base_url": "belongs to models.NAME.api_base",
    "api_key": "belongs to models.NAME.api_key_env, as the name of a variable",
    "extra_headers": "may hold a key, and what a spec says is kept in the results",
    "default_headers": "may hold a key, and what a spec says is kept in the results",
    "cache_control": "belongs to the engine, which marks long prompts where that saves money",
    "modalities": "is not read here: answers are text",
    "audio": "is not read here: answers are text",
    "prediction": "is billed beyond max_tokens, so no cap could hold it",
    "web_search_options": "is billed beside tokens, so no cap could hold it",
    "include_server_side_tool_invocations": "is billed beside tokens, so no cap could hold it",
    "speed": "changes prices, so no cap could hold it",
}
"""Parameters that no spec may set, and why."""

_CHEAP_TIERS: Final = ("default", "flex")


class Params(BaseModel):
    """Parameters of the calls of a role, or of a model.

    Any other parameter that the model takes may be given too, under litellm's name; what litellm
    does not know goes into ``extra_body``.
    """

    model_config = ConfigDict(defer_build=True, frozen=True, extra="allow", validate_default=True)

    max_tokens: int | None = Field(
        default=None,
        ge=1,
        le=10_000_000,
        description="Most tokens of an answer, reasoning included; the kind's own limit if absent.",
    )
    temperature: float | None = Field(default=None, ge=0, le=2, description="Of the draw.")
    top_p: float | None = Field(default=None, gt=0, le=1, description="Share of the likeliest.")
    stop: str | tuple[str, ...] | None = Field(
        default=None, description="Texts at which an answer ends."
    )
    seed: int | None = Field(default=None, description="The provider's own seed, where it has one.")
    effort: Effort | None = Field(
        default=None,
        description="How much to reason; where max_tokens is not given, room for it is added.",
    )
    thinking_tokens: int | None = Field(
        default=None,
        ge=0,
        le=1_000_000,
        description="Most tokens of reasoning, for models that take a budget; 0 is none.",
    )
    timeout_s: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="Longest wait for one answer, in seconds; providers.timeout_s if absent.",
    )

    @property
    def given(self) -> dict[str, JSON]:
        """What was given, by name, as JSON."""
        return self.model_dump(mode="json", exclude_none=True)


OWN: Final = frozenset(Params.model_fields)
"""Parameters that mean the same for every model; translated where a provider calls it otherwise."""


def refused(name: str, value: JSON = None) -> str | None:
    """Why no spec may set this parameter (to this value), or ``None``."""
    if name == "extra_body":
        return _refused_body(value)
    if name == "service_tier" and value not in _CHEAP_TIERS:
        return f"may change prices, so no cap could hold it; allowed: {', '.join(_CHEAP_TIERS)}"
    return _INSTEAD.get(name)


def _refused_body(value: JSON) -> str | None:
    if not isinstance(value, dict):
        return f"should be a mapping of names to values, found {value!r}"
    wrong = [name for name in value if name in OWN or refused(name, value[name]) is not None]
    if wrong:
        return f"holds {', '.join(wrong)}, which cannot be set behind the engine's back"
    return None


class Parameters(NamedTuple):
    """What goes with a request, and how long to wait for its answer (seconds)."""

    params: CallParams
    timeout_s: float | None


def resolved(
    asked: CallParams, own: Mapping[str, JSON], layers: Sequence[Mapping[str, JSON]]
) -> Parameters:
    """A call's own parameters with those of a spec over them.

    Args:
        asked: What the kind asks for.
        own: Further parameters of the call, by name.
        layers: What the spec says, the weakest first.
    """
    layers = [layer for layer in layers if layer]
    if not layers and not own:
        return Parameters(asked, None)
    merged: dict[str, Any] = {**own}
    for layer in layers:
        merged.update(layer)
    limit = merged.pop("max_tokens", None) or asked.max_tokens + reasoning_room(merged)
    temperature = merged.pop("temperature", asked.temperature)
    timeout_s = merged.pop("timeout_s", None)
    more = canonical(merged).decode() if merged else ""
    params = asked._replace(max_tokens=limit, temperature=temperature, more=more)
    return Parameters(params, timeout_s)


def layers_of(
    params: Mapping[str, JSON], of_model: Mapping[str, JSON], role: str
) -> list[Mapping[str, JSON]]:
    """What a session's plan and its model say of a role's calls, the weakest first."""
    return [params.get(ALL) or {}, of_model, params.get(role) or {}]


def reasoning_room(params: Mapping[str, JSON]) -> int:
    """Tokens that these parameters let a model reason for, beside its text."""
    budget = params.get("thinking_tokens")
    return int(ROOM.get(str(params.get("effort")), 0) if budget is None else budget)


def typical_reasoning(params: Mapping[str, JSON]) -> int:
    """Tokens that a model can be expected to reason for under these parameters."""
    budget = params.get("thinking_tokens")
    if budget is not None:
        return int(budget) // 4
    return TYPICAL_REASONING.get(str(params.get("effort")), 0)
