"""Looking for a concurrency: up while it is used and clean, down after a 429, within bounds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from matrix.admission.adaptive import CUT, CUT_PAUSE_S, START, AdaptiveConcurrency


def play_round(limit: AdaptiveConcurrency, *, used: int) -> None:
    for number in range(1, used + 1):
        limit.started(number)
    for left in range(limit.allowed - 1, -1, -1):
        limit.finished(min(left, used))


def test_a_clean_round_that_used_the_limit_doubles_it() -> None:
    limit = AdaptiveConcurrency(1000)
    for expected in (40, 80, 160, 320, 640, 1000, 1000):
        play_round(limit, used=limit.allowed)
        assert limit.allowed == expected


def test_a_limit_that_is_not_used_does_not_grow() -> None:
    limit = AdaptiveConcurrency(1000)
    for _ in range(5):
        play_round(limit, used=limit.allowed // 2)
    assert limit.allowed == int(START)


def test_a_429_cuts_once_within_the_pause_and_growth_is_slow_afterwards() -> None:
    limit = AdaptiveConcurrency(1000)
    for now in (0.0, 1.0, CUT_PAUSE_S - 0.1):
        limit.limited(now)
    assert limit.limit == START * CUT
    limit.limited(CUT_PAUSE_S)
    assert limit.limit == START * CUT * CUT
    play_round(limit, used=limit.allowed)  # not clean: a 429 was in it
    before = limit.allowed
    play_round(limit, used=limit.allowed)
    assert before <= limit.allowed <= before + 1


@given(st.lists(st.tuples(st.sampled_from(["started", "finished", "limited"]), st.integers(0, 99))))
def test_the_limit_stays_between_one_and_its_ceiling(steps: list[tuple[str, int]]) -> None:
    limit = AdaptiveConcurrency(50)
    for now, (step, count) in enumerate(steps):
        if step == "started":
            limit.started(count)
        elif step == "finished":
            limit.finished(count)
        else:
            limit.limited(float(now * 20))
        assert 1 <= limit.allowed <= 50
