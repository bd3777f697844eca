"""Identities that are the same everywhere, and money that is never rounded in our favour."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.model.money import NANO_PER_USD, from_usd, show_usd, to_usd
from matrix.model.seeds import canonical, content_hash, derive_seed, stream

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=12,
)
PARTS = st.lists(TEXT | st.integers(0, 2**63 - 1), max_size=5)


# --- one encoding --------------------------------------------------------------------------------


def test_the_encoding_is_sorted_compact_utf8() -> None:
    assert canonical({"b": [1, 2.5, None], "a": {"d": True, "c": "é"}}) == (
        '{"a":{"c":"é","d":true},"b":[1,2.5,null]}'.encode()
    )
    assert canonical(("x", 1)) == canonical(["x", 1])


def shuffled(value: Any, data: st.DataObject) -> Any:
    """The same value with every mapping in another order."""
    if isinstance(value, dict):
        return {key: shuffled(value[key], data) for key in data.draw(st.permutations(list(value)))}
    return [shuffled(item, data) for item in value] if isinstance(value, list) else value


@given(VALUES, st.data())
def test_the_order_of_keys_makes_no_difference(value: Any, data: st.DataObject) -> None:
    other = shuffled(value, data)
    assert canonical(other) == canonical(value)
    assert content_hash(other) == content_hash(value)


@given(VALUES, VALUES)
def test_different_values_have_different_hashes(one: Any, other: Any) -> None:
    assert (content_hash(one) == content_hash(other)) == (canonical(one) == canonical(other))


def test_the_order_of_a_list_does_make_a_difference() -> None:
    assert content_hash([1, 2]) != content_hash([2, 1])
    assert content_hash({"a": 1}) != content_hash([["a", 1]])
    assert content_hash("1") != content_hash(1)


def test_hashes_are_hex_of_the_asked_length_and_prefixes_of_each_other() -> None:
    long = content_hash("x", length=64)
    assert len(long) == 64
    assert int(long, 16) >= 0
    assert content_hash("x") == long[:16]


def test_identities_are_frozen_so_that_old_runs_can_be_resumed() -> None:
    assert content_hash({"a": [1, "x"]}) == "f5c967e084e2cab7"
    assert derive_seed("session", 1, "shadow-bay", 0) == 5984811928924076462
    assert stream(1, "rng").random() == 0.046119286281522176


# --- seeds ---------------------------------------------------------------------------------------


@given(PARTS)
def test_a_seed_is_63_bits_and_the_same_each_time(parts: list[str | int]) -> None:
    assert 0 <= derive_seed(*parts) < 2**63
    assert derive_seed(*parts) == derive_seed(*parts)


@given(PARTS, PARTS)
def test_other_parts_give_other_seeds(one: list[str | int], other: list[str | int]) -> None:
    assert (derive_seed(*one) == derive_seed(*other)) == (one == other)


def test_parts_never_run_into_each_other() -> None:
    seeds = {
        derive_seed("a", "bc"), derive_seed("ab", "c"), derive_seed("abc"),
        derive_seed("a", "b", "c"), derive_seed("1"), derive_seed(1),
        derive_seed("a", 1, 2), derive_seed("a", 12),
    }  # fmt: skip
    assert len(seeds) == 8


@given(PARTS)
def test_asking_for_a_stream_again_starts_it_afresh(parts: list[str | int]) -> None:
    first, again = stream(*parts), stream(*parts)
    assert [first.random() for _ in range(5)] == [again.random() for _ in range(5)]


def test_streams_of_other_names_do_not_share_draws() -> None:
    draws = [stream(7, name).random() for name in map(str, range(1_000))]
    assert len(set(draws)) == 1_000
    assert abs(sum(draws) / 1_000 - 0.5) < 5 * 12**-0.5 / 1_000**0.5


# --- money ---------------------------------------------------------------------------------------


@given(st.floats(0, 1e9) | st.decimals(0, 10**9, places=15) | st.integers(0, 10**9))
def test_dollars_become_nano_dollars_rounded_up_by_less_than_one(usd: float | Decimal) -> None:
    exact = Fraction(str(usd)) * NANO_PER_USD
    assert exact <= from_usd(usd) < exact + 1


@given(st.integers(0, 10**18))
def test_whole_nano_dollars_survive_the_way_to_dollars_as_text(amount: int) -> None:
    assert from_usd(str(Decimal(amount) / NANO_PER_USD)) == amount


@given(st.integers(0, 10**15))
def test_dollars_for_tables_are_within_float_precision(amount: int) -> None:
    assert to_usd(amount) == pytest.approx(amount / 1e9, rel=1e-15)


def test_what_prints_as_tenths_is_not_paid_in_binary() -> None:
    assert from_usd(0.1) * 3 == from_usd(0.3) == 300_000_000


@pytest.mark.parametrize(
    ("usd", "shown"),
    [
        ("0", "$0.00"), ("1234567.891", "$1,234,567.89"), ("12.3", "$12.30"), ("0.1", "$0.10"),
        ("0.0999", "$0.0999"), ("0.00123", "$0.00123"), ("0.0001", "$0.0001"),
        ("0.00001234", "$1.23e-05"), ("0.000000001", "$1.00e-09"),
    ],
)  # fmt: skip
def test_dollars_are_shown_to_three_figures_below_ten_cents(usd: str, shown: str) -> None:
    assert show_usd(from_usd(usd)) == shown


@given(st.integers(1, 10**18))
def test_what_is_shown_is_what_it_is_and_never_nothing(amount: int) -> None:
    shown = float(show_usd(amount).removeprefix("$").replace(",", ""))
    assert shown == pytest.approx(amount / NANO_PER_USD, rel=0.06)
    assert shown > 0
