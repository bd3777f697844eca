"""Which sessions to open next: rounds in order and whole, preludes first, within the cap.

A plain synchronous class. It is told what happened (sessions ended) and asked what to open; it
holds only the rounds that are open, never the whole plan.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from matrix.admission.ledger import Balance
from matrix.admission.rounds import (
    CostEstimate,
    Estimate,
    Launch,
    NoRoom,
    RoleCap,
    may_open,
    may_start,
)
from matrix.engine.wire.defects import DefectAt
from matrix.engine.wire.messages import Picture
from matrix.model.entries import Ended
from matrix.model.money import NanoUSD
from matrix.model.plan import Plan, RoundPlan
from matrix.model.records import Outcome, SessionPlan

AtCap = Literal["whole-rounds", "spend-all"]


class Past(NamedTuple):
    """What is kept of a session that ended in an earlier life of the run.

    ``value`` is its value of the metric that the run compares, ``roles`` what each role spent,
    ``defect`` what of the kind's code ended it, if that did.
    """

    outcome: Outcome
    score: float | None
    cost: NanoUSD = 0
    value: float | None = None
    roles: Mapping[str, NanoUSD] = {}
    error_class: str = ""
    defect: DefectAt | None = None


class LaunchFilter(Protocol):
    """Who says, from the scores so far, which of the planned sessions are not worth playing."""

    @property
    def over(self) -> bool:
        """Whether everything is decided, so that no round is launched any more."""
        ...

    def ready(self, number: int) -> bool:
        """Whether round ``number`` may be launched by now."""
        ...

    def unlaunched(self, plan: SessionPlan) -> str:
        """Why a planned session is not launched; empty if it is."""
        ...


class LaunchAll:
    """A filter that has all of the plan played."""

    over = False

    def ready(self, number: int) -> bool:
        return True

    def unlaunched(self, plan: SessionPlan) -> str:
        return ""


@dataclass(slots=True)
class Launcher:
    """Decides what to open.

    Attributes:
        plan: The run's plan.
        at_cap: What to do when the cap comes near.
        limit: Sessions open at the same time.
        upper: Upper estimate of a session's cost, per cell, learned as the run goes on.
        prelude_upper: Upper estimate of one round's shared preparation.
        done: Sessions and preludes that ended in an earlier life of the run, and how.
        begun: What sessions that an earlier life did not finish have spent, by role.
        launch_filter: Says what of the plan is not worth playing.
        session_cap: What no session can cost more than, if there is such a cap.
        role_caps: Role -> its cap, for those that have one.
        guessed: Whether estimates rest on a guess that nothing bounds, such as what a metered agent
            is expected to cost: then rounds are begun one by one at first, and never more sessions
            at once than twice as many as have told what they cost.
        no_room: The round that the cap had no room for, if that is what ended the launching.
    """

    plan: Plan
    at_cap: AtCap
    limit: int
    upper: Sequence[Estimate]
    prelude_upper: NanoUSD
    done: Mapping[str, Past]
    begun: Mapping[str, Mapping[str, NanoUSD]] = field(default_factory=dict)
    launch_filter: LaunchFilter = field(default_factory=LaunchAll)
    session_cap: NanoUSD | None = None
    role_caps: Mapping[str, RoleCap] = field(default_factory=dict)
    stopped: bool = False
    cap_reached: bool = False
    no_room: NoRoom | None = None
    guessed: bool = False
    _observed: int = 0
    _next_round: int = 0
    _ready: deque[SessionPlan] = field(default_factory=deque)
    _waiting: dict[str, list[SessionPlan]] = field(default_factory=dict)
    _open: dict[str, SessionPlan] = field(default_factory=dict)

    @property
    def open_count(self) -> int:
        """Sessions and preludes given out and not back."""
        return len(self._open)

    @property
    def finished(self) -> bool:
        """Whether nothing is open and nothing more will be opened."""
        nothing_left = self._no_more_rounds and not self._ready
        return not self._open and (self.stopped or self.cap_reached or nothing_left)

    @property
    def all_opened(self) -> bool:
        """Whether everything that is to be played has been given out."""
        return self._no_more_rounds and not self._ready and not self._waiting

    @property
    def _no_more_rounds(self) -> bool:
        """Whether the plan is launched, or what is left of it is not worth playing.

        A round that the deciding look came too late for is launched all the same.
        """
        if self._next_round >= self.plan.rounds:
            return True
        return self.launch_filter.over and not self._launched(self.plan.round(self._next_round))

    def wants_round(self) -> bool:
        """Whether a new round would help now; ask :meth:`next_round` with a fresh picture."""
        return (
            not self.stopped
            and not self.cap_reached
            and not self._ready
            and not self._no_more_rounds
            and len(self._open) + self._parked < self.limit
            and self.launch_filter.ready(self._next_round)
        )

    @property
    def _parked(self) -> int:
        return sum(len(plans) for plans in self._waiting.values())

    def next_round(self, picture: Picture) -> bool:
        """Line the next round up if it fits; returns whether it did."""
        pending = self._pending(self.plan.round(self._next_round))
        dared = max(len(pending), 2 * self._observed)
        if self.guessed and self._open and self.open_count + len(pending) > dared:
            return False
        if self.at_cap == "whole-rounds":
            for role in ("", *self.role_caps):
                launch, room = self._may_start(pending, picture, role)
                if launch == "never":
                    self.cap_reached, self.no_room = True, room
                if launch != "start":
                    return False
        self._next_round += 1
        self._line_up(pending)
        return True

    def _may_start(
        self, pending: Sequence[SessionPlan], picture: Picture, role: str
    ) -> tuple[Launch, NoRoom]:
        """Whether these fit under the run's cap, or a role's, beside all that is begun."""
        balance, open_spent = picture.balance, picture.open_spent
        if role:  # what is open or held of it is not known, so what may be counts in full
            spent = picture.spent_by_role.get(role, 0)
            balance, open_spent = Balance(self.role_caps[role].cap, spent, 0, 0, 0), 0
        needs = self._left_of(pending, role)
        opened = self._upper_of(self._open.values(), role)
        launch = may_start(
            balance,
            open_upper=opened + self._left_of(self._unopened(), role),
            open_spent=open_spent,
            round_upper=needs,
            anything_open=bool(self._open),
        )
        return launch, NoRoom(needs, balance.cap - balance.charged, balance.cap, role)

    def _pending(self, planned: RoundPlan) -> list[SessionPlan]:
        """What an earlier life left of a round: preludes that are still needed, then sessions."""
        sessions = [p for p in self._launched(planned) if p.session_id not in self.done]
        needed = {p.prelude_id for p in sessions} - self.done.keys()
        return [p for p in planned.preludes if p.session_id in needed] + sessions

    def _launched(self, planned: RoundPlan) -> list[SessionPlan]:
        return [plan for plan in planned.sessions if not self.launch_filter.unlaunched(plan)]

    def _line_up(self, pending: Sequence[SessionPlan]) -> None:
        for plan in pending:
            if plan.part == "prelude":
                self._ready.append(plan)
                self._waiting[plan.session_id] = []
            elif plan.prelude_id in self._waiting:
                self._waiting[plan.prelude_id].append(plan)
            else:
                self._ready.append(plan)

    def take(self, picture: Picture) -> list[SessionPlan]:
        """Sessions to open now; none once the cap has cut one short, not even of its round."""
        taken: list[SessionPlan] = []
        room = bool(self._ready) and len(self._open) < self.limit
        if self.stopped or self.cap_reached or not room:
            return taken
        expected = sum(map(self._expected, self._open.values()))
        while self._ready and len(self._open) < self.limit:
            if self._open and not self._affords(picture, expected):
                break
            plan = self._ready.popleft()
            self._open[plan.session_id] = plan
            expected += self._expected(plan)
            taken.append(plan)
        return taken

    def _affords(self, picture: Picture, open_expected: float) -> bool:
        """Whole rounds were paid for when they were lined up; else each session by itself."""
        return self.at_cap == "whole-rounds" or may_open(
            picture.balance, open_expected=open_expected, open_spent=picture.open_spent
        )

    def _expected(self, plan: SessionPlan) -> float:
        if plan.part == "prelude":
            return 0.0
        return self.upper[self.plan.cell_index(plan.order)].expected

    def ended(self, plan: SessionPlan, ended: Ended, worth: NanoUSD | None = None) -> None:
        """A session or prelude is over.

        ``worth`` is what it would have cost without a response cache; what it did cost, if left
        out. Rounds to come may find less in the cache, so estimates are made without it.
        """
        self._open.pop(plan.session_id, None)
        waiting = self._waiting.pop(plan.session_id, [])
        if ended.outcome == "censored":
            self.cap_reached = True
        else:
            self._ready = deque(sorted([*waiting, *self._ready], key=_launch_order))
        cost = ended.tally.cost if worth is None else worth
        roles = {role: share.cost for role, share in ended.tally.roles.items()}
        self.observe(plan, Past(ended.outcome, ended.score, cost, roles=roles))

    def observe(self, plan: SessionPlan, past: Past) -> None:
        """Learn what a session of its cell costs, in this life of the run or an earlier one."""
        if plan.part != "play":
            return
        cell, whole = self.plan.cell_index(plan.order), past.outcome in ("completed", "timeout")
        self._observed += whole
        if self.guessed and whole:  # what was said of the other cells is no better founded
            for estimate in self.upper:
                if isinstance(estimate, CostEstimate):
                    estimate.prior = max(estimate.prior, past.cost)
        self.upper[cell].observe(past.cost if whole else None)
        from_cache = past.cost - sum(past.roles.values())  # whoever it was that this was saved for
        for role, limits in self.role_caps.items():
            limits.upper[cell].observe(past.roles.get(role, 0) + from_cache if whole else None)

    def expected_cost(self, sessions: Mapping[int, int]) -> NanoUSD:
        """What so many more sessions of each cell would cost, preludes left out."""
        return round(sum(self.upper[cell].expected * n for cell, n in sessions.items()))

    def suspended(self, plan: SessionPlan) -> None:
        """A session was let go because the run drains."""
        self._open.pop(plan.session_id, None)

    def stop(self) -> None:
        """Open nothing more."""
        self.stopped = True

    def _unopened(self) -> Iterator[SessionPlan]:
        yield from self._ready
        for plans in self._waiting.values():
            yield from plans

    def _left_of(self, plans: Iterable[SessionPlan], role: str = "") -> NanoUSD:
        """What these may still cost, or a role of them, without what an earlier life has spent."""
        listed = list(plans)
        begun = [self.begun.get(plan.session_id, {}) for plan in listed]
        spent = sum(one.get(role, 0) if role else sum(one.values()) for one in begun)
        return max(0, self._upper_of(listed, role) - spent)

    def _upper_of(self, plans: Iterable[SessionPlan], role: str = "") -> NanoUSD:
        """What these may cost, or a role of them, as if they were just starting.

        A round's shared preparation is one estimate; it counts until the last of it is done.
        """
        own = self.role_caps.get(role)
        estimates, prelude = (self.upper, self.prelude_upper) if own is None else own[1:]
        total, preparing = 0, set()
        for plan in plans:
            if plan.part == "prelude":
                preparing.add(plan.round)
            else:
                upper = estimates[self.plan.cell_index(plan.order)].upper
                total += upper if self.session_cap is None else min(upper, self.session_cap)
        return total + prelude * len(preparing)


def _launch_order(plan: SessionPlan) -> tuple[int, bool, int]:
    """Oldest round first, its preludes before its sessions."""
    return plan.round, plan.part == "play", plan.order
