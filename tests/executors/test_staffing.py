"""Workers that come and go at the same moment: nobody is given sessions who is not there."""

from __future__ import annotations

import asyncio
from typing import Any

from matrix.model.records import SessionPlan
from matrix_actors.seating import Seating
from matrix_actors.staffing import Staffing
from matrix_actors.supervisor import Member
from tests.engine.plans import plan
from tests.engine.waiting import settled, until


class SlowSupervisor:
    """Workers that come up when they are told to."""

    def __init__(self) -> None:
        self.workers: dict[int, Member] = {}
        self.may_begin = asyncio.Event()
        self.dismissed: list[Member] = []

    async def hire(self, member: Member) -> None:
        member.live(member.next_name, object(), {})

    async def begin(self, member: Member) -> None:
        await self.may_begin.wait()

    async def dismiss(self, member: Member) -> None:
        self.dismissed.append(member)


async def test_a_worker_that_is_let_go_while_it_comes_up_gets_no_seat_and_no_session() -> None:
    supervisor, seating = SlowSupervisor(), Seating()
    given: dict[int, list[SessionPlan]] = {}
    failures: list[Exception] = []
    staffing = Staffing(
        seating,
        asked=2,
        nodes=None,
        tell=lambda news: None,
        give=lambda batches: given.update({seat: list(some) for seat, some in batches.items()}),
        up=lambda member: None,
        down=lambda member, error: None,
        failed=failures.append,
    )
    anyone: Any = supervisor
    await staffing.attach(anyone)
    gone, stays = supervisor.workers[0], supervisor.workers[1]
    for member in (gone, stays):
        staffing.replace(member, "", lambda: None)
    await settled()
    staffing._dismiss(gone)
    supervisor.may_begin.set()
    await until(lambda: stays.index in seating.seats)
    await settled()
    assert seating.seats == [stays.index]
    sessions = [plan(f"s{number}", order=number) for number in range(4)]
    assert set(seating.seat(sessions)) == {stays.index}
    await staffing.stop()
    assert failures == []
    assert supervisor.dismissed == [gone, gone], "when it is let go, and when it is up all the same"
