"""How long a run is expected to take: laws of the rule of thumb."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from matrix.engine.prepare.estimate import TimeInterval, Work, run_time
from matrix.engine.wire.setup import GroupLimits

CALLS = st.floats(0, 500)
WORK = st.builds(
    lambda group, low, more, most, tokens, seconds, at_once: Work(
        group, (low, low + more, low + more + most), tokens, tokens / 10, seconds, at_once
    ),
    st.sampled_from("ab"), CALLS, CALLS, CALLS, st.floats(1, 5000), st.floats(0.1, 60),
    st.floats(1, 5),
)  # fmt: skip
SESSIONS = st.lists(
    st.tuples(st.integers(1, 300), st.lists(WORK, min_size=1, max_size=4)), min_size=1, max_size=4
)
LIMITS = st.builds(
    GroupLimits, rpm=st.none() | st.floats(1, 1e4), tpm=st.none() | st.floats(1, 1e7),
    concurrency=st.none() | st.integers(1, 500),
)  # fmt: skip


@given(SESSIONS, st.integers(1, 500), LIMITS)
def test_a_time_is_an_interval_and_limits_only_lengthen_it(
    sessions: list[tuple[int, list[Work]]], open_sessions: int, limits: GroupLimits
) -> None:
    free = run_time(sessions, open_sessions, {})
    limited = run_time(sessions, open_sessions, {"a": limits})
    assert 0 <= free.low <= free.middle <= free.high
    assert all(one <= other for one, other in zip(free, limited, strict=True))


@given(SESSIONS, st.integers(1, 500))
def test_more_sessions_open_at_once_never_take_longer(
    sessions: list[tuple[int, list[Work]]], open_sessions: int
) -> None:
    few, many = (run_time(sessions, count, {}) for count in (open_sessions, open_sessions + 1))
    assert many.middle <= few.middle


def test_ten_sessions_one_at_a_time_take_ten_times_as_long_as_one() -> None:
    work = [Work("a", (1, 2, 3), 100, 10, 5.0, 1.0), Work("b", (4, 8, 12), 100, 10, 1.0, 4.0)]
    assert run_time([(1, work)], 1, {}) == TimeInterval(6, 12, 18)
    assert run_time([(10, work)], 1, {}) == TimeInterval(60, 120, 180)
    assert run_time([(10, work)], 10, {}) == TimeInterval(6, 12, 18)


def test_a_limit_that_binds_decides() -> None:
    sessions = [(30, [Work("a", (1, 2, 4), 100, 10, 1.0, 1.0)])]
    assert run_time(sessions, 100, {"a": GroupLimits(rpm=6)}) == TimeInterval(300, 600, 1200)
    assert run_time(sessions, 100, {"a": GroupLimits(tpm=660)}) == TimeInterval(300, 600, 1200)
    assert run_time(sessions, 100, {"a": GroupLimits(concurrency=1)}) == TimeInterval(30, 60, 120)
    assert run_time(sessions, 100, {"other": GroupLimits(rpm=1)}) == TimeInterval(1, 2, 4)
