"""Which worker plays which session, and what becomes of them when a worker comes, goes or dies."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from matrix.engine.executors.poison_sessions import PoisonDetector
from matrix.model.records import SessionPlan


@dataclass(slots=True)
class Fates:
    """Sessions of a worker that died."""

    again: dict[int, list[SessionPlan]] = field(default_factory=dict)
    alone: list[SessionPlan] = field(default_factory=list)
    poisoned: list[SessionPlan] = field(default_factory=list)


@dataclass(slots=True)
class _Seated:
    plan: SessionPlan
    seat: int


QUARANTINE: Final = -1
"""The seat of the worker that plays suspects, one at a time."""

NOBODY: Final = -2
"""The seat of a session that waits for a worker."""


@dataclass(slots=True)
class Seating:
    """Seats sessions with the worker that has the fewest; keeps suspects apart.

    Seats are open from :meth:`open` to :meth:`close`; while none is, sessions wait.
    """

    _load: dict[int, int] = field(default_factory=dict)
    _seated: dict[str, _Seated] = field(default_factory=dict)
    _waiting: deque[str] = field(default_factory=deque)
    _poison_detector: PoisonDetector = field(default_factory=PoisonDetector)
    _suspects: deque[str] = field(default_factory=deque)
    _alone: str | None = None
    _leaving: set[str] = field(default_factory=set)
    _astray: dict[str, int] = field(default_factory=dict)

    @property
    def seated(self) -> list[SessionPlan]:
        """Every session that was given out and is not back."""
        return [one.plan for one in self._seated.values()]

    @property
    def seats(self) -> list[int]:
        """Open seats."""
        return sorted(self._load)

    def seat_of(self, session_id: str) -> int | None:
        """Where a session was seated last; ``None`` if it is not out."""
        one = self._seated.get(session_id)
        return None if one is None else one.seat

    @property
    def waiting(self) -> list[SessionPlan]:
        """Sessions that wait for a worker to come."""
        return [self._seated[key].plan for key in self._waiting if key in self._seated]

    def at(self, seat: int) -> list[str]:
        """The sessions of a seat."""
        return [key for key, one in self._seated.items() if one.seat == seat]

    def open(self, seat: int) -> dict[int, list[SessionPlan]]:
        """A worker is there; returns seat -> sessions that have waited for one."""
        self._load[seat] = 0
        waiting, self._waiting = self._waiting, deque()
        return self._place([self._seated[key].plan for key in waiting if key in self._seated])

    def close(self, seat: int) -> None:
        """A worker is given no more sessions; those it has stay."""
        self._load.pop(seat, None)

    def surplus(self, seat: int) -> dict[int, list[str]]:
        """Seat -> sessions which, if they went to ``seat``, would leave all about equally full.

        They count as leaving until they are moved, and are asked of nobody twice.
        """
        if seat not in self._load:
            return {}
        share = sum(self._load.values()) // len(self._load)
        lacking = share - self._load[seat]
        found: dict[int, list[str]] = {}
        for other in sorted(self._load, key=lambda one: -self._load[one]):
            staying = [key for key in self.at(other) if key not in self._leaving]
            count = min(lacking, len(staying) - share)
            if count > 0 and other != seat:
                found[other] = staying[-count:]
                self._leaving.update(found[other])
                lacking -= count
        return found

    def stay(self, session_ids: Iterable[str]) -> None:
        """Sessions were asked for, and are not let go after all."""
        self._leaving.difference_update(session_ids)

    def astray(self, seat: int, held: Iterable[str]) -> list[SessionPlan]:
        """Sessions of a seat that its worker does not have: to be given to it again.

        What was not there when it was last asked about, either, was lost between the two; before
        that, it may be on its way.

        Args:
            seat: The seat.
            held: What its worker says it has.
        """
        theirs = set(self.at(seat)) - self._leaving
        missing = theirs.difference(held)
        again = [key for key in sorted(missing) if self._astray.get(key) == seat]
        self._astray = {key: at for key, at in self._astray.items() if at != seat}
        self._astray |= dict.fromkeys(missing.difference(again), seat)
        return [self._seated[key].plan for key in again]

    def seat(self, plans: Sequence[SessionPlan]) -> dict[int, list[SessionPlan]]:
        """Seat -> sessions for it; where no seat is open, they wait."""
        return self._place(plans)

    def move(self, session_ids: Iterable[str]) -> dict[int, list[SessionPlan]]:
        """Sessions were let go by their worker, and are for others."""
        mine = [self._seated[key] for key in session_ids if key in self._seated]
        for one in mine:
            self._leaving.discard(one.plan.session_id)
            self._unload(one)
        return self._place([one.plan for one in mine])

    def _place(self, plans: Sequence[SessionPlan]) -> dict[int, list[SessionPlan]]:
        batches: dict[int, list[SessionPlan]] = {}
        for plan in plans:
            if not self._load:
                self._seated[plan.session_id] = _Seated(plan, NOBODY)
                self._waiting.append(plan.session_id)
                continue
            seat = min(self._load, key=lambda i: (self._load[i], i))
            self._load[seat] += 1
            self._seated[plan.session_id] = _Seated(plan, seat)
            batches.setdefault(seat, []).append(plan)
        return batches

    def _unload(self, one: _Seated) -> None:
        if one.seat in self._load:
            self._load[one.seat] -= 1
        one.seat = NOBODY

    def leave(self, session_id: str) -> bool:
        """A session is over or let go; whether it was the suspect under way."""
        one = self._seated.pop(session_id, None)
        self._leaving.discard(session_id)
        self._astray.pop(session_id, None)
        if one is not None:
            self._unload(one)
        self._poison_detector.forget([session_id])
        if session_id in self._suspects:
            self._suspects.remove(session_id)
        if self._alone == session_id:
            self._alone = None
            return True
        return False

    def fail_over(self, seat: int, reached: Mapping[str, Hashable]) -> Fates:
        """The worker of a seat died; ``reached`` says how far its open sessions had come.

        The seat is closed, and its sessions are for others.
        """
        alone = seat == QUARANTINE
        self.close(seat)
        mine = {key: one for key, one in self._seated.items() if one.seat == seat}
        self._leaving.difference_update(mine)
        known = {key: at for key, at in reached.items() if key in mine}
        judged = self._poison_detector.died(known, alone=alone)
        if alone:
            self._alone = None
        fates, again = Fates(), list[SessionPlan]()
        for key, one in mine.items():
            match judged.get(key, "alone" if alone else "again"):
                case "again":
                    again.append(one.plan)
                case "poisoned":
                    fates.poisoned.append(one.plan)
                case "alone":
                    fates.alone.append(one.plan)
                    self._suspect(key, one)
        fates.again = self._place(again)
        return fates

    @property
    def has_suspect(self) -> bool:
        """Whether a suspect waits and could be played now."""
        return self._alone is None and bool(self._suspects)

    def next_suspect(self) -> SessionPlan | None:
        """The suspect to be played now; none while another one is."""
        if not self.has_suspect:
            return None
        self._alone = self._suspects.popleft()
        one = self._seated[self._alone]
        one.seat = QUARANTINE
        return one.plan

    def _suspect(self, key: str, one: _Seated) -> None:
        self._unload(one)  # nobody's, until its turn comes
        if key not in self._suspects:
            self._suspects.append(key)
