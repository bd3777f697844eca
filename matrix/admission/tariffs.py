"""Tariffs: what an attempt can cost at most, and what it did cost, to the nano-dollar.

Providers price tokens by kind (read, read from cache, written to cache, written, thought), some by
the length of the prompt, a few by the request. Rates are integer **atto-dollars** per token (a
thousand-millionth of a nano-dollar), so that every price in use is exact: $0.06875 per million
tokens is 68,750,000,000 of them. Sums stay in integers and are rounded up to whole nano-dollars
once, at the end.

Where a price list names long-context tiers, the tier that the prompt reaches prices the whole
request, output included, which is how providers bill it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import NamedTuple, TypeAlias

from matrix.model.money import NanoUSD
from matrix.model.records import JSON, Usage

AttoUSD: TypeAlias = int
"""A price per token in atto-dollars (1e-18 USD)."""

ATTO_PER_NANO = 1_000_000_000
_ATTO_PER_USD = Decimal(10) ** 18
_TOKENS_PER_MTOK = 1_000_000
DEAREST_USD_PER_TOKEN = Decimal(1)
"""No token costs a dollar; a price above it is a slip of units."""


class BadPrice(ValueError):
    """A price that is negative, not a number, or absurdly high."""


def rate_from_usd(usd_per_token: float | str | Decimal) -> AttoUSD:
    """Dollars per token to atto-dollars per token, exact to 18 decimals and rounded up beyond.

    Raises:
        BadPrice: The price is negative, not finite, or above a dollar a token.
    """
    exact = Decimal(str(usd_per_token))
    if not exact.is_finite() or not 0 <= exact <= DEAREST_USD_PER_TOKEN:
        raise BadPrice(f"a price of {usd_per_token} USD per token; allowed: 0 to 1")
    return int((exact * _ATTO_PER_USD).to_integral_value(rounding=ROUND_CEILING))


class Rates(NamedTuple):
    """Atto-dollars per token of each kind.

    ``cached`` and ``cache_write`` tokens are part of the input, ``reasoning`` tokens part of the
    output; each token is priced once, by its own kind.
    """

    input: AttoUSD
    output: AttoUSD
    cached: AttoUSD
    cache_write: AttoUSD
    reasoning: AttoUSD

    @property
    def dearest_input(self) -> AttoUSD:
        """The most that one token of a prompt can cost."""
        return max(self.input, self.cached, self.cache_write)

    @property
    def dearest_output(self) -> AttoUSD:
        """The most that one token of an answer can cost."""
        return max(self.output, self.reasoning)

    def total(self, usage: Usage) -> AttoUSD:
        """What the tokens cost. Counts that exceed the whole they are part of are priced too."""
        plain = max(0, usage.input - usage.cached - usage.cache_write)
        spoken = max(0, usage.output - usage.reasoning)
        return (
            plain * self.input
            + usage.cached * self.cached
            + usage.cache_write * self.cache_write
            + spoken * self.output
            + usage.reasoning * self.reasoning
        )


class Tier(NamedTuple):
    """Rates of requests whose input has at least ``from_tokens`` tokens."""

    from_tokens: int
    rates: Rates


@dataclass(frozen=True, slots=True)
class Tariff:
    """What one model costs.

    Attributes:
        rates: Rates of an ordinary request.
        tiers: Long-context tiers, by rising ``from_tokens``; the last one reached applies to the
            whole request.
        request_fee: Nano-dollars per request, whatever its tokens.
        most_fee: The most that the fee of one request can be, where it is only expected to be
            ``request_fee``: a turn of an agent costs what the agent says.
    """

    rates: Rates
    tiers: tuple[Tier, ...] = ()
    request_fee: NanoUSD = 0
    most_fee: NanoUSD = 0

    def __post_init__(self) -> None:
        starts = [tier.from_tokens for tier in self.tiers]
        if starts != sorted(set(starts)):
            raise BadPrice(f"tiers must start at rising token counts, not {starts}")
        amounts = [
            *self.rates,
            self.request_fee,
            self.most_fee,
            *(r for tier in self.tiers for r in tier.rates),
        ]
        if min(amounts) < 0:
            raise BadPrice("a price is negative")

    @classmethod
    def from_usd_per_mtok(
        cls,
        input_usd: float,
        output_usd: float,
        *,
        cached_usd: float | None = None,
        cache_write_usd: float | None = None,
        reasoning_usd: float | None = None,
        request_fee: NanoUSD = 0,
    ) -> Tariff:
        """From dollars per million tokens; what is not given costs as much as its whole.

        Raises:
            BadPrice: A price is negative or absurdly high.
        """
        given = (input_usd, output_usd, cached_usd, cache_write_usd, reasoning_usd)
        wholes = (input_usd, output_usd, input_usd, input_usd, output_usd)
        prices = [
            Decimal(str(whole if price is None else price)) / _TOKENS_PER_MTOK
            for price, whole in zip(given, wholes, strict=True)
        ]
        return cls(Rates(*map(rate_from_usd, prices)), (), request_fee)

    @property
    def is_free(self) -> bool:
        """Whether nothing about this model costs anything."""
        return not self.request_fee and not self.most_fee and not any(self._all_rates())

    def bound(self, input_tokens: int, max_tokens: int) -> NanoUSD:
        """The most an attempt can cost, if the provider honours ``max_tokens``.

        Every token of the prompt is taken at the dearest input rate (all of it may be written to
        a cache), every token of the answer at the dearest output rate, in the dearest tier that
        the prompt could reach.
        """
        most = max(
            input_tokens * rates.dearest_input + max_tokens * rates.dearest_output
            for rates in self._reachable(input_tokens)
        )
        return _nano_up(most) + max(self.request_fee, self.most_fee)

    def cost(self, usage: Usage) -> NanoUSD:
        """What an attempt cost, from usage that :func:`matrix.admission.pricing.usable` accepts."""
        prompt = max(usage.input, usage.cached + usage.cache_write)
        return _nano_up(self._rates_at(prompt).total(usage)) + self.request_fee

    def to_json(self) -> JSON:
        """Plain lists and integers, for the run's plan file."""
        tiers = [[tier.from_tokens, *tier.rates] for tier in self.tiers]
        fees = [self.request_fee, self.most_fee] if self.most_fee else [self.request_fee]
        return [list(self.rates), tiers, *fees]

    @classmethod
    def from_json(cls, data: JSON) -> Tariff:
        """The inverse of :meth:`to_json`."""
        rates, tiers, *fees = data
        return cls(Rates(*rates), tuple(Tier(t[0], Rates(*t[1:])) for t in tiers), *fees)

    def _rates_at(self, prompt_tokens: int) -> Rates:
        found = self.rates
        for tier in self.tiers:
            if prompt_tokens < tier.from_tokens:
                break
            found = tier.rates
        return found

    def _reachable(self, prompt_tokens: int) -> Sequence[Rates]:
        reached = [tier.rates for tier in self.tiers if tier.from_tokens <= prompt_tokens]
        return [self.rates, *reached]

    def _all_rates(self) -> Iterable[AttoUSD]:
        yield from self.rates
        for tier in self.tiers:
            yield from tier.rates


def _nano_up(amount: AttoUSD) -> NanoUSD:
    return -(-amount // ATTO_PER_NANO)
