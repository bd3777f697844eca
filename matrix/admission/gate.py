"""The gate: which waiting attempt goes next. Money and rate in one step, oldest session first.

Callers wait here and nowhere else. Within a limit group the oldest session is served first, and
a retry keeps its session's place. A waiter that the group's rate cannot admit yet holds up only
its own group; one that the cap cannot admit yet holds up everybody, because whatever settles next
should go to the oldest. Nobody is refused while money is held by others: only when no hold is
open and the first waiter still does not fit is it refused, and the next one tried.

A waiter whose own envelope (its session's cap, its role's) is full for now steps aside, so that it
holds up nobody, and comes back to its place when money of that envelope does.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from matrix.admission.breaker import CircuitBreaker
from matrix.admission.envelopes import Envelopes
from matrix.admission.ledger import Ledger
from matrix.admission.rates import Health, Load, RateGroup, Remaining
from matrix.model.money import NanoUSD
from matrix.model.records import CallKey


class Request(NamedTuple):
    """One attempt that wants to be sent.

    ``order`` is the session's launch order; ``bound`` the most it can cost; ``load`` the estimate
    charged to the group's tokens per minute; ``owner`` the provider process; ``envelopes`` the
    capped parts of the run that it is paid from.
    """

    key: CallKey
    order: int
    group: str
    bound: NanoUSD
    load: Load
    owner: str
    envelopes: tuple[str, ...] = ()


class Grant(NamedTuple):
    """A hold was made for this request, and its group's rate was taken."""

    request: Request
    hold_id: int


class Refusal(NamedTuple):
    """No money for this request, now or later: not in ``envelope``, or not in the whole run."""

    request: Request
    envelope: str | None = None


class Decision(NamedTuple):
    """What one look at the queues gave; ``wake_in_s`` says when looking again can help."""

    grants: list[Grant]
    refusals: list[Refusal]
    wake_in_s: float | None


_Place = tuple[int, int, Request]
"""Launch order, order of arrival, and who waits."""


@dataclass(slots=True)
class _Queue:
    limits: RateGroup
    heap: list[_Place] = field(default_factory=list)


