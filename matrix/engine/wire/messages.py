"""What processes say to each other. Values only; every message is safe to deliver twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from matrix.admission.ledger import Balance
from matrix.admission.rates import Load, Remaining
from matrix.model.entries import Acted, Disposition, Ended, Tally, TurnDone
from matrix.model.errors import AuthenticationFailed, MatrixError
from matrix.model.money import NanoUSD
from matrix.model.records import JSON, Answer, CallKey, Message, SessionPlan, Usage

# --- to the governor -----------------------------------------------------------------------------


class Acquire(NamedTuple):
    """May this attempt be sent? ``bound`` is the most it can cost, ``load`` a fair estimate.

    ``fresh`` says that no answer will do which was bought before.
    """

    key: CallKey
    digest: str
    order: int
    role: str
    model: str
    group: str
    bound: NanoUSD
    load: Load
    agent: str = ""
    tag: str = ""
    fresh: bool = False


class Settle(NamedTuple):
    """An attempt is over. With an ``answer`` the call is over too.

    ``pause_s`` is how long a 429 asks the limit group to wait, ``left`` what the provider said is
    left of its limits, ``digest`` that of the request. ``trouble`` says of an attempt that is
    tried again who was asked and what went wrong, for people.
    """

    key: CallKey
    hold_id: int
    disposition: Disposition
    cost: NanoUSD
    usage: Usage
    took_s: float
    error_class: str
    answer: Answer | None
    pause_s: float = 0.0
    left: Remaining | None = None
    digest: str = ""
    trouble: str = ""

    @property
    def is_account_error(self) -> bool:
        """Whether the account was refused, which says nothing about the call."""
        return self.error_class == AuthenticationFailed.__name__

    @property
    def reason(self) -> str:
        """What the provider said, if this is an error that is its call's answer."""
        failure = None if self.answer is None else self.answer.failure
        return "" if failure is None else failure.message


class Supply(NamedTuple):
    """A call was answered from the response cache: nothing is held, nothing spent.

    ``saved`` is what the answer cost when it was bought.
    """

    key: CallKey
    digest: str
    role: str
    model: str
    answer: Answer
    saved: NanoUSD
    agent: str = ""
    tag: str = ""


class OpenSession(NamedTuple):
    """A worker has been given this session and asks for what is known of it."""

    plan: SessionPlan


class SaveTurn(NamedTuple):
    """A checkpoint to journal; not answered."""

    turn: TurnDone


class SaveEffect(NamedTuple):
    """An effect to journal; answered when it is durable. Saying it twice is harmless."""

    acted: Acted


class DiskRefused(NamedTuple):
    """The disk took no more of the sessions' files: the run cannot go on."""

    message: str


class EndSession(NamedTuple):
    """A session's end to journal; the driver is told when it is durable."""

    ended: Ended


class SuspendSession(NamedTuple):
    """The session stays open in the journal, and this worker lets go of it; see :class:`LetGo`."""

    session_id: str


class Rejoin(NamedTuple):
    """To a new governor, before anything else: this worker goes on playing these sessions."""

    plans: tuple[SessionPlan, ...]


class StillOut(NamedTuple):
    """To a new governor, after everything kept: the attempts that this process has in flight.

    What the journal says it holds besides was granted by the old governor, which died before it
    could say so; it was never sent.
    """

    hold_ids: tuple[int, ...]


class AskEnded(NamedTuple):
    """From the driver to a new governor: it waits for the ends of these sessions."""

    plans: tuple[SessionPlan, ...]


class LogLine(NamedTuple):
    """To the governor: a line for the run's log, of a process that cannot reach it."""

    line: bytes


ToGovernor: TypeAlias = (
    Acquire
    | Settle
    | Supply
    | OpenSession
    | SaveTurn
    | EndSession
    | SuspendSession
    | Rejoin
    | StillOut
    | AskEnded
    | SaveEffect
    | DiskRefused
    | LogLine
)


# --- from the governor ---------------------------------------------------------------------------


class Snapshot(NamedTuple):
    """What the journal knows of a session: its newest checkpoint and its whole log.

    ``checkpoint`` is ``None`` for a session that has not finished its start phase. ``prelude`` is
    what the shared preparation made; if it failed, ``prelude_failure`` says why. ``scores`` are
    those of the whole session by name, ``acted`` the effects since the checkpoint. ``used`` is the
    checkpoint's tally, with the answers since then that were superseded: they stay paid.
    """

    checkpoint: TurnDone | None
    log: tuple[Message, ...]
    prelude: JSON
    done: Ended | None
    scores: Mapping[str, float | None] = {}
    prelude_failure: str = ""
    acted: tuple[Acted, ...] = ()
    used: Tally = Tally()


class SessionOpened(NamedTuple):
    """Answer to :class:`OpenSession`."""

    session_id: str
    snapshot: Snapshot


