"""Prices: a bound is a bound, rounding goes up, and no usage report is believed too easily."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.admission.pricing import (
    BEYOND_DOUBT,
    FAR_BEYOND,
    READ_BEYOND_DOUBT,
    Dearness,
    implausible,
    input_bound,
    too_small,
    usable,
)
from matrix.model.records import CallParams, ChatMessage, ToolCall, Usage

TOKENS = st.integers(0, 10**9)
TEXTS = st.text(st.characters(exclude_categories=()))
ROLES = st.sampled_from(["system", "user", "assistant"])
TOOL_CALLS = st.lists(st.builds(ToolCall, TEXTS, TEXTS, TEXTS, TEXTS), max_size=2).map(tuple)
MESSAGES = st.lists(
    st.builds(ChatMessage, ROLES, TEXTS, TOOL_CALLS, TEXTS, TEXTS)
    | st.builds(ChatMessage, ROLES, TEXTS),
    max_size=6,
)


def bytes_of(value: Any) -> int:
    """Bytes of all texts in a value, however deep."""
    if isinstance(value, str):
        return len(value.encode(errors="surrogatepass"))
    return 0 if value is None or isinstance(value, float | int) else sum(map(bytes_of, value))


@pytest.mark.slow
@given(MESSAGES)
def test_the_input_bound_covers_every_byte_of_every_message(messages: list[ChatMessage]) -> None:
    assert input_bound(messages) >= bytes_of([m[1:] for m in messages]) + len(messages)


@pytest.mark.slow
@given(st.builds(CallParams, schema=st.none() | TEXTS, tools=TEXTS, more=TEXTS))
def test_the_input_bound_covers_schemas_tools_and_every_parameter(params: CallParams) -> None:
    assert input_bound([], params) >= bytes_of(params)


@given(MESSAGES, MESSAGES)
def test_the_input_bound_adds_up_over_messages(
    some: list[ChatMessage], more: list[ChatMessage]
) -> None:
    assert input_bound(some + more) == input_bound(some) + input_bound(more)


@given(st.builds(Usage, TOKENS, TOKENS, TOKENS, TOKENS, TOKENS))
def test_whole_counts_are_usable(usage: Usage) -> None:
    assert usable(usage)


@pytest.mark.parametrize("field", Usage._fields)
@pytest.mark.parametrize(
    "count",
    [-1, 1.5, 7.0, float("nan"), float("inf"), None, "12", [], True - 2],
)
def test_one_broken_count_makes_a_report_unusable(field: str, count: Any) -> None:
    assert not usable(Usage(1, 1, 1, 1, 1)._replace(**{field: count}))


def test_no_report_is_no_usable_report() -> None:
    assert not usable(None)


@pytest.mark.parametrize("allowed", [1, 16, 8_000, 200_000])
def test_reports_are_doubted_only_far_beyond_what_the_request_allows(allowed: int) -> None:
    written = max(FAR_BEYOND * allowed, BEYOND_DOUBT)
    read = max(FAR_BEYOND * allowed, READ_BEYOND_DOUBT)
    assert not implausible(Usage(read, written, read, 0, written), allowed, allowed)
    for beyond in (
        Usage(input=read + 1),
        Usage(output=written + 1),
        Usage(cached=read, cache_write=1),
        Usage(reasoning=written + 1),
    ):
        assert implausible(beyond, allowed, allowed)


AMOUNT = st.integers(1, 10**12)


@given(st.lists(st.tuples(AMOUNT, AMOUNT), min_size=1))
def test_a_call_that_was_dearer_than_its_bound_fits_the_next_hold_however_often_it_was(
    seen: list[tuple[int, int]],
) -> None:
    dearness = Dearness()
    for bound, more in seen:
        dearness.note("m", bound + more, bound)
    largest = max((bound + more) / bound for bound, more in seen)
    for bound, more in seen:
        held = dearness.raised("m", bound)
        assert bound + more <= held <= bound * largest + 1
    assert dearness.raised("another", 7) == 7


@pytest.mark.parametrize(
    ("request_bytes", "answer_bytes", "usage", "small"),
    [
        (40, 40, Usage(1, 1), False),
        (128, 128, Usage(1, 1), False),
        (129, 0, Usage(1, 1), True),
        (0, 129, Usage(1, 1), True),
        (12_800, 0, Usage(99, 1), True),
        (12_800, 0, Usage(0, 1, cached=100), False),
    ],
)
def test_less_than_any_tokenizer_makes_of_the_text_is_not_believed(
    request_bytes: int, answer_bytes: int, usage: Usage, small: bool
) -> None:
    assert too_small(usage, request_bytes, "x" * answer_bytes) is small
