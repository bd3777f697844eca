"""One running of a function: where it is, and what it was given in turns before.

A function cannot be stored in the middle. After ``ctx.checkpoint()`` it is run anew from its
beginning and given what it was given before, from the session's log, until it comes to where it
was. So the same code plays, resumes and goes on in a branch, and it has to do the same again when
it is given the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Coroutine, Mapping, Sequence
from enum import Enum
from math import isfinite
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from matrix.kinds.context import Context
from matrix.kinds.protocol import RECORDED
from matrix.model.errors import DigestMismatch, KindDefect, SessionStop, did_you_mean
from matrix.model.records import JSON, Message

T = TypeVar("T")


def as_stored(value: Any, where: str) -> JSON:
    """A value of a kind's code as it comes back from where it is stored: tuples are lists there.

    What code is given live has to be what it is given when the session is resumed or branched.

    Args:
        value: What the code gave.
        where: What it is, for messages: ``the state``.

    Raises:
        ValueError: It is no JSON: in words that name the place in it.
    """
    if value is None or _is_plain(value):
        return value
    if isinstance(value, Mapping):
        odd = next((key for key in value if not isinstance(key, str)), None)
        if odd is not None:
            raise ValueError(
                f"{where} has the key {odd!r:.80}, and keys are texts where it is stored: write "
                f"{str(odd)!r:.80}"
            )
        return {key: as_stored(one, f"{where}[{key!r:.40}]") for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [as_stored(one, f"{where}[{place}]") for place, one in enumerate(value)]
    raise ValueError(
        f"{where} is {value!r:.80} ({type(value).__name__}), which cannot be stored; what is "
        "stored is made of texts, finite numbers, True, False, None, lists and dictionaries"
    )


def _is_plain(value: Any) -> bool:
    if isinstance(value, Enum):
        return False
    if isinstance(value, float):
        return isfinite(value)
    return isinstance(value, str) or (isinstance(value, int) and abs(value) < MOST_WHOLE)


MOST_WHOLE: Final = 2**63
"""Whole numbers from which on none is stored as it is."""


_AGAIN: Final = "it does not do the same again"
"""What such a defect is called, whatever its sessions asked."""

MOST_IN_A_ROW: Final = 500
"""Calls of one turn, one after another, beyond which a loop is taken for one without an end."""


class CheckpointReached(BaseException):
    """The turn is over. Not an ``Exception``, so that code of a kind lets it pass."""


class Record(NamedTuple):
    """What was given to the function at one place.

    Attributes:
        what: ``ask`` or ``effect``.
        name: Whom was asked, or what was done.
        digest: Content hash of the request.
        elapsed_s: The session's clock afterwards.
        result: The answer, or the result; ``None`` with a failure.
        failure: Error class and message.
        code: Identity of the code that was played; empty in runs of before.
    """

    what: str
    name: str
    digest: str
    elapsed_s: float
    result: Any = None
    failure: tuple[str, str] | None = None
    code: str = ""


class Performance:
    """One running of the function: where it is, and what it was given in turns before.

    Args:
        ctx: The turn that is being played.
        seeds: The session's seed in every turn before; a branch has another one than its parent.
        judges: Roles whose answers are no part of the transcript.
        scores: Names of all scores, where they are declared.
        scored: Scores of turns before, in their order, for code that is not run anew.
        at: The turn that it begins in.
        turn_per_call: Whether each call is a turn.
        code: Identity of the code that plays.
    """

    def __init__(
        self,
        ctx: Context,
        seeds: Sequence[int],
        judges: Collection[str],
        *,
        scores: Sequence[str] = (),
        scored: Mapping[str, float | None] | None = None,
        at: int = 1,
        turn_per_call: bool = False,
        code: str = "",
    ) -> None:
        self.code = code
        self.plan, self.turn, self.at, self.judges = ctx.plan, ctx.turn, at, judges
        self.seeds = [*seeds, ctx.plan.seed]
        self.scored, self.turn_per_call = dict(scored or {}), turn_per_call
        self._scores = scores
        self.fresh: dict[str, Record] = {}
        self.stopped: SessionStop | None = None
        self.ended = False
        self._begun: list[tuple[str, str, Coroutine[Any, Any, Any]]] = []
        self._past = {
            (one.turn, one.label): msgspec.json.decode(one.text, type=Record)
            for one in ctx.log.channel(RECORDED)
        }

    @property
    def again(self) -> bool:
        """Whether what happens now has happened already."""
        return self.at < self.turn

    def require_declared(self, score: str) -> None:
        """See that a score is one of those that were declared, where any were.

        Raises:
            ValueError: It is none.
        """
        if self._scores and score not in (*self._scores, "score"):
            known = ", ".join(self._scores)
            told = f"ctx.score: {score!r} is not in scores=[...], which has {known}"
            raise ValueError(f"{told}{did_you_mean(score, self._scores)}")

    def require_bounded(self, calls: int) -> None:
        """See that a turn does not ask for ever: all of a cap could go into one session.

        Raises:
            KindDefect: It has asked too often.
        """
        if calls <= MOST_IN_A_ROW:
            return
        raise KindDefect(
            f"more than {MOST_IN_A_ROW} calls in a row without a checkpoint: a loop without an end "
            "is taken for a mistake; bound it, or write `await ctx.checkpoint()` in it, which "
            f"begins another turn{self._here}"
        )

    def begin(self, name: str, where: str, doing: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """What the code has begun, and where, to see later that it was waited for."""
        self._begun.append((name, where, doing))
        return doing

    def require_awaited(self) -> None:
        """See that all that the code has begun was done.

        Raises:
            KindDefect: Something was not: an ``await`` is missing.
        """
        missing = [
            (name, where, doing)
            for name, where, doing in self._begun
            if inspect.getcoroutinestate(doing) == inspect.CORO_CREATED
        ]
        self._begun.clear()
        for _, _, doing in missing:
            doing.close()
        if missing:
            name, where, _ = missing[0]
            told = f"ctx.{name} was never awaited; write `await ctx.{name}(...)`"
            raise KindDefect(f"{told} ({where})")

    def recorded(self, slot: str, what: str, name: str, digest: str) -> Record:
        """What was given at a place before.

        Raises:
            DigestMismatch: What plays has been changed, and does something else there.
            KindDefect: It has not been changed, and does or asks something else all the same.
        """
        found = self._past.get((self.at, slot))
        changed = self._changed_since(found)
        if found is None or (found.what, found.name) != (what, name):
            before = "nothing" if found is None else f"{found.what} {found.name!r}"
            told = f"does {what} {name!r} where it did {before} before checkpoint {self.at}"
            raise self._mismatch(told, changed)
        if found.digest != digest and not changed:
            told = f"asks {name!r} something else than before checkpoint {self.at}"
            raise self._mismatch(told, changed)
        return found

    def note(self, slot: str, given: Record) -> None:
        """What is given at a place now, with the code that it is given to."""
        self.fresh[slot] = given._replace(code=self.code)

    def _changed_since(self, record: Record | None) -> str:
        """What is another thing than when something was recorded; empty if nothing is."""
        if self.plan.changed:
            return self.plan.changed
        codes = {record.code} if record else {one.code for one in self._past.values()}
        return "" if codes <= {self.code, ""} else "changed code"

    @property
    def _here(self) -> str:
        """Where the code is that did this, in brackets; empty before it has begun anything."""
        return f" ({self._begun[-1][1]})" if self._begun else ""

    def _mismatch(self, told: str, changed: str) -> SessionStop:
        if changed:
            return DigestMismatch(
                f"played again with {changed}, the function {told}; go on from an earlier turn, or "
                f"begin a new run{self._here}"
            )
        return KindDefect(
            f"{_AGAIN}: played again, the function {told}; it has to do the same when it is given "
            "the same: draws from ctx.rng, time from ctx.elapsed_s, the world through ctx.effect"
            f"{self._here}"
        )

    def over(self) -> None:
        """The function is over; see that it has come to where it was.

        Raises:
            SessionStop: It has caught what it had to let pass.
            DigestMismatch: What plays has been changed, and it is over earlier than it was.
            KindDefect: So it is without a change, or it has begun what it never waited for.
        """
        if self.stopped is not None:
            raise self.stopped
        self.require_awaited()
        if self.again:
            told = f"is over before checkpoint {self.at}, where it went on"
            raise self._mismatch(told, self._changed_since(None))

    def keep(self, ctx: Context) -> None:
        """Put what this turn was given into the session's log."""
        for slot, one in self.fresh.items():
            text = msgspec.json.encode(one).decode()
            ctx.log.append(Message(RECORDED, one.name, text, self.turn, slot))
