"""Which model a client's name stands for, and what one request of it can take at most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from matrix.dialects.requests import IMAGE_TOKENS, BadRequest, ParsedRequest
from matrix.model.errors import near_matches
from matrix.model.records import Shape

SPEAKS: Final[Mapping[Shape, frozenset[str]]] = {
    "messages": frozenset({"anthropic"}),
    "responses": frozenset({"openai"}),
    "chat": frozenset(
        {
            "cerebras", "custom_openai", "dashscope", "deepinfra", "deepseek", "fireworks_ai",
            "groq", "hosted_vllm", "lm_studio", "minimax", "mistral", "moonshot", "nebius",
            "nvidia_nim", "openai", "openrouter", "perplexity", "sambanova", "together_ai", "xai",
            "zai",
        }
    ),
}  # fmt: skip
"""Shape -> providers that speak it themselves, so that requests pass as they are."""
_FIRST: Final[Mapping[Shape, str]] = {
    "messages": "anthropic",
    "chat": "openai",
    "responses": "openai",
}
"""Shape -> the provider that is meant by a bare model name."""
_FORMAT_TOKENS: Final = 1_024
"""Generous bound on what a provider adds around a request."""


class NoSuchModel(LookupError):
    """Nobody here goes by this name; the message says who does."""


class Upstream(NamedTuple):
    """A model that may be asked.

    Attributes:
        name: Its name in the run.
        provider: litellm's name of who has it.
        max_output: The longest answer in tokens, where known.
        window: The longest prompt in tokens, where known.
    """

    name: str
    provider: str
    max_output: int | None = None
    window: int | None = None

    def speaks(self, shape: Shape) -> bool:
        """Whether requests of this shape can pass as they are."""
        return self.provider in SPEAKS[shape]

    def output_bound(self, requested: ParsedRequest) -> int:
        """Most tokens that all answers to a request can have.

        Raises:
            BadRequest: Neither the request nor the price list says.
        """
        limit = requested.max_tokens or self.max_output
        if limit is None:
            raise BadRequest(
                f"nothing says how long an answer of {self.name} can be: give a limit of tokens "
                "in the request"
            )
        return limit * requested.choices

    def input_bound(self, requested: ParsedRequest, body: bytes) -> int:
        """Most tokens that a request can bring in: no tokenizer makes more of them than bytes.

        Raises:
            BadRequest: It refers to content elsewhere, and nothing says how much that can be.
        """
        if requested.refers:
            if self.window is None:
                raise BadRequest(
                    f"the request refers to content elsewhere, and nothing says how much of it "
                    f"{self.name} can read: send it inline"
                )
            return self.window
        return len(body) + requested.images * IMAGE_TOKENS + _FORMAT_TOKENS


class Upstreams:
    """Every model of a run, by the names that clients use."""

    def __init__(self, models: Mapping[str, Upstream], stand_in: str = "") -> None:
        """``stand_in`` is the model that answers for every name, if there is one."""
        self._models, self._stand_in = models, stand_in

    def find(self, name: str, shape: Shape) -> Upstream:
        """The model that a client means.

        Raises:
            UnknownModel: There is none.
        """
        for known in (self._stand_in, name, f"{_FIRST[shape]}/{name}"):
            if known in self._models:
                return self._models[known]
        first, models = f"{_FIRST[shape]}/", sorted(self._models)
        near = near_matches(first + name, models) or near_matches(name, models)
        hint = f"; did you mean {near[0].removeprefix(first)}?" if near else ""
        raise NoSuchModel(f"The model `{name}` is not known here, or has no price{hint}")

    def names(self) -> list[str]:
        """What clients may call them, as the provider does where that is clear."""
        firsts = set(_FIRST.values())
        return sorted(
            rest if provider in firsts else name
            for name in self._models
            for provider, _, rest in [name.partition("/")]
        )
