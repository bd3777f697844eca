"""What the journal records: the run's history, from which everything else can be rebuilt.

Eight kinds of entry, in one global sequence: a session was opened; money was held for an attempt;
an attempt was settled (with the answer, when it ended the call); a turn was completed (the
checkpoint); a session ended; an effect on the world was done; the scores were looked at; a session
has an answer of its parent's at hand. Values only; how they are written is the store's business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias

from matrix.model.money import NanoUSD
from matrix.model.records import (
    JSON,
    Answer,
    CallKey,
    Event,
    Failure,
    Message,
    Outcome,
    Phase,
    Player,
    Score,
    SessionPlan,
    Usage,
)

Disposition = Literal["settled", "released", "presumed", "cached"]
"""How an attempt ended for the ledger; ``cached`` attempts were never sent and cost nothing."""


class RoleShare(NamedTuple):
    """What one role has used."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: NanoUSD = 0

    def plus(self, answer: Answer) -> RoleShare:
        """With one more answer."""
        return self.and_more(RoleShare(1, answer.usage.input, answer.usage.output, answer.cost))

    def and_more(self, other: RoleShare) -> RoleShare:
        """Both together."""
        return RoleShare(*(one + more for one, more in zip(self, other, strict=True)))


class Tally(NamedTuple):
    """What a session has used so far. Part of its checkpoint, so it survives as the state does."""

    clock_s: float = 0.0
    roles: Mapping[str, RoleShare] = {}

    def plus(self, role: str, answer: Answer) -> Tally:
        """With one more answer to this role; the clock stays."""
        return self.with_share(role, RoleShare().plus(answer))

    def with_share(self, role: str, share: RoleShare) -> Tally:
        """With more that a role has used; the clock stays."""
        whole = self.roles.get(role, RoleShare()).and_more(share)
        return Tally(self.clock_s, {**self.roles, role: whole})

    @property
    def calls(self) -> int:
        return sum(share.calls for share in self.roles.values())

    @property
    def tokens_in(self) -> int:
        return sum(share.tokens_in for share in self.roles.values())

    @property
    def tokens_out(self) -> int:
        return sum(share.tokens_out for share in self.roles.values())

    @property
    def cost(self) -> NanoUSD:
        return sum(share.cost for share in self.roles.values())


class Opened(NamedTuple):
    """A session was given to a worker for the first time (or again, after an interruption).

    ``redo`` says that the turn in flight is to be played anew: what was answered since the newest
    checkpoint stays paid and is superseded.
    """

    plan: SessionPlan
    at: float
    redo: bool = False


class Held(NamedTuple):
    """Money was set aside for one attempt, before it was sent.

    ``bound`` is the most it should cost, where overruns before it had it held dearer; else 0.
    ``agent`` and ``tag`` are those of its :class:`~matrix.model.records.Call`.
    """

    hold_id: int
    key: CallKey
    attempt: int
    role: str
    model: str
    amount: NanoUSD
    owner: str
    at: float
    bound: NanoUSD = 0
    agent: str = ""
    tag: str = ""


class Settled(NamedTuple):
    """An attempt is over. ``answer`` is present when it ended the call, for good or ill.

    ``waited_s`` is the time from asking to being granted; ``took_s`` the wall time of the attempt.
    ``saved`` is what an answer from the response cache cost when it was bought; ``overrun`` what a
    settled attempt cost above its hold, which ``cost`` leaves out.
    """

    hold_id: int
    key: CallKey
    attempt: int
    role: str
    model: str
    digest: str
    held: NanoUSD
    disposition: Disposition
    cost: NanoUSD
    usage: Usage
    waited_s: float
    took_s: float
    error_class: str
    answer: Answer | None
    at: float
    saved: NanoUSD = 0
    overrun: NanoUSD = 0
    agent: str = ""
    tag: str = ""


