"""Whether a first round says that the kind's code fails in every session."""

from __future__ import annotations

from matrix.engine.run.first_round import FirstRound
from matrix.engine.wire.defects import by_the_kind, defect_of
from matrix.model.entries import Ended, Tally
from matrix.model.errors import KindDefect
from matrix.model.plan import Cell, Plan
from matrix.model.records import Outcome, SessionPlan


def plan_of(variants: int, rounds: int) -> Plan:
    cells = [
        Cell("one", "counter", {"step": str(step)}, {}, {"counter": "sim/counter"}, {}, None)
        for step in range(variants)
    ]
    return Plan(tuple(cells), variants * rounds, seed=1, max_turns=5, max_session_s=60.0)


def sessions_of(plan: Plan, *rounds: int) -> list[SessionPlan]:
    return [session for number in rounds for session in plan.round(number).sessions]


def ended(plan: SessionPlan, outcome: Outcome = "completed", defect: str = "") -> Ended:
    error_class = "KindDefect" if defect else ""
    fields = {"turns": 0, "score": None, "tally": Tally(), "at": 0.0}
    return Ended(plan.session_id, outcome, defect, error_class, **fields)  # type: ignore[arg-type]


def look_up(session: str) -> None:
    raise KeyError(f"nothing known of {session}")


def look_it_up(session: str) -> None:
    raise KeyError(f"nothing known of {session}")


def raised(plan: SessionPlan, *, elsewhere: bool = False) -> Ended:
    """How a session ends whose kind raises, at one line or at another."""
    try:
        with by_the_kind():
            (look_it_up if elsewhere else look_up)(plan.session_id)
    except KindDefect as defect:
        return ended(plan, "errored", str(defect))
    raise AssertionError


def after(plan: Plan, *ends: tuple[SessionPlan, Ended]) -> FirstRound:
    first = FirstRound(plan)
    for one, end in ends:
        first.ended(one, defect_of(end))
    return first


def test_one_defect_in_every_session_of_the_first_round_is_found_whatever_it_says_of_each() -> None:
    plan = plan_of(3, 10)
    ends = [(one, raised(one)) for one in sessions_of(plan, 0)]
    assert after(plan, *ends[:2]).defect is None, "the round goes on"
    first = after(plan, *ends)
    assert first.defect is not None
    told = first.told(first.defect, "matrix resume it --redo-errored")
    assert "all 3 sessions of the first round ended with the same defect" in told
    assert "nothing known of" in told
    assert f"({__name__.rpartition('.')[2]}.py:{look_up.__code__.co_firstlineno + 1})" in told
    assert "`matrix resume it --redo-errored`" in told


def test_it_is_none_where_one_session_ended_otherwise_or_elsewhere_in_the_code() -> None:
    plan = plan_of(3, 10)
    one, two, three = sessions_of(plan, 0)
    same = [(one, raised(one)), (two, raised(two))]
    assert after(plan, *same, (three, ended(three))).defect is None
    assert after(plan, *same, (three, ended(three, "errored"))).defect is None
    assert after(plan, *same, (three, raised(three, elsewhere=True))).defect is None


def test_it_is_none_where_a_session_of_a_later_round_has_worked() -> None:
    plan = plan_of(2, 10)
    later = sessions_of(plan, 1)[0]
    ends = [(one, raised(one)) for one in sessions_of(plan, 0)]
    assert after(plan, (later, ended(later)), *ends).defect is None
    assert after(plan, *ends, (later, ended(later))).defect is None


def test_where_a_round_is_one_session_two_rounds_say_it() -> None:
    plan = plan_of(1, 10)
    ends = [(one, raised(one)) for one in sessions_of(plan, 0, 1)]
    assert after(plan, ends[0]).defect is None
    first = after(plan, *ends)
    assert first.defect is not None
    assert "all 2 sessions of the first 2 rounds" in first.told(first.defect, "")


def test_it_is_none_where_everything_was_played() -> None:
    plan = plan_of(2, 1)
    assert after(plan, *((one, raised(one)) for one in sessions_of(plan, 0))).defect is None
