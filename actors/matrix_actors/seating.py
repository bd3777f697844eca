"""Which worker plays which session, and what becomes of them when a worker dies."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from matrix.engine.strikes import Strikes
from matrix.model.records import SessionPlan


@dataclass(slots=True)
class Fates:
    """Sessions of a worker that died."""

    again: list[SessionPlan] = field(default_factory=list)
    alone: list[SessionPlan] = field(default_factory=list)
    condemned: list[SessionPlan] = field(default_factory=list)


@dataclass(slots=True)
class _Seated:
    plan: SessionPlan
    seat: int


@dataclass(slots=True)
class Seating:
    """Seats sessions with the worker that has the fewest; keeps suspects apart.

    Attributes:
        workers: Seats from 0.
        quarantine: The seat of the worker that plays suspects, one at a time.
    """

    workers: int
    quarantine: int = -1
    _load: list[int] = field(init=False)
    _seated: dict[str, _Seated] = field(default_factory=dict)
    _strikes: Strikes = field(default_factory=Strikes)
    _suspects: deque[str] = field(default_factory=deque)
    _alone: str | None = None

    def __post_init__(self) -> None:
        self._load = [0] * self.workers

    @property
    def seated(self) -> list[SessionPlan]:
        """Every session that was given out and is not back."""
        return [one.plan for one in self._seated.values()]

    def seat(self, plans: Sequence[SessionPlan]) -> dict[int, list[SessionPlan]]:
        """Seat -> sessions for it."""
        batches: dict[int, list[SessionPlan]] = {}
        for plan in plans:
            seat = min(range(self.workers), key=lambda i: (self._load[i], i))
            self._load[seat] += 1
            self._seated[plan.session_id] = _Seated(plan, seat)
            batches.setdefault(seat, []).append(plan)
        return batches

    def leave(self, session_id: str) -> bool:
        """A session is over or let go; whether it was the suspect under way."""
        one = self._seated.pop(session_id, None)
        if one is not None and 0 <= one.seat < self.workers:
            self._load[one.seat] -= 1
        self._strikes.forget([session_id])
        if session_id in self._suspects:
            self._suspects.remove(session_id)
        if self._alone == session_id:
            self._alone = None
            return True
        return False

    def bereave(self, seat: int, reached: Mapping[str, Hashable]) -> Fates:
        """The worker of a seat died; ``reached`` says how far its open sessions had come."""
        alone = seat == self.quarantine
        mine = {key: one for key, one in self._seated.items() if one.seat == seat}
        known = {key: at for key, at in reached.items() if key in mine}
        judged = self._strikes.died(known, alone=alone)
        if alone:
            self._alone = None
        fates = Fates()
        for key, one in mine.items():
            match judged.get(key, "alone" if alone else "again"):
                case "again":
                    fates.again.append(one.plan)
                case "condemned":
                    fates.condemned.append(one.plan)
                case "alone":
                    fates.alone.append(one.plan)
                    self._suspect(key, one)
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
        one.seat = self.quarantine
        return one.plan

    def _suspect(self, key: str, one: _Seated) -> None:
        if 0 <= one.seat < self.workers:
            self._load[one.seat] -= 1
        one.seat = -2  # nobody's, until its turn comes
        if key not in self._suspects:
            self._suspects.append(key)
