"""What the calls of a run took, and what caches did for them.

There is a row for each call, so the table is read piece by piece, and rows that are alike are
summed as they come.

Of caches there are two: answers that earlier runs had bought, and prompts read from a cache. The
first is this project's own response cache, which saves the whole call. The second is the
provider's: tokens it has read before are cheaper, tokens it writes to its cache may be dearer, and
what that comes to is the price without any cache less the price that was paid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from matrix.admission.tariffs import Tariff
from matrix.model.money import NanoUSD
from matrix.model.records import Usage

_ALIKE: Final = ("role", "tag", "model", "disposition", "answered", "error_class")
"""Columns of ``calls`` by whose values rows are summed."""

_SUMMED: Final = ("cost_nano", "overrun_nano", "saved_nano", "tokens_in", "tokens_out")
"""Columns of ``calls`` that are summed; one that an older file has not counts as 0."""

_CACHED: Final = ("tokens_cached", "tokens_cache_write", "tokens_reasoning")

CALL_COLUMNS: Final = (*_ALIKE, *_SUMMED, *_CACHED)
"""Columns of ``calls`` that :func:`call_sums` looks at."""


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

    def plus(self, other: PromptCacheUse) -> PromptCacheUse:
        """Of these calls and of others together."""
        known = self.saved is not None and other.saved is not None
        saved = (self.saved or 0) + (other.saved or 0) if known else None
        return PromptCacheUse(self.cached + other.cached, self.of + other.of, saved)


class CallSums(NamedTuple):
    """The calls of a run in sums.

    Attributes:
        rows: A data frame with a row for each role, tag, model, disposition, error class and
            whether there was an answer; ``calls`` is how many, and what is in nano-dollars or
            tokens is their sum.
        prompt_cache: What the providers' own caches did.
    """

    rows: Any
    prompt_cache: PromptCacheUse


def call_sums(pieces: Iterable[Any], tariffs: Mapping[str, Tariff]) -> CallSums:
    """Sum up calls that come as Arrow tables, piece by piece, with :data:`CALL_COLUMNS`."""
    import pandas as pd

    found = [_summed(pd.DataFrame(columns=[*CALL_COLUMNS, "calls"]))]
    cached = PromptCacheUse(0, 0, 0)
    for piece in pieces:
        calls = piece.to_pandas()
        cached = cached.plus(prompt_cache_use(calls, tariffs))
        found = [_summed(pd.concat([*found, _summed(calls.assign(calls=1))]))]
    return CallSums(found[0], cached)


def charged_nano(calls: Any) -> Any:
    """What each of some calls has cost, whatever was set aside for it, in nano-dollars.

    Tables of runs from before overruns had a column have none of it.
    """
    return calls["cost_nano"].fillna(0) + calls["overrun_nano"].fillna(0).astype("int64")


def _summed(rows: Any) -> Any:
    numbers = {name: rows[name].fillna(0).astype("int64") for name in (*_SUMMED, "calls")}
    texts = {name: rows[name].astype("object") for name in _ALIKE if name != "answered"}
    plain = rows.assign(**numbers, **texts, answered=rows["answered"].fillna(False).astype(bool))
    groups = plain.groupby(list(_ALIKE), dropna=False, sort=False)
    return groups[[*_SUMMED, "calls"]].sum().reset_index()


def cache_use(rows: Any) -> CacheUse:
    """The response cache, from the rows of :class:`CallSums`."""
    answered = rows[rows["answered"]]
    hits = answered[answered["disposition"] == "cached"]
    return CacheUse(
        int(hits["calls"].sum()), int(answered["calls"].sum()), int(hits["saved_nano"].sum())
    )


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
