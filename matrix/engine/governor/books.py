"""What the governor keeps of open sessions, their calls and their holds, and what it journals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from matrix.engine.wire.messages import Acquire, Counters, FromGovernor, Settle, Supply
from matrix.model.entries import Disposition, Entry, Held, Lent, Settled
from matrix.model.money import NanoUSD
from matrix.model.records import PHASES, Answer, CallKey, Phase, SessionPlan, Usage


@dataclass(slots=True)
class CallBook:
    """What is known of one call of an open session.

    The ``owner`` sends its attempts and pauses between them; whoever else asks waits for the
    answer. ``asked`` is the newest request for admission: should the owner die, the next asker
    takes its place with it.
    """

    digest: str
    attempts: int = 0
    answer: Answer | None = None
    asked: Acquire | None = None
    asked_at: float = 0.0
    owner: str | None = None
    queued: bool = False
    askers: list[str] = field(default_factory=list)
    hold_id: int | None = None

    def free_for(self, peer: str) -> bool:
        """Whether this process may begin an attempt: nobody else has the call, and none is out."""
        mine = self.owner in (None, peer)
        return mine and self.answer is None and not self.queued and self.hold_id is None


@dataclass(slots=True)
class SessionBook:
    """An open session: who plays it, where it stands, and the calls since its checkpoint.

    ``lent`` are answers of its parent's; see :class:`~matrix.model.entries.Lent`.
    """

    plan: SessionPlan
    worker: str
    spent: NanoUSD = 0
    done: tuple[Phase, int] | None = None
    calls: dict[CallKey, CallBook] = field(default_factory=dict)
    saved: NanoUSD = 0
    lent: Mapping[CallKey, Lent] = field(default_factory=dict)

    def is_newer(self, phase: Phase, turn: int) -> bool:
        """Whether a checkpoint comes after the newest one that is known."""
        return self.done is None or _place(phase, turn) > _place(*self.done)


def _place(phase: Phase, turn: int) -> tuple[int, int]:
    return PHASES.index(phase), turn


@dataclass(slots=True)
class RunningTotals:
    """Running totals of the whole run, earlier lives included."""

    answered: int
    attempts: int
    retries: int
    limited: int
    turns: int
    tokens_in: int
    tokens_out: int
    from_cache: int
    saved: NanoUSD
    trouble: str = ""

    @classmethod
    def after(cls, past: Counters) -> RunningTotals:
        """Go on from where an earlier life ended."""
        return cls(
            past.answered,
            past.attempts,
            past.retries,
            past.rate_limited,
            past.turns,
            past.tokens_in,
            past.tokens_out,
            past.from_cache,
            past.saved,
        )

    def granted(self, attempt: int) -> None:
        """An attempt of a call was let go; ``attempt`` is its number."""
        self.attempts += 1
        self.retries += attempt > 1

    def settled(self, usage: Usage, error_class: str, trouble: str) -> None:
        """An attempt is over; ``trouble`` is what is said of one that is tried again."""
        self.trouble = trouble or self.trouble
        self.tokens_in += usage.input
        self.tokens_out += usage.output
        self.limited += error_class == "RateLimited"

    def supplied(self, saved: NanoUSD) -> None:
        """A call was answered from the response cache."""
        self.from_cache += 1
        self.saved += saved

    def counters(self, waiting: int, in_flight: int, oldest_s: float) -> Counters:
        """With what waits and what is out at this moment."""
        return Counters(
            answered=self.answered,
            attempts=self.attempts,
            retries=self.retries,
            rate_limited=self.limited,
            turns=self.turns,
            waiting=waiting,
            in_flight=in_flight,
            tokens_in=self.tokens_in,
            tokens_out=self.tokens_out,
            from_cache=self.from_cache,
            saved=self.saved,
            trouble=self.trouble,
            oldest_s=oldest_s,
        )


class OpenHold(NamedTuple):
    """An attempt in flight; ``bound`` is the most it should cost, which overruns do not raise.

    ``since`` is when it was let go, on the governor's monotonic clock in seconds.
    """

    key: CallKey
    role: str
    model: str
    group: str
    amount: NanoUSD
    attempt: int
    waited_s: float
    bound: NanoUSD
    agent: str = ""
    tag: str = ""
    since: float = 0.0


@dataclass(slots=True)
class Outbox:
    """What a tick hands over: entries to journal, and mail to send after that."""

    entries: list[Entry] = field(default_factory=list)
    mail: list[tuple[str, FromGovernor]] = field(default_factory=list)

    def tell(self, peer: str, message: FromGovernor) -> None:
        """Queue a letter."""
        self.mail.append((peer, message))


class History(NamedTuple):
    """What the journal says of money and attempts, folded; the state a governor starts from.

    ``inflation`` says by what factor a model's attempts have cost more than the most they should.
    """

    settled: NanoUSD = 0
    presumed: NanoUSD = 0
    overrun: NanoUSD = 0
    last_hold_id: int = 0
    spent_by_role: Mapping[str, NanoUSD] = {}
    counters: Counters = Counters()
    inflation: Mapping[str, float] = {}


class PartCaps(NamedTuple):
    """Caps on parts of a run: every session, and all calls of a role."""

    session: NanoUSD | None = None
    roles: Mapping[str, NanoUSD] = {}

    def of(self, plan: SessionPlan, role: str) -> Iterator[str]:
        """Envelopes that a call is paid from; what sessions share is no session's own money."""
        if self.session is not None and plan.part == "play":
            yield session_envelope(plan.session_id)
        if role in self.roles:
            yield role_envelope(role)


