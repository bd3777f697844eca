"""Rate limits in virtual time: nearly all that is allowed, never more, and no waiter forgotten."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix.admission.rates import BURST_S, HAIR_S, Bucket, RateGroup, per_minute

CLOCKS = st.floats(0, 2e9)
LIMITS = st.floats(0.05, 5e6)


def saturate(
    group: RateGroup, start: float, until: float, requests: Iterator[tuple[float, float | None]]
) -> list[tuple[float, float]]:
    """(time, estimate) of every attempt of a crowd that waits exactly as long as it is told.

    ``requests`` gives (estimate, actual) tokens; every attempt is over at once.
    """
    now, taken = start, []
    for estimate, actual in requests:
        while (delay := group.wait(now, estimate)) is not None and delay > 0:
            now += delay
        if now > until:
            break
        assert delay is not None
        group.take(now, estimate)
        group.finish(estimate, actual)
        taken.append((now, estimate))
    return taken


def same(estimate: float, actual: float | None = None) -> Iterator[tuple[float, float | None]]:
    while True:
        yield estimate, actual


def most_in_any_window(taken: Sequence[tuple[float, float]], rate: float) -> float:
    """The largest excess of what was taken over ``rate`` x time, over every window.

    A window from the i-th to the j-th attempt took S[j+1] - S[i] in t[j] - t[i]; the largest
    difference is found in one pass.
    """
    worst, lowest, total = 0.0, float("inf"), 0.0
    for time, amount in taken:
        lowest = min(lowest, total - rate * time)
        total += amount
        worst = max(worst, total - rate * time - lowest)
    return worst


# --- requests per minute -------------------------------------------------------------------------


def test_600_a_minute_for_ten_minutes_makes_nearly_all_of_6000() -> None:
    group = RateGroup(requests=per_minute(600, 0.0))
    taken = saturate(group, 0.0, 600.0, same(0.0))
    assert 0.95 * 6000 <= len(taken) <= 6000 + 60
    assert most_in_any_window([(at, 1.0) for at, _ in taken], 10.0) <= 60 + 1e-3


@settings(max_examples=60, deadline=None)
@given(st.floats(0.05, 2_000), CLOCKS)
def test_no_window_of_any_length_takes_more_than_rate_and_burst(limit: float, start: float) -> None:
    group = RateGroup(requests=per_minute(limit, start))
    rate = limit / 60
    period = 200 / rate
    taken = saturate(group, start, start + period, same(0.0))
    burst = max(1.0, rate * BURST_S)
    hair = rate * 10 * HAIR_S * (1 + len(taken))
    assert most_in_any_window([(at, 1.0) for at, _ in taken], rate) <= burst + hair
    assert len(taken) >= 0.95 * 200


@settings(max_examples=200, deadline=None)
@given(LIMITS, CLOCKS, st.lists(st.floats(0, 1e6), min_size=1, max_size=30))
def test_who_waits_as_told_is_let_in_after_a_wake_or_two(
    limit: float, start: float, sizes: list[float]
) -> None:
    group = RateGroup(per_minute(limit, start), per_minute(limit * 100, start))
    now = start
    for tokens in sizes:
        for _ in range(4):
            delay = group.wait(now, tokens)
            assert delay is not None
            assert delay >= 0
            if delay == 0:
                break
            assert now + delay > now, "a wait that does not move the clock never ends"
            now += delay
        assert group.wait(now, tokens) == 0
        group.take(now, tokens)


@given(LIMITS, st.floats(0, 1e6))
def test_a_group_starts_with_a_burst_and_never_holds_more(limit: float, idle_s: float) -> None:
    bucket = per_minute(limit, 0.0)
    assert bucket.level == bucket.capacity == max(1.0, limit / 60 * BURST_S)
    bucket.advance(idle_s)
    assert bucket.level == bucket.capacity


# --- tokens per minute ---------------------------------------------------------------------------


def guesses(seed: int, wrong_by: float) -> Iterator[tuple[float, float]]:
    draw = random.Random(seed)
    while True:
        actual = draw.uniform(50, 400)
        yield actual * draw.uniform(1 / wrong_by, wrong_by), actual


@pytest.mark.parametrize("wrong_by", [1.0, 1.5, 4.0])
def test_corrected_estimates_use_nearly_all_the_tokens_and_no_more(wrong_by: float) -> None:
    used: list[float] = []

    def requests() -> Iterator[tuple[float, float]]:
        for estimate, actual in guesses(7, wrong_by):
            used.append(actual)
            yield estimate, actual

    tpm = 60_000.0
    taken = saturate(RateGroup(tokens=per_minute(tpm, 0.0)), 0.0, 600.0, requests())
    allowed = tpm * 10
    spent = sum(used[: len(taken)])
    largest = 400 * wrong_by
    assert 0.95 * allowed <= spent <= allowed + tpm / 60 * BURST_S + largest


def test_without_a_report_the_estimate_stands() -> None:
    group = RateGroup(tokens=per_minute(6_000, 0.0))
    group.take(0.0, 600)
    group.finish(600, None)
    assert group.wait(0.0, 100) == pytest.approx(1.0)


def test_an_estimate_that_was_too_low_delays_the_next_request() -> None:
    group = RateGroup(tokens=per_minute(6_000, 0.0))
    group.take(0.0, 100)
    group.finish(100, 2_600)
    assert group.wait(0.0, 100) == pytest.approx(21.0)


def test_an_estimate_that_was_too_high_is_given_back_but_never_above_the_burst() -> None:
    group = RateGroup(tokens=per_minute(6_000, 0.0))
    group.take(0.0, 500)
    group.finish(500, 100)
    assert group.tokens is not None
    assert group.tokens.level == pytest.approx(500)
    group.finish(10**9, 0)
    assert group.tokens.level == group.tokens.capacity


def test_a_request_above_the_burst_waits_for_a_full_bucket_and_is_paid_off_after_it() -> None:
    group = RateGroup(tokens=per_minute(6_000, 0.0))
    assert group.wait(0.0, 3_000) == 0
    group.take(0.0, 3_000)
    assert group.wait(0.0, 3_000) == pytest.approx(30.0)
    assert group.wait(30.0, 3_000) == 0


# --- clocks, pauses, concurrency -----------------------------------------------------------------


@given(
    st.floats(0.01, 1e4),
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20),
    st.floats(0, 1e6),
)
def test_a_clock_that_jumps_back_refills_nothing(
    rate: float, moves: list[float], debt: float
) -> None:
    bucket = Bucket(rate, capacity=1e12, level=-debt, at=0.0)
    now, forward = 0.0, 0.0
    for move in moves:
        before = bucket.level
        now += move
        bucket.advance(now)
        if move <= 0:
            assert bucket.level == before
        forward += max(0.0, move)
    assert bucket.level <= -debt + rate * forward * (1 + 1e-9) + 1e-3


def test_after_a_429_nobody_enters_until_the_pause_is_over() -> None:
    group = RateGroup(requests=per_minute(600, 0.0))
    group.pause(10.0)
    group.pause(4.0)  # a shorter one does not cut a longer one short
    assert group.wait(0.0, 0) == 10.0
    assert group.wait(9.0, 0) == 1.0
    assert group.wait(10.0, 0) == 0
    group.pause(5.0)  # one that is over already changes nothing
    assert group.wait(10.0, 0) == 0


@pytest.mark.parametrize("limits", [lambda: RateGroup(), lambda: RateGroup(concurrency=2)])
def test_a_pause_holds_in_a_group_without_a_rate(limits: Callable[[], RateGroup]) -> None:
    group = limits()
    group.pause(3.0)
    assert group.wait(1.0, 0) == 2.0
    assert group.wait(3.0, 0) == 0


def test_only_the_end_of_an_attempt_helps_at_the_concurrency_limit() -> None:
    group = RateGroup(concurrency=2)
    group.take(0.0, 1)
    group.take(0.0, 1)
    assert group.wait(1e9, 1) is None
    group.finish(1, None)
    assert group.wait(0.0, 1) == 0


def test_no_limit_never_waits() -> None:
    group = RateGroup()
    for _ in range(10_000):
        assert group.wait(0.0, 1e9) == 0
        group.take(0.0, 1e9)
