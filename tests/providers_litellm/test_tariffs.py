"""Tariffs: the bound is a bound, sums are exact, and what cannot be priced is refused."""

from __future__ import annotations

from fractions import Fraction

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.admission.tariffs import (
    ATTO_PER_NANO,
    BadPrice,
    Rates,
    Tariff,
    Tier,
    rate_from_usd,
)
from matrix.model.records import Usage

amounts = st.integers(0, 10**15)
rates = st.builds(Rates, amounts, amounts, amounts, amounts, amounts)
fees = st.integers(0, 10**8)


@st.composite
def tariffs(draw: st.DrawFn) -> Tariff:
    starts = sorted(draw(st.sets(st.integers(2, 400_000), max_size=3)))
    return Tariff(draw(rates), tuple(Tier(start, draw(rates)) for start in starts), draw(fees))


@st.composite
def usages(draw: st.DrawFn, most: int = 500_000) -> Usage:
    """Any usage in which each part is within its whole."""
    read, written = draw(st.integers(0, most)), draw(st.integers(0, 70_000))
    cached = draw(st.integers(0, read))
    return Usage(
        read, written, cached, draw(st.integers(0, read - cached)), draw(st.integers(0, written))
    )


@given(tariffs(), usages(), st.integers(0, 100_000), st.integers(0, 10_000))
def test_no_usage_within_the_bound_costs_more_than_the_bound(
    tariff: Tariff, usage: Usage, spare_input: int, spare_output: int
) -> None:
    bound = tariff.bound(usage.input + spare_input, usage.output + spare_output)
    assert tariff.cost(usage) <= bound


@given(tariffs(), st.integers(0, 400_000), st.integers(0, 50_000), st.integers(0, 50_000))
def test_the_bound_never_falls_as_tokens_are_added(
    tariff: Tariff, read: int, written: int, more: int
) -> None:
    bound = tariff.bound(read, written)
    assert bound <= tariff.bound(read + more, written)
    assert bound <= tariff.bound(read, written + more)


@given(rates, usages())
def test_cost_is_the_exact_sum_rounded_up_once(base: Rates, usage: Usage) -> None:
    plain = usage.input - usage.cached - usage.cache_write
    exact = Fraction(
        plain * base.input
        + usage.cached * base.cached
        + usage.cache_write * base.cache_write
        + (usage.output - usage.reasoning) * base.output
        + usage.reasoning * base.reasoning,
        ATTO_PER_NANO,
    )
    assert 0 <= Tariff(base).cost(usage) - exact < 1


@given(rates, rates, st.integers(1, 300_000), usages())
def test_the_tier_that_the_prompt_reaches_prices_the_whole_request(
    base: Rates, above: Rates, start: int, usage: Usage
) -> None:
    tariff = Tariff(base, (Tier(start, above),))
    expected = above if usage.input >= start else base
    assert tariff.cost(usage) == Tariff(expected).cost(usage)


@given(tariffs(), st.integers(0, 9_999), st.integers(0, 9_999), st.integers(0, 9_999))
def test_parts_beyond_their_whole_are_still_paid_for(
    tariff: Tariff, read: int, cached: int, stored: int
) -> None:
    said = tariff.cost(Usage(read, 0, cached, stored))
    assert said >= tariff.cost(Usage(cached + stored, 0, cached, stored)) or read > cached + stored


@given(tariffs(), usages(), fees)
def test_a_request_fee_is_added_to_bound_and_cost_alike(
    tariff: Tariff, usage: Usage, fee: int
) -> None:
    dearer = Tariff(tariff.rates, tariff.tiers, tariff.request_fee + fee)
    assert dearer.cost(usage) == tariff.cost(usage) + fee
    assert dearer.bound(usage.input, 9) == tariff.bound(usage.input, 9) + fee


@given(tariffs())
def test_a_tariff_survives_the_plan_file(tariff: Tariff) -> None:
    assert Tariff.from_json(orjson.loads(orjson.dumps(tariff.to_json()))) == tariff


@pytest.mark.parametrize(
    ("usd_per_mtok", "nano_per_mtok"),
    [(0.001, 10**6), (0.0375, 37_500_000), (0.06875, 68_750_000), (25, 25 * 10**9)],
)
def test_prices_below_a_nano_dollar_a_token_are_exact(
    usd_per_mtok: float, nano_per_mtok: int
) -> None:
    tariff = Tariff.from_usd_per_mtok(usd_per_mtok, 0)
    assert tariff.cost(Usage(input=1_000_000)) == nano_per_mtok


def test_kinds_without_a_price_cost_as_much_as_their_whole() -> None:
    tariff = Tariff.from_usd_per_mtok(3, 15)
    assert tariff.cost(Usage(1_000, 100, 400, 400, 50)) == tariff.cost(Usage(1_000, 100))
    assert Tariff.from_usd_per_mtok(0, 0).is_free
    assert not Tariff.from_usd_per_mtok(0, 0, request_fee=1).is_free


def test_prices_finer_than_an_atto_dollar_are_rounded_up() -> None:
    assert rate_from_usd("1e-19") == 1
    assert rate_from_usd(1.5000020000000002e-05) == 15_000_020_000_001


@pytest.mark.parametrize("price", [-1e-9, float("nan"), float("inf"), 2.0])
def test_a_price_that_is_none_is_refused(price: float) -> None:
    with pytest.raises(BadPrice):
        rate_from_usd(price)


def test_tiers_out_of_order_are_refused() -> None:
    free = Rates(0, 0, 0, 0, 0)
    with pytest.raises(BadPrice, match="rising"):
        Tariff(free, (Tier(5, free), Tier(5, free)))
    with pytest.raises(BadPrice, match="negative"):
        Tariff(free._replace(cached=-1))
