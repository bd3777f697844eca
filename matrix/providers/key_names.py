"""Which environment variable holds the key for a provider, without paying for litellm to say so.

A small table of the providers people use; a test compares it with litellm. For a provider that is
not in it nothing is claimed: litellm looks for the key itself when the first request is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_SPECIAL: Final[dict[str, str]] = {
    "fireworks_ai": "FIREWORKS_AI_API_KEY FIREWORKS_API_KEY FIREWORKSAI_API_KEY FIREWORKS_AI_TOKEN",
    "gemini": "GEMINI_API_KEY GOOGLE_API_KEY",
    "perplexity": "PERPLEXITYAI_API_KEY PERPLEXITY_API_KEY",
    "together_ai": "TOGETHERAI_API_KEY TOGETHER_API_KEY TOGETHER_AI_API_KEY TOGETHER_AI_TOKEN",
}
_USUAL: Final = """
anthropic cerebras dashscope deepinfra deepseek groq minimax mistral moonshot nebius novita
nvidia_nim openai openrouter sambanova xai zai
"""
"""Providers whose variable is their name in capitals with ``_API_KEY`` behind it."""

KEY_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    **{provider: (f"{provider.upper()}_API_KEY",) for provider in _USUAL.split()},
    **{provider: tuple(names.split()) for provider, names in _SPECIAL.items()},
}
"""litellm's name of a provider -> variables, any one of which is enough; the usual one first."""

KEYLESS: Final = frozenset({"hosted_vllm", "lm_studio", "ollama", "ollama_chat"})
"""Providers that are a server of one's own and need no key."""


def key_names(provider: str) -> tuple[str, ...] | None:
    """Variables of which one must be set; empty if none is needed, ``None`` if nobody knows."""
    return () if provider in KEYLESS else KEY_NAMES.get(provider)
