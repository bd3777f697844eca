"""Prices: a bound is a bound, rounding goes up, and no usage report is believed too easily."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.admission.pricing import ABSURD_TOKENS, input_bound, usable
from matrix.model.records import ChatMessage, Usage

TOKENS = st.integers(0, ABSURD_TOKENS)
TEXTS = st.text(st.characters(exclude_categories=()))
ROLES = st.sampled_from(["system", "user", "assistant"])
MESSAGES = st.lists(st.builds(ChatMessage, ROLES, TEXTS), max_size=6)


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
