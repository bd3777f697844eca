"""Prices: what an attempt can cost at most, and what it did cost.

Rates are integer nano-dollars per token, so a price list in dollars per million tokens converts
exactly down to a thousandth of a dollar per million tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matrix.model.money import NanoUSD, from_usd
from matrix.model.records import ChatMessage, Usage

MESSAGE_OVERHEAD_TOKENS = 16
"""Generous bound on what a chat format adds around each message."""

ABSURD_TOKENS = 100_000_000
"""No model reads or writes this many tokens in one call; such usage is a broken report."""


@dataclass(frozen=True, slots=True)
class Tariff:
    """Rates of one model, in nano-dollars per token."""

    input: NanoUSD
    output: NanoUSD

    @classmethod
    def from_usd_per_mtok(cls, input_usd: float, output_usd: float) -> Tariff:
        """From dollars per million tokens, rounded up to a whole nano-dollar per token."""
        return cls(-(-from_usd(input_usd) // 1_000_000), -(-from_usd(output_usd) // 1_000_000))

    def bound(self, input_tokens: int, max_tokens: int) -> NanoUSD:
        """The most an attempt can cost, if the provider honours ``max_tokens``."""
        return input_tokens * self.input + max_tokens * self.output

    def cost(self, usage: Usage) -> NanoUSD:
        """What an attempt cost, from usage that :func:`usable` accepts."""
        return usage.input * self.input + usage.output * self.output


def input_bound(messages: Sequence[ChatMessage]) -> int:
    """An upper bound on the input tokens: no tokenizer makes more tokens than UTF-8 bytes."""
    total = 0
    for message in messages:
        text = message.content
        # models sometimes break off in mid-character, which plain UTF-8 refuses
        size = len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
        total += size + MESSAGE_OVERHEAD_TOKENS
    return total


def usable(usage: Usage | None) -> bool:
    """Whether a usage report can be believed: present, whole, not negative, not absurd."""
    return usage is not None and all(
        isinstance(count, int) and 0 <= count <= ABSURD_TOKENS for count in usage
    )
