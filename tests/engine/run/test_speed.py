"""How fast a run goes, as it is told: quick models by seconds, slow ones by minutes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.engine.run.speed import ETA_FROM, LONGEST_WINDOW_S, Speed, time_left


def rates(answered: list[int], step_s: float) -> list[float]:
    """What is told at every step, of so many answers by then."""
    moments = iter([i * step_s for i in range(len(answered))])
    speed = Speed(lambda: next(moments))
    return [speed.per_second(count) for count in answered]


def test_a_model_that_answers_once_a_minute_has_a_rate() -> None:
    told = rates([i // 240 for i in range(240 * 10)], 0.25)
    assert min(told[240 * 5 :]) > 0.8 / 60
    assert max(told[240 * 5 :]) < 1.3 / 60


def test_a_quick_model_s_rate_follows_the_last_seconds() -> None:
    told = rates([100 * i for i in range(100)] + [9900 + 10 * i for i in range(1, 100)], 0.25)
    assert told[99] == pytest.approx(400)
    assert told[-1] == pytest.approx(40)


@given(st.lists(st.integers(0, 50), min_size=2, max_size=200), st.floats(0.05, 30))
def test_a_rate_is_one_that_was_seen_and_is_zero_only_if_nothing_came(
    steps: list[int], step_s: float
) -> None:
    answered = [sum(steps[: i + 1]) for i in range(len(steps))]
    told = rates(answered, step_s)
    assert all(0 <= rate <= max(steps) / step_s * 1.0001 for rate in told)
    recent = int(LONGEST_WINDOW_S / step_s) - 1
    if sum(steps[1:][-max(1, recent) :]) and recent >= 1:
        assert told[-1] > 0


@given(st.floats(1, 1e6), st.integers(0, 10**6), st.integers(-5, 10**6))
def test_a_time_left_is_told_only_when_enough_of_this_life_s_sessions_ended(
    played_s: float, ended: int, left: int
) -> None:
    found = time_left(played_s, ended, left)
    enough = left > 0 and ended > 0 and ended >= ETA_FROM * (ended + left)
    assert (found is not None) == enough
    if found is not None:
        assert found == pytest.approx(played_s * left / ended)
