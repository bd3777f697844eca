"""One session as the journal has it, ended or still open; reading it needs no Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from matrix.model.entries import Ended, Held, Opened, Settled, Tally, TurnDone
from matrix.model.errors import StoreError
from matrix.model.notebook import table_as_html
from matrix.model.records import JSON, Event, Message, Player, Score, SessionPlan
from matrix.store.journal.codec import OPENED
from matrix.store.journal.journal import JournalReader
from matrix.store.journal.session_state import SessionState, fold


class SessionNotFound(StoreError):
    """No session of this id (or near it) is in the run."""

    exit_code = 2


_MOST_SHOWN: Final = 100
_LONGEST_SHOWN: Final = 2000
"""Messages, and characters of one, that a notebook shows of a session."""


@dataclass(frozen=True, slots=True, repr=False)
class Transcript:
    """Everything needed to show a session.

    Attributes:
        plan: What was planned.
        started_at: When it was first opened, in seconds since 1970.
        turns: Its checkpoints in order (start, turns, finish), without superseded ones; each has
            the messages, events, scores and players that it added.
        calls: Attempts in the order in which they were settled.
        in_flight: Attempts that money is held for.
        ended: Its end; ``None`` while it is open.
    """

    plan: SessionPlan
    started_at: float
    turns: tuple[TurnDone, ...]
    calls: tuple[Settled, ...]
    in_flight: tuple[Held, ...]
    ended: Ended | None

    def __repr__(self) -> str:
        """One line: a session may have megabytes of words."""
        how = "open" if self.ended is None else self.ended.outcome
        plan = self.plan
        return (
            f"<session {plan.session_id[:16]} of {plan.scenario}, round {plan.round}: {how}, "
            f"{len(self.turns)} checkpoints, {len(self.calls)} calls>"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: who said what, without asides to models; the beginning of it."""
        said = [one for one in self.messages if not one.channel.startswith("persona/")]
        left = len(said) - _MOST_SHOWN
        rows = [(f"{one.turn}", one.speaker, one.text[:_LONGEST_SHOWN]) for one in said]
        more = [("", "", f"and {left:,} more")] if left > 0 else []
        return table_as_html(
            f"Session {self.session_id[:16]} of {self.plan.scenario}",
            ("turn", "speaker", "text"),
            [*rows[:_MOST_SHOWN], *more],
        )

    @property
    def session_id(self) -> str:
        """The session's id."""
        return self.plan.session_id

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole log."""
        return tuple(item for turn in self.turns for item in turn.messages)

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that happened, in order."""
        return tuple(item for turn in self.turns for item in turn.events)

    @property
    def scores(self) -> tuple[Score, ...]:
        """Every measured value, in order."""
        return tuple(item for turn in self.turns for item in turn.scores)

    @property
    def players(self) -> tuple[Player, ...]:
        """The members of the group."""
        return tuple(item for turn in self.turns for item in turn.players)

    @property
    def last_turn(self) -> int:
        """The turn that it ended in, or its newest checkpoint's, its parent's turns counted in."""
        if self.ended is not None:
            return self.ended.turns
        return self.turns[-1].turn if self.turns else 0

    @property
    def tally(self) -> Tally:
        """What it has used, up to its end or its newest checkpoint."""
        if self.ended is not None:
            return self.ended.tally
        return self.turns[-1].tally if self.turns else Tally()


def find_session(journal: JournalReader, text: str) -> str:
    """The id of the session (or prelude) that ``text`` means: an id, or its unique beginning.

    Raises:
        SessionNotFound: There is no such session, or several; the message names those near it.
    """
    ids = journal.session_ids()
    if text in ids:
        return text
    matches = [session_id for session_id in ids if text and session_id.startswith(text)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise SessionNotFound(
            f"{text!r} is the beginning of {len(matches)} sessions: {_some(matches)}; "
            "say more of it"
        )
    started = _started(journal)
    near = get_close_matches(text, started, n=3, cutoff=0.4)
    hint = f"near it: {_some(near)}" if near else "`sessions` and `calls` list their ids"
    raise SessionNotFound(f"no session {text!r} among the {len(started)} that were started; {hint}")


def _started(journal: JournalReader) -> list[str]:
    """Sessions that were opened: without what rounds share, and what only has a parent's turns."""
    rows = journal.rows(0, journal.last_seq(), kinds=(OPENED,))
    plans = (row.entry.plan for row in rows if isinstance(row.entry, Opened))
    return list(dict.fromkeys(plan.session_id for plan in plans if plan.part == "play"))


def transcript(journal: JournalReader, session_id: str) -> Transcript:
    """One session from the journal, later entries superseding earlier ones.

    Raises:
        SessionNotFound: The session was never opened.
    """
    state, calls = SessionState(keep_turns=True), dict[int, Settled]()
    for seq, entry in journal.session_rows(session_id):
        for superseded in state.apply(seq, entry):
            calls.pop(superseded, None)
        if isinstance(entry, Settled):
            calls[seq] = entry
    if state.plan is None or state.started_at is None:
        raise SessionNotFound(f"session {session_id!r} was never opened in this run")
    return Transcript(
        plan=state.plan,
        started_at=state.started_at,
        turns=tuple(state.turns),
        calls=tuple(calls.values()),
        in_flight=tuple(state.attempts.open.values()),
        ended=state.ended,
    )


def prelude_result(journal: JournalReader, plan: SessionPlan) -> JSON:
    """What the preparation of a session's round has made; ``None`` without one."""
    if plan.prelude_id is None:
        return None
    ended = fold(journal.session(plan.prelude_id), keep_turns=False).ended
    return None if ended is None else ended.result


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:5]) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")