@dataclass(frozen=True, slots=True)
class TurnDone:
    """A checkpoint: everything that the phase or turn added, and the whole small state.

    ``tree`` is the session's working folder, by content; empty if it has none.
    """

    session_id: str
    phase: Phase
    turn: int
    state: bytes
    messages: tuple[Message, ...]
    events: tuple[Event, ...]
    scores: tuple[Score, ...]
    players: tuple[Player, ...]
    tally: Tally
    ended: tuple[Outcome, str] | None
    versions: tuple[int, int]
    at: float
    tree: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """A session is over. ``result`` is what a prelude made, for the sessions that share it.

    ``measured`` is its value of the score that the run compares, where that is not ``score``.
    """

    session_id: str
    outcome: Outcome
    reason: str
    error_class: str
    turns: int
    score: float | None
    tally: Tally
    at: float
    result: JSON = field(default=None)
    measured: float | None = None


class Acted(NamedTuple):
    """An effect on the world was done: its result, and the working folder that it left.

    ``digest`` is that of name and arguments, ``result`` is JSON, ``failure`` says what was raised
    instead; ``tree`` is the whole folder by content, empty for sessions without one, and
    ``changed_bytes`` those of its files that were left new or changed.
    """

    key: CallKey
    name: str
    digest: str
    result: JSON
    failure: Failure | None
    tree: str
    took_s: float
    at: float
    changed_bytes: int = 0


class Lent(NamedTuple):
    """A session that is judged again has this answer of its parent's, should it ask the very same.

    It is no attempt, and says nothing of money: what is made of it is settled when it is asked for.
    ``saved`` is what the answer cost when it was bought, in nano-dollars.
    """

    key: CallKey
    digest: str
    answer: Answer
    saved: NanoUSD


RUN: Final = "@run"
"""What entries belong to that are about the run and none of its sessions; no session's id."""


NEEDLESS: Final = ("decided", "dropped")
"""Why sessions are not launched that a look at the scores made needless."""


class Dropped(NamedTuple):
    """A level of the compared factor that gets no sessions from a round on, and what beat it."""

    level: str
    by: str
    from_round: int


class Looked(NamedTuple):
    """The scores were looked at after a round, and this is what follows; never revised.

    Attributes:
        rounds: Complete rounds that were looked at.
        factor: The compared factor.
        dropped: Every level dropped up to this look.
        decided: The verdict, ``winner`` or ``equivalent``, if there is one by now.
        stop_from: The first round that is not launched for that reason.
        at: When, in seconds since 1970.
    """

    rounds: int
    factor: str
    dropped: tuple[Dropped, ...]
    decided: str
    stop_from: int | None
    at: float

    def unlaunched(self, plan: SessionPlan) -> str:
        """Why a planned session is not launched: ``decided``, ``dropped``, or empty if it is."""
        if self.stop_from is not None and plan.round >= self.stop_from:
            return "decided"
        level = plan.levels.get(self.factor)
        gone = any(d.level == level and plan.round >= d.from_round for d in self.dropped)
        return "dropped" if gone else ""

    def left_out(
        self, levels: Sequence[str], strata: int, rounds: int
    ) -> Iterator[tuple[int, int, int]]:
        """Round, stratum and variant of every session that is not launched as its level is dropped.

        Args:
            levels: Levels of the compared factor: a variant's number is its place here.
            strata: How many sessions of each level a round has.
            rounds: The first round, from 0, that is not wanted any more.
        """
        for gone in self.dropped:
            for number in range(gone.from_round, rounds):
                for stratum in range(strata):
                    yield number, stratum, levels.index(gone.level)


Entry: TypeAlias = Opened | Held | Settled | TurnDone | Ended | Acted | Looked | Lent


def session_of(entry: Entry) -> str:
    """The session an entry belongs to."""
    match entry:
        case Opened():
            return entry.plan.session_id
        case Held() | Settled() | Acted() | Lent():
            return entry.key.session_id
        case TurnDone() | Ended():
            return entry.session_id
        case Looked():
            return RUN
