"""Seats of sessions: evenly filled, and emptied in the right way when a worker dies."""

from __future__ import annotations

from collections import Counter

from matrix.model.records import SessionPlan
from matrix_actors.seating import Seating
from tests.engine.plans import plan


def plans(count: int) -> list[SessionPlan]:
    return [plan(f"s{number}", order=number) for number in range(count)]


def test_seats_fill_evenly_and_empty_ones_first() -> None:
    seating = Seating(3)
    sizes = Counter({seat: len(batch) for seat, batch in seating.seat(plans(10)).items()})
    assert sorted(sizes.values()) == [3, 3, 4]
    for number in (0, 3, 6):
        seating.leave(f"s{number}")  # all of seat 0 but one
    assert seating.seat([plan("late")]) == {0: [plan("late")]}


def test_sessions_of_a_dead_worker_are_given_again_also_those_it_never_told_of() -> None:
    seating = Seating(2)
    mine = seating.seat(plans(6))[0]
    told = {one.session_id: ("turn", 1) for one in mine[:2]}
    fates = seating.bereave(0, told)
    assert fates.again == mine
    assert not fates.alone
    assert not fates.condemned


def test_suspects_are_played_one_at_a_time_and_leave_their_seat() -> None:
    seating = Seating(1, quarantine=1)
    seating.seat(plans(3))
    reached = {f"s{number}": ("turn", 1) for number in range(3)}
    seating.bereave(0, reached)
    assert len(seating.bereave(0, reached).alone) == 3
    first = seating.next_suspect()
    assert first is not None
    assert not seating.has_suspect
    assert seating.next_suspect() is None
    assert seating.leave(first.session_id)
    second = seating.next_suspect()
    assert second is not None
    assert second != first


def test_who_dies_alone_twice_is_condemned_and_the_next_suspect_has_its_turn() -> None:
    seating = Seating(1, quarantine=1)
    seating.seat(plans(2))
    reached = {"s0": ("turn", 1), "s1": ("turn", 1)}
    seating.bereave(0, reached)
    seating.bereave(0, reached)
    killer = seating.next_suspect()
    assert killer is not None
    at = {killer.session_id: ("turn", 1)}
    assert seating.bereave(1, at).alone == [killer]
    waiting = {one.session_id for one in seating.seated}
    while (again := seating.next_suspect()) != killer:
        assert again is not None
        seating.leave(again.session_id)
    assert seating.bereave(1, at).condemned == [killer]
    assert waiting == {"s0", "s1"}
