"""Seats of sessions: evenly filled, and emptied in the right way when a worker dies."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from matrix.model.records import SessionPlan
from matrix_actors.seating import QUARANTINE, Seating
from tests.engine.plans import plan


def plans(count: int) -> list[SessionPlan]:
    return [plan(f"s{number}", order=number) for number in range(count)]


def seats(count: int) -> Seating:
    seating = Seating()
    for seat in range(count):
        seating.open(seat)
    return seating


def test_seats_fill_evenly_and_empty_ones_first() -> None:
    seating = seats(3)
    sizes = Counter({seat: len(batch) for seat, batch in seating.seat(plans(10)).items()})
    assert sorted(sizes.values()) == [3, 3, 4]
    for number in (0, 3, 6):
        seating.leave(f"s{number}")  # all of seat 0 but one
    assert seating.seat([plan("late")]) == {0: [plan("late")]}


def test_sessions_of_a_dead_worker_are_given_again_also_those_it_never_told_of() -> None:
    seating = seats(2)
    mine = seating.seat(plans(6))[0]
    told = {one.session_id: ("turn", 1) for one in mine[:2]}
    fates = seating.fail_over(0, told)
    assert fates.again == {1: mine}, "for whoever is there"
    assert seating.seats == [1]
    assert not fates.alone
    assert not fates.poisoned


def test_suspects_are_played_one_at_a_time_and_leave_their_seat() -> None:
    seating = seats(1)
    seating.seat(plans(3))
    reached = {f"s{number}": ("turn", 1) for number in range(3)}
    seating.fail_over(0, reached)
    seating.open(0)
    assert len(seating.fail_over(0, reached).alone) == 3
    first = seating.next_suspect()
    assert first is not None
    assert not seating.has_suspect
    assert seating.next_suspect() is None
    assert seating.leave(first.session_id)
    second = seating.next_suspect()
    assert second is not None
    assert second != first


def test_who_dies_alone_twice_is_condemned_and_the_next_suspect_has_its_turn() -> None:
    seating = seats(1)
    seating.seat(plans(2))
    reached = {"s0": ("turn", 1), "s1": ("turn", 1)}
    seating.fail_over(0, reached)
    seating.open(0)
    seating.fail_over(0, reached)
    killer = seating.next_suspect()
    assert killer is not None
    at = {killer.session_id: ("turn", 1)}
    assert seating.fail_over(QUARANTINE, at).alone == [killer]
    waiting = {one.session_id for one in seating.seated}
    while (again := seating.next_suspect()) != killer:
        assert again is not None
        seating.leave(again.session_id)
    assert seating.fail_over(QUARANTINE, at).poisoned == [killer]
    assert waiting == {"s0", "s1"}


def test_sessions_wait_while_nobody_is_there_and_go_to_who_comes() -> None:
    seating = Seating()
    waiting = plans(3)
    assert seating.seat(waiting) == {}
    assert seating.open(4) == {4: waiting}
    assert seating.open(5) == {}


def test_who_comes_late_is_given_its_share_and_who_leaves_is_given_no_more() -> None:
    seating = seats(1)
    seating.seat(plans(9))
    seating.open(1)
    seating.open(2)
    surplus = seating.surplus(1)
    assert [len(sessions) for sessions in surplus.values()] == [3]
    seating.close(2)
    assert seating.move(surplus[0]).keys() == {1}
    assert [len(sessions) for sessions in seating.surplus(1).values()] == [1], "of nine, four"
    assert seating.surplus(2) == {}
    seating.leave("s8")
    seating.leave("s8")
    assert sorted(one.session_id for one in seating.seated) == [f"s{n}" for n in range(8)]


@given(st.lists(st.sampled_from(["seat", "open", "close", "move", "leave", "die"]), max_size=40))
def test_no_session_is_ever_at_two_seats_or_at_none_while_one_is_open(steps: list[str]) -> None:
    seating, out, next_seat, count = Seating(), set[str](), 0, 0
    for step in steps:
        match step:
            case "seat":
                seating.seat([plan(f"s{count}", order=count)])
                out.add(f"s{count}")
                count += 1
            case "open":
                seating.open(next_seat)
                next_seat += 1
            case "close" if seating.seats:
                gone = seating.seats[0]
                seating.close(gone)
                seating.move(seating.at(gone))
            case "move" if seating.seats:
                for seat, sessions in seating.surplus(seating.seats[-1]).items():
                    assert set(sessions) <= set(seating.at(seat))
                    seating.move(sessions)
            case "leave" if out:
                seating.leave(min(out))
                out.remove(min(out))
            case "die" if seating.seats:
                seating.fail_over(seating.seats[0], {})
            case _:
                pass
        assert {one.session_id for one in seating.seated} == out
        if seating.seats:
            placed = [key for seat in seating.seats for key in seating.at(seat)]
            assert sorted(placed) == sorted(out)


def test_a_session_that_never_arrived_is_given_again_once_it_is_surely_not_on_its_way() -> None:
    seating = Seating()
    seating.open(0)
    seating.open(1)
    seating.seat([plan(f"s{number}", order=number) for number in range(4)])
    here = seating.at(0)
    assert seating.astray(0, here[:1]) == [], "it may be on its way"
    assert seating.astray(1, []) == [], "neither of them was asked about before"
    assert [one.session_id for one in seating.astray(0, here[:1])] == here[1:]
    assert seating.astray(0, here[:1]) == [], "it was given again just now"
    assert seating.astray(0, here) == []
    seating.leave(seating.at(1)[0])
    assert [one.session_id for one in seating.astray(1, [])] == seating.at(1)


def test_a_session_is_asked_of_one_worker_once_and_while_it_leaves_it_is_nowhere_missed() -> None:
    seating = Seating()
    seating.open(0)
    seating.seat([plan(f"s{number}", order=number) for number in range(9)])
    seating.open(1)
    seating.open(2)
    first, second = seating.surplus(1)[0], seating.surplus(2)[0]
    assert not set(first) & set(second)
    staying = [key for key in seating.at(0) if key not in (*first, *second)]
    assert [seating.astray(0, staying) for _ in range(3)] == [[]] * 3
    seating.stay(first)
    assert [len(seating.astray(0, staying)) for _ in range(2)] == [0, len(first)]
