"""What caches did for a run: answers that earlier runs had bought, and prompts read from a cache.

The first is this project's own response cache, which saves the whole call. The second is the
provider's: tokens it has read before are cheaper, tokens it writes to its cache may be dearer, and
what that comes to is the price without any cache less the price that was paid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from matrix.admission.tariffs import Tariff
from matrix.model.money import NanoUSD
from matrix.model.records import Usage

CACHE_COLUMNS: Final = (
    "model",
    "disposition",
    "answered",
    "saved_nano",
    "tokens_in",
    "tokens_out",
    "tokens_cached",
    "tokens_cache_write",
    "tokens_reasoning",
)
"""Columns of ``calls`` that the functions here look at."""


class CacheUse(NamedTuple):
    """Calls answered by what earlier runs bought, of how many, and what those cost then."""

    calls: int
    of: int
    saved: NanoUSD


class PromptCacheUse(NamedTuple):
    """Input tokens read from the provider's cache, of how many, and what the cache saved.

    ``saved`` is net of what writing cost, so it can be negative; ``None`` if a price is not known.
    """

    cached: int
    of: int
    saved: NanoUSD | None

    @property
    def share(self) -> float:
        """Part of the input tokens that was read from the cache, from 0 to 1."""
        return self.cached / self.of if self.of else 0.0


def cache_use(calls: Any) -> CacheUse:
    """The response cache, from a frame of ``calls``."""
    answered = calls[calls["answered"]]
    hits = answered[answered["disposition"] == "cached"]
    # files written before there was a cache have no such column, which reads as null
    return CacheUse(len(hits), len(answered), int(hits["saved_nano"].fillna(0).sum()))


def prompt_cache_use(calls: Any, tariffs: Mapping[str, Tariff]) -> PromptCacheUse:
    """The providers' caches, from a frame of ``calls``; only what was sent in this run counts."""
    sent = calls[calls["disposition"] == "settled"]
    used = sent[(sent["tokens_cached"] > 0) | (sent["tokens_cache_write"] > 0)]
    return PromptCacheUse(
        int(used["tokens_cached"].sum()), int(sent["tokens_in"].sum()), _saved(used, tariffs)
    )


def _saved(used: Any, tariffs: Mapping[str, Tariff]) -> NanoUSD | None:
    if not tariffs.keys() >= set(used["model"]):
        return None
    kinds = (used[f"tokens_{kind}"] for kind in ("in", "out", "cached", "cache_write", "reasoning"))
    return sum(
        saved_by_prompt_cache(tariffs[model], Usage(*map(int, counts)))
        for model, *counts in zip(used["model"], *kinds, strict=True)
    )


def saved_by_prompt_cache(tariff: Tariff, usage: Usage) -> NanoUSD:
    """What the provider's cache made a call cheaper by; less than nothing if writing cost more."""
    read = max(usage.input, usage.cached + usage.cache_write)
    uncached = usage._replace(input=read, cached=0, cache_write=0)
    return tariff.cost(uncached) - tariff.cost(usage)