class LetGo(NamedTuple):
    """Answer to :class:`SuspendSession`: all that its worker said of a session is durable.

    Until then it must not be played elsewhere, or it would go on from an older checkpoint, and ask
    again for what is paid.
    """

    session_id: str


class SuspendNow(NamedTuple):
    """The run drains, and this session has no call in flight: it is to be let go as it stands.

    Said again and again until it is: its kind may be in the middle of anything.
    """

    session_id: str


class EffectSaved(NamedTuple):
    """Answer to :class:`SaveEffect`: the effect of this key is durable."""

    key: CallKey


class Granted(NamedTuple):
    """The attempt may be sent; the hold is on the disk."""

    key: CallKey
    hold_id: int
    attempt: int


Refuse = Literal["cap", "session-cap", "draining", "parked"]
"""What a refusal means for the session: it is censored, has used up its own cap, or is let go.

Or nothing yet: a parked call is to be asked for again, and is held back until it may be sent.
"""


class Recorded(NamedTuple):
    """The call has an answer, and it is durable.

    It was given before a crash, by another process, or was just settled by the receiver itself.
    """

    key: CallKey
    digest: str
    answer: Answer


class Refused(NamedTuple):
    """The call is not admitted, for want of money or because of the run or its account."""

    key: CallKey
    why: Refuse
    reason: str


class SessionEnded(NamedTuple):
    """To the driver: a session's end is durable.

    ``saved`` is what its answers from the response cache had cost: money that a session like it
    will need when they are not there.
    """

    plan: SessionPlan
    ended: Ended
    saved: NanoUSD = 0

    @property
    def worth(self) -> NanoUSD:
        """What it would have cost without a response cache, for estimates."""
        return self.ended.tally.cost + self.saved


class SessionSuspended(NamedTuple):
    """To the driver: a session was let go because the run drains."""

    plan: SessionPlan


class ProviderClosed(NamedTuple):
    """To the driver: asking a provider for more is no use, so the governor drains.

    It refuses the account again and again, or (``silent``) has not answered for long. ``group`` is
    the limit group, ``model`` the last that was asked, ``reason`` what the provider said.
    """

    group: str
    model: str
    reason: str
    silent: bool = False


class RunFailed(NamedTuple):
    """To the driver: the governor cannot go on (disk full, fenced off, a defect)."""

    error_class: str
    message: str

    @classmethod
    def of(cls, error: BaseException) -> RunFailed:
        """What an error says; one that is not ours may say as little as ``0``, so it is named."""
        name = type(error).__name__
        if isinstance(error, MatrixError):
            return cls(name, error.with_flags)
        return cls(name, f"{name}: {error}")


class ProcessDied(NamedTuple):
    """To the driver: a process of the run has died, or was ended because it said nothing.

    ``node`` is where it was, ``cause`` what is known of its death.
    """

    process: str
    node: str = ""
    cause: str = ""

    @property
    def text(self) -> str:
        """That it died, where, and why, without the end of the sentence."""
        where = f" on {self.node}" if self.node else ""
        return f"{self.process}{where} died{f' ({self.cause})' if self.cause else ''}"


class ProcessReplaced(NamedTuple):
    """To the driver: a process that died has a successor, which works.

    ``process`` is the name of the dead; ``told`` if its death was part of something that has been
    told of already, as the loss of its node.
    """

    process: str
    told: bool = False


NodeEvent = Literal[
    "node.unfit",
    "node.joined",
    "node.leaving",
    "node.lost",
    "node.left",
    "workers.waiting",
    "sessions.given_again",
]


class NodeNews(NamedTuple):
    """To the driver: something about the nodes of a cluster or who plays there, in a sentence."""

    event: NodeEvent
    text: str
    node: str = ""


FromGovernor: TypeAlias = (
    SessionOpened
    | LetGo
    | SuspendNow
    | Granted
    | Recorded
    | Refused
    | SessionEnded
    | SessionSuspended
    | ProviderClosed
    | RunFailed
    | EffectSaved
)


# --- pictures of the whole -----------------------------------------------------------------------


class Counters(NamedTuple):
    """Running totals of the whole run, earlier lives included; what waits is of this moment.

    ``trouble`` is who was asked in the newest attempt that is tried again, and what went wrong;
    ``oldest_s`` for how many seconds the oldest attempt in flight has been out.
    """

    answered: int = 0
    attempts: int = 0
    retries: int = 0
    rate_limited: int = 0
    turns: int = 0
    waiting: int = 0
    in_flight: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    from_cache: int = 0
    saved: NanoUSD = 0
    trouble: str = ""
    oldest_s: float = 0.0


class Picture(NamedTuple):
    """The governor's state at one moment.

    ``idle`` are the open sessions without a call in flight, counted only while the run drains.
    """

    balance: Balance
    counters: Counters
    open_spent: NanoUSD
    spent_by_role: Mapping[str, NanoUSD]
    idle: int = 0
