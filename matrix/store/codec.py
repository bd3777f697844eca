"""How journal entries are written: one kind number and one compact JSON array per entry.

Arrays rather than objects, because field names would be most of the bytes. Fields are only ever
added at the end. Turn entries carry text that compresses, so they are deflated.
"""

from __future__ import annotations

import zlib
from dataclasses import astuple
from typing import Any, Final

import orjson

from matrix.model.entries import Acted, Ended, Entry, Held, Opened, Settled, Share, Tally, TurnDone
from matrix.model.errors import StoreError
from matrix.model.records import (
    Answer,
    CallKey,
    Event,
    Failure,
    Message,
    Player,
    Score,
    SessionPlan,
    Usage,
)

OPENED: Final = 1
HELD: Final = 2
SETTLED: Final = 3
TURN_DONE: Final = 4
ENDED: Final = 5
ACTED: Final = 6

JOURNAL_VERSION: Final = 1
"""Version of this encoding; written into every journal and checked when one is opened."""


def encode(entry: Entry) -> tuple[int, bytes]:
    """Kind number and body of an entry."""
    match entry:
        case Held():
            _, phase, turn, slot = entry.key
            return HELD, orjson.dumps(
                [
                    entry.hold_id,
                    phase,
                    turn,
                    slot,
                    entry.attempt,
                    entry.role,
                    entry.model,
                    entry.amount,
                    entry.owner,
                    entry.at,
                ]
            )
        case Settled():
            _, phase, turn, slot = entry.key
            return SETTLED, orjson.dumps(
                [
                    entry.hold_id,
                    phase,
                    turn,
                    slot,
                    entry.attempt,
                    entry.role,
                    entry.model,
                    entry.digest,
                    entry.held,
                    entry.disposition,
                    entry.cost,
                    list(entry.usage),
                    entry.waited_s,
                    entry.took_s,
                    entry.error_class,
                    _answer_out(entry.answer),
                    entry.at,
                    *([entry.saved, entry.overrun] if entry.saved or entry.overrun else []),
                ]
            )
        case TurnDone():
            return TURN_DONE, zlib.compress(
                orjson.dumps(
                    [
                        entry.phase,
                        entry.turn,
                        entry.state.decode(),
                        [list(item) for item in entry.messages],
                        [list(item) for item in entry.events],
                        [list(item) for item in entry.scores],
                        [list(item) for item in entry.players],
                        _tally_out(entry.tally),
                        entry.ended,
                        entry.versions,
                        entry.at,
                        *([entry.tree] if entry.tree else []),
                    ]
                ),
                1,
            )
        case Opened():
            return OPENED, orjson.dumps([astuple(entry.plan)[1:], entry.at])
        case Ended():
            return ENDED, orjson.dumps(
                [
                    entry.outcome,
                    entry.reason,
                    entry.error_class,
                    entry.turns,
                    entry.score,
                    _tally_out(entry.tally),
                    entry.at,
                    entry.result,
                ]
            )
        case Acted():
            _, phase, turn, slot = entry.key
            failure = None if entry.failure is None else list(entry.failure)
            rest = [entry.result, failure, entry.tree, entry.took_s, entry.at]
            return ACTED, orjson.dumps([phase, turn, slot, entry.name, entry.digest, *rest])


def decode(kind: int, session_id: str, body: bytes) -> Entry:
    """The entry of a stored row.

    Raises:
        StoreError: The row is damaged or of a later version.
    """
    try:
        return _decode(kind, session_id, body)
    except (zlib.error, ValueError, TypeError, LookupError, AttributeError) as error:
        raise StoreError(
            f"a journal entry of session {session_id} cannot be read ({error}); "
            "the journal is damaged or was written by a later version of matrix"
        ) from None


def _decode(kind: int, session_id: str, body: bytes) -> Entry:
    if kind == HELD:
        f = orjson.loads(body)
        return Held(f[0], CallKey(session_id, f[1], f[2], f[3]), *f[4:10])
    if kind == SETTLED:
        f = orjson.loads(body)
        return Settled(  # type: ignore[call-arg]  # the row's fields in order
            f[0],
            CallKey(session_id, f[1], f[2], f[3]),
            *f[4:11],
            Usage(*f[11]),
            *f[12:15],
            _answer_in(f[15]),
            *f[16:19],
        )
    if kind == TURN_DONE:
        f = orjson.loads(zlib.decompress(body))
        return TurnDone(
            session_id=session_id,
            phase=f[0],
            turn=f[1],
            state=f[2].encode(),
            messages=tuple(Message(*item) for item in f[3]),
            events=tuple(Event(*item) for item in f[4]),
            scores=tuple(Score(*item) for item in f[5]),
            players=tuple(Player(*item) for item in f[6]),
            tally=_tally_in(f[7]),
            ended=None if f[8] is None else (f[8][0], f[8][1]),
            versions=(f[9][0], f[9][1]),
            at=f[10],
            tree=f[11] if len(f) > 11 else "",
        )
    if kind == OPENED:
        f = orjson.loads(body)
        return Opened(SessionPlan(session_id, *f[0]), f[1])
    if kind == ENDED:
        f = orjson.loads(body)
        outcome, reason, error_class, turns, score, tally, at, result = f[:8]
        return Ended(
            session_id, outcome, reason, error_class, turns, score, _tally_in(tally), at, result
        )
    if kind == ACTED:
        f = orjson.loads(body)
        failed = Failure(*f[6]) if f[6] else None
        return Acted(CallKey(session_id, f[0], f[1], f[2]), f[3], f[4], f[5], failed, *f[7:10])
    raise ValueError(f"unknown kind of entry {kind}")


def _answer_out(answer: Answer | None) -> list[Any] | None:
    if answer is None:
        return None
    failure = None if answer.failure is None else list(answer.failure)
    return [
        answer.text,
        list(answer.usage),
        answer.cost,
        answer.duration_s,
        answer.model,
        answer.finish_reason,
        failure,
    ]


def _answer_in(fields: list[Any] | None) -> Answer | None:
    if fields is None:
        return None
    text, usage, cost, duration, model, reason, failure = fields[:7]
    return Answer(
        text, Usage(*usage), cost, duration, model, reason, Failure(*failure) if failure else None
    )


def _tally_out(tally: Tally) -> list[Any]:
    return [tally.clock_s, {role: list(share) for role, share in tally.roles.items()}]


def _tally_in(fields: list[Any]) -> Tally:
    return Tally(fields[0], {role: Share(*share) for role, share in fields[1].items()})
