"""What belongs to a command, and what its end says."""

from __future__ import annotations

import signal

import pytest

from matrix.kinds.gateway import cut_short
from matrix.kinds.running_command import Process, family, read_stat

STAT = "4242 (a) b (c) {state} 17 40 40 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 9000 1 2 3"


def test_a_process_is_read_whatever_its_name_holds() -> None:
    assert read_stat(STAT.format(state="S")) == Process(4242, parent=17, group=40, started=9000)


@pytest.mark.parametrize("state", ["Z", "X"])
def test_one_that_has_ended_is_none(state: str) -> None:
    assert read_stat(STAT.format(state=state)) is None


LEADER = Process(10, parent=1, group=10, started=100)
CHILD = Process(11, parent=10, group=10, started=101)
DETACHED = Process(12, parent=11, group=12, started=102)
STRANGER = Process(13, parent=1, group=1, started=103)


def test_a_family_is_a_command_with_all_that_it_has_started() -> None:
    found = family([STRANGER, DETACHED, CHILD, LEADER], 10, None)
    assert set(found) == {LEADER, CHILD, DETACHED}


def test_a_group_of_its_own_is_its_family_without_its_leader_too() -> None:
    orphan = CHILD._replace(parent=1)
    assert family([STRANGER, orphan], 10, 10) == [orphan]
    assert family([STRANGER, orphan], 10, None) == []


def test_who_has_lost_its_parents_is_known_from_before_with_what_it_starts() -> None:
    orphan, late = DETACHED._replace(parent=1), Process(14, parent=12, group=12, started=104)
    known = family([LEADER, CHILD, DETACHED], 10, None)
    assert set(family([orphan, late, STRANGER], 10, None, known)) == {orphan, late}


def test_a_number_that_was_given_again_is_somebody_else() -> None:
    known = family([LEADER, CHILD], 10, None)
    again = CHILD._replace(parent=1, group=1, started=999)
    assert family([again], 10, None, known) == []


@pytest.mark.parametrize("code", [0, 1, 143, -signal.SIGTERM, -signal.SIGKILL])
def test_what_was_asked_to_end_is_cut_short_however_it_ends(code: int) -> None:
    assert cut_short(code, asked=True, interrupted=False)
    assert not cut_short(code, asked=False, interrupted=False)
    assert not cut_short(code, asked=False, interrupted=True)


@pytest.mark.parametrize("code", [130, -signal.SIGINT])
def test_ctrl_c_cuts_short_what_dies_of_it(code: int) -> None:
    assert cut_short(code, asked=False, interrupted=True)
    assert not cut_short(code, asked=False, interrupted=False)
