"""Prices: a bound is a bound, rounding goes up, and no usage report is believed too easily."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.admission.pricing import ABSURD_TOKENS, Tariff, input_bound, usable
from matrix.model.records import ChatMessage, Usage

TOKENS = st.integers(0, ABSURD_TOKENS)
RATES = st.floats(0, 100_000, allow_nan=False)
TEXTS = st.text(st.characters(exclude_categories=()))
ROLES = st.sampled_from(["system", "user", "assistant"])
MESSAGES = st.lists(st.builds(ChatMessage, ROLES, TEXTS), max_size=6)


@given(RATES, RATES, TOKENS, TOKENS, st.data())
def test_no_usage_within_the_bound_costs_more_than_the_bound(
    input_usd: float, output_usd: float, most_in: int, most_out: int, data: st.DataObject
) -> None:
    tariff = Tariff.from_usd_per_mtok(input_usd, output_usd)
    read, written = data.draw(st.integers(0, most_in)), data.draw(st.integers(0, most_out))
    cached = data.draw(st.integers(0, read))
    usage = Usage(read, written, cached, read - cached, data.draw(st.integers(0, written)))
    assert 0 <= tariff.cost(usage) <= tariff.bound(most_in, most_out)


@given(RATES, RATES)
def test_rates_are_rounded_up_by_less_than_a_nano_dollar(
    input_usd: float, output_usd: float
) -> None:
    tariff = Tariff.from_usd_per_mtok(input_usd, output_usd)
    for rate, usd in ((tariff.input, input_usd), (tariff.output, output_usd)):
        exact = Fraction(str(usd)) * 1000  # USD per million tokens -> nano-dollars per token
        assert exact <= rate < exact + 1


def test_a_price_list_to_a_thousandth_of_a_dollar_converts_exactly() -> None:
    assert Tariff.from_usd_per_mtok(5.0, 25.0) == Tariff(5_000, 25_000)
    assert Tariff.from_usd_per_mtok(0.28, 0.001) == Tariff(280, 1)
    assert Tariff.from_usd_per_mtok(0.0, 0.0001) == Tariff(0, 1)


def test_the_bound_is_both_directions_at_their_rates() -> None:
    assert Tariff(3_000, 15_000).bound(1_000, 512) == 1_000 * 3_000 + 512 * 15_000
    assert Tariff(3_000, 15_000).cost(Usage(10, 2, cached=10)) == 10 * 3_000 + 2 * 15_000


@given(MESSAGES)
def test_the_input_bound_covers_every_byte_of_every_message(messages: list[ChatMessage]) -> None:
    sizes = [len(message.content.encode(errors="surrogatepass")) for message in messages]
    assert input_bound(messages) >= sum(sizes) + len(messages)


@given(MESSAGES, MESSAGES)
def test_the_input_bound_adds_up_over_messages(
    some: list[ChatMessage], more: list[ChatMessage]
) -> None:
    assert input_bound(some + more) == input_bound(some) + input_bound(more)


@given(st.builds(Usage, TOKENS, TOKENS, TOKENS, TOKENS, TOKENS))
def test_whole_counts_in_reason_are_believed(usage: Usage) -> None:
    assert usable(usage)


@pytest.mark.parametrize("field", Usage._fields)
@pytest.mark.parametrize(
    "count",
    [-1, ABSURD_TOKENS + 1, 10**30, 1.5, 7.0, float("nan"), float("inf"), None, "12", [], True - 2],
)
def test_one_broken_count_makes_a_report_unusable(field: str, count: Any) -> None:
    assert not usable(Usage(1, 1, 1, 1, 1)._replace(**{field: count}))


def test_no_report_is_no_usable_report() -> None:
    assert not usable(None)