class Gate:
    """Waiting attempts of every limit group over one ledger."""

    def __init__(
        self,
        ledger: Ledger,
        groups: Mapping[str, RateGroup],
        next_hold_id: int,
        envelopes: Envelopes | None = None,
    ) -> None:
        self._ledger = ledger
        self._envelopes = envelopes or Envelopes()
        self._aside: list[_Place] = []
        self._queues = {name: _Queue(limits) for name, limits in groups.items()}
        self._next_hold_id = next_hold_id
        self._arrivals = 0
        self._cancelled: set[int] = set()
        self._by_session: dict[str, set[int]] = {}
        self._granted: dict[int, Request] = {}

    @property
    def waiting(self) -> int:
        """Attempts in the queues."""
        return sum(len(ids) for ids in self._by_session.values())

    def join(self, request: Request) -> None:
        """Put a request into its group's queue."""
        self._arrivals += 1
        queue = self._queues.get(request.group)
        if queue is None:
            queue = self._queues[request.group] = _Queue(RateGroup())
        heapq.heappush(queue.heap, (request.order, self._arrivals, request))
        self._by_session.setdefault(request.key.session_id, set()).add(self._arrivals)

    def leave(self, session_id: str) -> None:
        """Take every waiting request of a session out: it was cut short or moved."""
        gone = self._by_session.pop(session_id, set())
        self._aside = [place for place in self._aside if place[1] not in gone]
        self._cancelled |= gone

    def leave_with(self, owner: str) -> None:
        """Take every waiting request of a dead process out."""
        places = [place for queue in self._queues.values() for place in queue.heap]
        gone = [
            place
            for place in (*places, *self._aside)
            if place[2].owner == owner and place[1] not in self._cancelled
        ]
        arrivals = {place[1] for place in gone}
        self._cancelled |= arrivals - {place[1] for place in self._aside}
        self._aside = [place for place in self._aside if place[1] not in arrivals]
        for _, arrival, request in gone:
            self._forget(arrival, request)

    def adopt(self, hold_id: int, request: Request) -> None:
        """Count an attempt that an earlier owner of this gate let in and that is still out."""
        queue = self._queues.setdefault(request.group, _Queue(RateGroup()))
        queue.limits.in_flight += 1
        self._envelopes.hold(request.envelopes, request.bound)
        self._granted[hold_id] = request

    def decide(self, now: float) -> Decision:
        """Grant everything that fits now, oldest first."""
        grants: list[Grant] = []
        refusals: list[Refusal] = []
        wake: float | None = None
        blocked: set[str] = set()
        while True:
            name = self._oldest(blocked)
            if name is None:
                break
            queue = self._queues[name]
            request = queue.heap[0][2]
            if not self._envelopes.fits(request.envelopes, request.bound):
                refusals += self._without_envelope(queue, request)
                continue
            delay = queue.limits.wait(now, request.load)
            if delay is None or delay > 0:
                blocked.add(name)
                if delay is not None:
                    wake = delay if wake is None else min(wake, delay)
                continue
            if self._ledger.fits(request.bound):
                self._serve_head(queue)
                grants.append(self._grant(queue, request, now))
                if request.envelopes:  # others that waited for a rate may have to step aside now
                    blocked, wake = set(), None
            elif self._ledger.holds:
                break  # wait for money in flight to come back; nobody younger overtakes
            else:
                self._serve_head(queue)
                refusals.append(Refusal(request))
        return Decision(grants, refusals, wake)

    def new_id(self) -> int:
        """A number for an attempt; every attempt has its own, and they rise."""
        self._next_hold_id += 1
        return self._next_hold_id - 1

    def finish(self, hold_id: int, actual: Load | None, spent: NanoUSD) -> None:
        """An attempt is over and cost ``spent``: give its place in the group back."""
        request = self._granted.pop(hold_id, None)
        if request is None:
            return
        self._queues[request.group].limits.finish(request.load, actual)
        if request.envelopes:
            self._envelopes.settle(request.envelopes, request.bound, spent)
            self._come_back(request.envelopes)

    def hear(self, group: str, health: Health, now: float) -> CircuitBreaker | None:
        """Tell a group how one of its attempts went; its breaker, if that is open now."""
        if (queue := self._queues.get(group)) is None:
            return None
        queue.limits.hear(health, now)
        return queue.limits.open_breaker

    def correct(self, group: str, left: Remaining, age_s: float, now: float) -> None:
        """Tell a group what its provider said was left of its limits ``age_s`` seconds ago."""
        if queue := self._queues.get(group):
            queue.limits.correct(left, age_s, now)

    def pause(self, group: str, until: float) -> None:
        """Pause a group after a 429."""
        if queue := self._queues.get(group):
            queue.limits.pause(until)

    def _grant(self, queue: _Queue, request: Request, now: float) -> Grant:
        hold_id = self.new_id()
        self._ledger.reserve(hold_id, request.bound, request.owner)
        self._envelopes.hold(request.envelopes, request.bound)
        queue.limits.take(now, request.load)
        self._granted[hold_id] = request
        return Grant(request, hold_id)

    def _oldest(self, blocked: set[str]) -> str | None:
        best: tuple[int, int] | None = None
        chosen = None
        for name, queue in self._queues.items():
            if name in blocked:
                continue
            while queue.heap and queue.heap[0][1] in self._cancelled:
                self._cancelled.discard(heapq.heappop(queue.heap)[1])
            if queue.heap and (best is None or queue.heap[0][:2] < best):
                best, chosen = queue.heap[0][:2], name
        return chosen

    def _without_envelope(self, queue: _Queue, request: Request) -> list[Refusal]:
        """The head's own envelope has no room: refused if it never will have, aside until then."""
        spent_up = self._envelopes.spent_up(request.envelopes, request.bound)
        if spent_up is None:
            self._aside.append(heapq.heappop(queue.heap))
            return []
        self._serve_head(queue)
        return [Refusal(request, spent_up)]

    def _come_back(self, envelopes: tuple[str, ...]) -> None:
        """Whoever waited for one of these envelopes takes its place in its queue again."""
        returning = [place for place in self._aside if set(place[2].envelopes) & set(envelopes)]
        if returning:
            self._aside = [place for place in self._aside if place not in returning]
            for place in returning:
                heapq.heappush(self._queues[place[2].group].heap, place)

    def _serve_head(self, queue: _Queue) -> None:
        _, arrival, request = heapq.heappop(queue.heap)
        self._forget(arrival, request)

    def _forget(self, arrival: int, request: Request) -> None:
        session_id = request.key.session_id
        ids = self._by_session[session_id]
        ids.discard(arrival)
        if not ids:
            del self._by_session[session_id]
