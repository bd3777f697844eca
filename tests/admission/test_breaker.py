"""The circuit breaker: trips after failures in a row, lets one probe through, heals on success."""

from __future__ import annotations

from matrix.admission.breaker import FIRST_PAUSE_S, LONGEST_PAUSE_S, CircuitBreaker
from matrix.admission.rates import Load, RateGroup


def tripped(now: float = 0.0) -> CircuitBreaker:
    breaker = CircuitBreaker(threshold=3)
    for _ in range(3):
        breaker.failed(now)
    return breaker


def test_failures_in_a_row_open_it_and_a_success_between_them_does_not() -> None:
    breaker = CircuitBreaker(threshold=3)
    for _ in range(5):
        breaker.failed(0.0)
        breaker.failed(0.0)
        breaker.succeeded()
    assert breaker.wait(0.0) == 0.0
    assert tripped().wait(0.0) == FIRST_PAUSE_S


def test_after_the_pause_one_probe_goes_through_and_nobody_else() -> None:
    breaker = tripped()
    assert breaker.wait(FIRST_PAUSE_S) == 0.0
    breaker.sent()
    assert breaker.wait(FIRST_PAUSE_S + 1000) is None


def test_a_probe_that_succeeds_closes_it() -> None:
    breaker = tripped()
    breaker.sent()
    breaker.succeeded()
    assert breaker.wait(0.0) == 0.0
    assert not breaker.is_open


def test_a_probe_that_fails_opens_it_for_twice_as_long_up_to_a_ceiling() -> None:
    breaker, now, pauses = tripped(), 0.0, []
    for _ in range(8):
        wait = breaker.wait(now)
        assert wait is not None
        pauses.append(wait)
        now += wait
        breaker.sent()
        breaker.failed(now)
    assert pauses[:3] == [FIRST_PAUSE_S, 2 * FIRST_PAUSE_S, 4 * FIRST_PAUSE_S]
    assert max(pauses) == LONGEST_PAUSE_S


def test_late_failures_of_requests_sent_before_it_tripped_do_not_prolong_the_pause() -> None:
    breaker = tripped()
    breaker.failed(5.0)
    assert breaker.wait(5.0) == FIRST_PAUSE_S - 5.0


def test_a_group_waits_with_its_breaker_and_a_429_is_a_sign_of_life() -> None:
    group = RateGroup(breaker=CircuitBreaker(threshold=2))
    group.hear("down", 0.0)
    group.hear("limited", 0.0)
    group.hear("down", 0.0)
    assert group.wait(0.0, Load(1.0)) == 0.0
    group.hear("down", 0.0)
    assert group.wait(0.0, Load(1.0)) == FIRST_PAUSE_S
    assert group.wait(FIRST_PAUSE_S, Load(1.0)) == 0.0
    group.take(FIRST_PAUSE_S, Load(1.0))
    assert group.wait(FIRST_PAUSE_S, Load(1.0)) is None
    group.finish(Load(1.0), None)
    group.hear("alive", FIRST_PAUSE_S)
    assert group.wait(FIRST_PAUSE_S, Load(1.0)) == 0.0


def test_probe_after_probe_that_fails_for_a_quarter_of_an_hour_is_hopeless() -> None:
    breaker, now = tripped(), 0.0
    while not breaker.is_hopeless:
        now += breaker.wait(now) or 0.0
        breaker.sent()
        breaker.failed(now)
    assert 14 * 60 < now < 16 * 60
    now += breaker.wait(now) or 0.0
    breaker.sent()
    breaker.succeeded()
    assert not breaker.is_hopeless