def session_envelope(session_id: str) -> str:
    """Name of the envelope of a session's own cap."""
    return f"session {session_id}"


def role_envelope(role: str) -> str:
    """Name of the envelope of a role's cap."""
    return f"role {role}"


def held_entry(hold_id: int, held: OpenHold, owner: str, at: float) -> Held:
    """A hold, as it is journalled before it is granted."""
    bound = held.bound if held.bound != held.amount else 0
    return Held(
        hold_id,
        held.key,
        held.attempt,
        held.role,
        held.model,
        held.amount,
        owner,
        at,
        bound,
        held.agent,
        held.tag,
    )


def settled_entry(held: OpenHold, message: Settle, cost: NanoUSD, at: float) -> Settled:
    """The end of an attempt, as its provider process tells it; ``cost`` is what was settled."""
    return Settled(
        message.hold_id,
        held.key,
        held.attempt,
        held.role,
        held.model,
        message.digest,
        held.amount,
        message.disposition,
        cost,
        message.usage,
        held.waited_s,
        message.took_s,
        message.error_class,
        message.answer,
        at,
        overrun=message.cost - cost if message.disposition == "settled" else 0,
        agent=held.agent,
        tag=held.tag,
    )


def supplied_by(lent: Lent, asked: Acquire | Supply) -> Supply:
    """What a parent's answer says of the call that asks for the same, whatever else was found."""
    return Supply(
        asked.key,
        asked.digest,
        asked.role,
        asked.model,
        lent.answer._replace(cost=0, cached=True),
        lent.saved,
        asked.agent,
        asked.tag,
    )


def supplied_entry(hold_id: int, attempt: int, message: Supply, at: float) -> Settled:
    """An answer from the response cache: an attempt that was never sent."""
    cached: Disposition = "cached"
    return Settled(
        hold_id,
        message.key,
        attempt,
        message.role,
        message.model,
        message.digest,
        0,
        cached,
        0,
        message.answer.usage,
        0.0,
        0.0,
        "",
        message.answer,
        at,
        message.saved,
        agent=message.agent,
        tag=message.tag,
    )


def unsent_entry(hold_id: int, held: OpenHold, at: float) -> Settled:
    """A hold that was granted by a governor which died before it could say so."""
    return presumed_entry(hold_id, held, at)._replace(
        disposition="released", cost=0, error_class="NeverSent"
    )


def presumed_entry(hold_id: int, held: OpenHold | Held, at: float) -> Settled:
    """An attempt whose process died with it: the whole hold counts as spent."""
    return Settled(
        hold_id,
        held.key,
        held.attempt,
        held.role,
        held.model,
        "",
        held.amount,
        "presumed",
        held.amount,
        Usage(),
        held.waited_s if isinstance(held, OpenHold) else 0.0,
        0.0,
        "ProcessDied",
        None,
        at,
        agent=held.agent,
        tag=held.tag,
    )
