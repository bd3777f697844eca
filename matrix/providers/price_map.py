"""Reads the price list that litellm ships, without paying for an import of litellm.

The list is one JSON file inside the installed package. Its content hash pins the prices of a run.
A price is never guessed: a model that is not listed, or listed without what it takes to price a
request, is an error that says what is missing; a listed price of zero counts as missing, because
the list writes zero for "unknown" as often as for "free".

Choices where the list leaves room, each on the dear side: standard service (no batch, flex or
off-peak discounts); cached tokens without a price of their own cost as much as ordinary input;
models that search the web on every request pay the dearest search fee each time; Vertex AI is
billed as a regional endpoint.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

import orjson

from matrix.admission.tariffs import BadPrice, Rates, Tariff, Tier, rate_from_usd
from matrix.model.errors import did_you_mean
from matrix.model.money import from_usd

FILE_NAME = "model_prices_and_context_window_backup.json"

Listing: TypeAlias = Mapping[str, Any]
"""One entry of the list, as it stands there."""

_CHAT_MODES = frozenset({"chat", "responses", None})
_KINDS = ("input", "output", "cached", "cache_write", "reasoning")
_KEYS = (
    "input_cost_per_token",
    "output_cost_per_token",
    "cache_read_input_token_cost",
    "cache_creation_input_token_cost",
    "output_cost_per_reasoning_token",
)
_ABOVE = re.compile(rf"^(?:{'|'.join(_KEYS)})_above_(\d+)(k?)_tokens$")
_FROM_THE_THRESHOLD = frozenset({"xai"})
"""Providers whose long-context tier starts at the threshold itself and not one token above it."""
_FAMILIES = ("vertex_ai", "bedrock", "fireworks_ai")
"""Providers whose models are listed under names that only start with the provider's."""
_OTHER_UNITS = ("input_cost_per_second", "output_cost_per_second", "input_cost_per_character")


class PriceUnknown(ValueError):
    """Nothing says what this model costs; the message says what is missing and how to give it."""


class ModelFacts(NamedTuple):
    """What the list knows about a model besides its price.

    Attributes:
        key: Name under which the model is listed.
        provider: litellm's name of the provider.
        mode: ``chat``, ``responses`` ...
        max_output_tokens: The longest answer in tokens, where known.
        context_window: The longest prompt in tokens, where known.
    """

    key: str
    provider: str
    mode: str
    max_output_tokens: int | None
    context_window: int | None
    supports_response_schema: bool
    supports_prompt_caching: bool
    supports_reasoning: bool = False


class PriceMap:
    """A price list, looked up by model name as litellm does it."""

    def __init__(self, listings: Mapping[str, Listing], sha256: str) -> None:
        """Take a list as it is.

        Args:
            listings: Model name -> entry, in litellm's format.
            sha256: Content hash of the list, in hex.
        """
        self._listings = listings
        self._by_lower = {name.lower(): name for name in listings}
        self.sha256 = sha256

    def names(self) -> Iterable[str]:
        """Every name on the list."""
        return self._listings.keys()

    def find(self, target: str) -> ModelFacts | None:
        """What is known about a model, or ``None`` if it is not listed."""
        key = self._key(target)
        return None if key is None else _facts(key, self._listings[key])

    def tariff(self, target: str, api_base: str | None = None) -> Tariff:
        """The tariff of a model.

        Args:
            target: Model name, with or without the provider's prefix.
            api_base: Address of the service, if not the provider's own: some regions cost more.

        Raises:
            PriceUnknown: The model is not listed, or not with everything that it bills.
        """
        key = self._key(target)
        if key is None:
            hint = did_you_mean(target, self._names_near(target))
            raise _unknown(target, f"litellm's price list does not know it{hint}")
        listing = self._listings[key]
        _refuse_unpriceable(target, key, listing)
        try:
            return _tariff(listing, key, _uplift(listing, api_base))
        except (BadPrice, ArithmeticError, TypeError) as error:
            raise _unknown(target, f"its listed price cannot be read: {error}") from error

    def _names_near(self, target: str) -> list[str]:
        """Names of the same provider, written as the target is: with its prefix or without."""
        provider, slash, _ = target.partition("/")
        if not slash:
            return [name for name in self._listings if "/" not in name]
        own = [name for name in self._listings if _same_provider(provider, self._listings[name])]
        return [name if "/" in name else f"{provider}/{name}" for name in own]

    def _key(self, target: str) -> str | None:
        provider, slash, rest = target.partition("/")
        names = [target, rest, f"{provider}/{target}"] if slash else [target]
        for name in names:
            key = name if name in self._listings else self._by_lower.get(name.lower())
            if key is not None and (not slash or _same_provider(provider, self._listings[key])):
                return key
        return None


@cache
def bundled() -> PriceMap:
    """The list of the installed litellm; read once per process (about 30 ms).

    Raises:
        PriceUnknown: litellm is not installed, or has no such file.
    """
    path = _bundled_path()
    raw = path.read_bytes()
    return PriceMap(orjson.loads(raw), hashlib.sha256(raw).hexdigest())


