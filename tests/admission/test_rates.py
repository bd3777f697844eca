"""Rate limits in virtual time: nearly all that is allowed, never more, and no waiter forgotten."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix.admission.rates import (
    BURST_S,
    BURST_SHARE,
    HAIR_S,
    Bucket,
    Load,
    RateGroup,
    Remaining,
    per_minute,
)
from tests.sampling import examples

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
        load = Load(estimate)
        while (delay := group.wait(now, load)) is not None and delay > 0:
            now += delay
        if now > until:
            break
        assert delay is not None
        group.take(now, load)
        group.finish(load, None if actual is None else Load(actual))
        taken.append((now, estimate))
    return taken


def hundred_a_second() -> Bucket:
    return Bucket(rate=100.0, capacity=600.0, level=600.0, at=0.0)


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
    assert 0.97 * 6000 <= len(taken) <= 6000
    assert most_in_any_window([(at, 1.0) for at, _ in taken], 10.0) <= 10 + 1e-3


@settings(max_examples=examples(60))
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


@settings(max_examples=examples(200))
@given(LIMITS, CLOCKS, st.lists(st.floats(0, 1e6), min_size=1, max_size=30))
def test_who_waits_as_told_is_let_in_after_a_wake_or_two(
    limit: float, start: float, sizes: list[float]
) -> None:
    group = RateGroup(per_minute(limit, start), per_minute(limit * 100, start))
    now = start
    for tokens in sizes:
        for _ in range(4):
            delay = group.wait(now, Load(tokens))
            assert delay is not None
            assert delay >= 0
            if delay == 0:
                break
            assert now + delay > now, "a wait that does not move the clock never ends"
            now += delay
        assert group.wait(now, Load(tokens)) == 0
        group.take(now, Load(tokens))


@given(LIMITS, st.floats(0, 1e6))
def test_a_group_starts_with_a_burst_and_never_holds_more(limit: float, idle_s: float) -> None:
    bucket = per_minute(limit, 0.0)
    assert (
        bucket.level
        == bucket.capacity
        == pytest.approx(max(1.0, limit / 60 * BURST_SHARE * BURST_S))
    )
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
    group = RateGroup(tokens=hundred_a_second())
    group.take(0.0, Load(600))
    group.finish(Load(600), None)
    assert group.wait(0.0, Load(100)) == pytest.approx(1.0)


def test_an_estimate_that_was_too_low_delays_the_next_request() -> None:
    group = RateGroup(tokens=hundred_a_second())
    group.take(0.0, Load(100))
    group.finish(Load(100), Load(2_600))
    assert group.wait(0.0, Load(100)) == pytest.approx(21.0)


def test_an_estimate_that_was_too_high_is_given_back_but_never_above_the_burst() -> None:
    group = RateGroup(tokens=hundred_a_second())
    group.take(0.0, Load(500))
    group.finish(Load(500), Load(100))
    assert group.tokens is not None
    assert group.tokens.level == pytest.approx(500)
    group.finish(Load(10**9), Load(0))
    assert group.tokens.level == group.tokens.capacity


def test_a_request_above_the_burst_waits_for_a_full_bucket_and_is_paid_off_after_it() -> None:
    group = RateGroup(tokens=hundred_a_second())
    assert group.wait(0.0, Load(3_000)) == 0
    group.take(0.0, Load(3_000))
    assert group.wait(0.0, Load(3_000)) == pytest.approx(30.0)
    assert group.wait(30.0, Load(3_000)) == 0


def test_input_and_output_are_counted_apart_where_the_provider_does() -> None:
    group = RateGroup(input_tokens=hundred_a_second(), output_tokens=hundred_a_second())
    group.take(0.0, Load(600, 300))
    assert group.wait(0.0, Load(0, 300)) == 0
    assert group.wait(0.0, Load(100, 0)) == pytest.approx(1.0)
    group.finish(Load(600, 300), Load(200, 900))
    assert group.wait(0.0, Load(400, 0)) == pytest.approx(3.0)  # the debt of output comes first
    assert group.wait(0.0, Load(0, 100)) == pytest.approx(4.0)


# --- what the provider says is left ---------------------------------------------------------------


@given(st.floats(0, 1e4), st.floats(0, 1e4), st.floats(0, 100))
def test_a_report_never_raises_a_level(left: float, used: float, age_s: float) -> None:
    group = RateGroup(tokens=hundred_a_second())
    group.take(0.0, Load(used))
    assert group.tokens is not None
    before = group.tokens.level
    group.correct(Remaining(tokens=left), age_s, 0.0)
    assert group.tokens.level <= before


def test_what_somebody_else_used_is_waited_for() -> None:
    group = RateGroup(requests=Bucket(10.0, 60.0, 60.0, 0.0))
    group.correct(Remaining(requests=0), age_s=0.0, now=0.0)
    group.take(0.0, Load())  # "0 left" was rounded down
    assert group.wait(0.0, Load()) == pytest.approx(0.1)
    group.correct(Remaining(), age_s=0.0, now=0.0)
    assert group.wait(0.0, Load()) == pytest.approx(0.1)


def test_reports_of_a_server_at_its_limit_cost_no_throughput() -> None:
    """Every answer says "0 left", as it should; that must not slow down who keeps to the limit."""
    group = RateGroup(requests=per_minute(600, 0.0))
    now, taken = 0.0, 0
    while now <= 120.0:
        delay = group.wait(now, Load())
        assert delay is not None
        if delay:
            now += delay
            continue
        group.take(now, Load())
        taken += 1
        group.finish(Load(), Load())
        group.correct(Remaining(requests=0), age_s=0.0, now=now)
    assert taken >= 0.95 * 1200


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
    assert group.wait(0.0, Load(0)) == 10.0
    assert group.wait(9.0, Load(0)) == 1.0
    assert group.wait(10.0, Load(0)) == 0
    group.pause(5.0)  # one that is over already changes nothing
    assert group.wait(10.0, Load(0)) == 0


@pytest.mark.parametrize("limits", [lambda: RateGroup(), lambda: RateGroup(concurrency=2)])
def test_a_pause_holds_in_a_group_without_a_rate(limits: Callable[[], RateGroup]) -> None:
    group = limits()
    group.pause(3.0)
    assert group.wait(1.0, Load(0)) == 2.0
    assert group.wait(3.0, Load(0)) == 0


def test_only_the_end_of_an_attempt_helps_at_the_concurrency_limit() -> None:
    group = RateGroup(concurrency=2)
    group.take(0.0, Load(1))
    group.take(0.0, Load(1))
    assert group.wait(1e9, Load(1)) is None
    group.finish(Load(1), None)
    assert group.wait(0.0, Load(1)) == 0


def test_no_limit_never_waits() -> None:
    group = RateGroup()
    for _ in range(10_000):
        assert group.wait(0.0, Load(1e9)) == 0
        group.take(0.0, Load(1e9))