def _bundled_path() -> Path:
    spec = find_spec("litellm")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / FILE_NAME
        if path.is_file():
            return path
    raise PriceUnknown(f"no {FILE_NAME} found; install litellm, or give prices under models")


def _facts(key: str, listing: Listing) -> ModelFacts:
    return ModelFacts(
        key,
        str(listing.get("litellm_provider", "")),
        str(listing.get("mode", "chat")),
        _count(listing.get("max_output_tokens")),
        _count(listing.get("max_input_tokens")),
        listing.get("supports_response_schema") is True,
        listing.get("supports_prompt_caching") is True,
        listing.get("supports_reasoning") is True,
    )


def _count(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and value > 0 else None


def _same_provider(provider: str, listing: Listing) -> bool:
    listed = str(listing.get("litellm_provider", provider))
    return listed == provider or (provider in _FAMILIES and listed.startswith(provider))


def _unknown(target: str, why: str) -> PriceUnknown:
    return PriceUnknown(
        f"no price for model {target!r}: {why}; give it one under models.<name>.price "
        "(0 only if it is really free, such as a model on your own machine)"
    )


def _refuse_unpriceable(target: str, key: str, listing: Listing) -> None:
    mode = listing.get("mode")
    if mode not in _CHAT_MODES:
        raise _unknown(target, f"it is listed as {mode!r}, which is not a chat model")
    if "citation_cost_per_token" in listing or "deep-research" in key:
        raise _unknown(target, "it bills searches and citations, which nothing bounds beforehand")
    if any(unit in listing for unit in _OTHER_UNITS) and not listing.get(_KEYS[0]):
        raise _unknown(target, "it is billed by time or by characters, not by tokens")
    first = (listing.get("tiered_pricing") or [{}])[0]
    for name in _KEYS[:2]:
        price = first.get(name, listing.get(name))
        if not price:
            what = name.split("_")[0]
            raise _unknown(target, f"its {what} price is {'missing' if price is None else 'zero'}")


def _tariff(listing: Listing, key: str, uplift: Decimal) -> Tariff:
    by_range = listing.get("tiered_pricing")
    tiers = list((_range_tiers if by_range else _above_tiers)(listing, uplift))
    if tiers and tiers[0].from_tokens <= 1:
        rates, tiers = tiers[0].rates, tiers[1:]
    else:
        rates = _rates(listing, uplift)
    return Tariff(rates, tuple(tiers), _request_fee(listing, key))


def _rates(prices: Listing, uplift: Decimal) -> Rates:
    """Rates by litellm's keys; kinds without a price cost as much as the whole they belong to."""
    found = {
        kind: rate_from_usd(Decimal(str(prices[key])) * uplift)
        for kind, key in zip(_KINDS, _KEYS, strict=True)
        if prices.get(key) is not None
    }
    whole_in, whole_out = found["input"], found["output"]
    return Rates(
        whole_in,
        whole_out,
        found.get("cached", whole_in),
        found.get("cache_write", whole_in),
        found.get("reasoning", whole_out),
    )


def _range_tiers(listing: Listing, uplift: Decimal) -> Iterator[Tier]:
    """Tiers listed as ranges of prompt tokens, open below: (start, end]."""
    for tier in sorted(listing.get("tiered_pricing") or (), key=lambda tier: tier["range"][0]):
        prices = {"output_cost_per_token": listing.get("output_cost_per_token"), **tier}
        yield Tier(int(tier["range"][0]) + 1, _rates(prices, uplift))


def _above_tiers(listing: Listing, uplift: Decimal) -> Iterator[Tier]:
    """Tiers listed as ``..._above_200k_tokens``; what a tier leaves out stays as below it."""
    found = {match for key, value in listing.items() if value and (match := _ABOVE.match(key))}
    thresholds = {int(m[1]) * (1000 if m[2] else 1): f"{m[1]}{m[2]}" for m in found}
    extra = 0 if listing.get("litellm_provider") in _FROM_THE_THRESHOLD else 1
    prices: dict[str, Any] = dict(listing)
    for threshold, words in sorted(thresholds.items()):
        above = {key: listing.get(f"{key}_above_{words}_tokens") for key in _KEYS}
        prices |= {key: value for key, value in above.items() if value is not None}
        yield Tier(threshold + extra, _rates(prices, uplift))


def _request_fee(listing: Listing, key: str) -> int:
    fee = from_usd(str(listing.get("input_cost_per_request") or 0))
    searches = listing.get("search_context_cost_per_query")
    always = listing.get("litellm_provider") == "perplexity" or re.search(r"-search-(api|pre)", key)
    if searches and always:
        fee += max(from_usd(str(price)) for price in searches.values())
    return fee


def _uplift(listing: Listing, api_base: str | None) -> Decimal:
    """What a region adds: 1 where it adds nothing."""
    if str(listing.get("litellm_provider", "")).startswith("vertex_ai"):
        return Decimal(str(listing.get("regional_endpoint_uplift_multiplier") or 1))
    host = urlsplit(api_base or "").hostname or ""
    if host.endswith(".api.openai.com"):
        region = host.partition(".")[0]
        return Decimal(str(listing.get(f"regional_processing_uplift_multiplier_{region}") or 1))
    return Decimal(1)
