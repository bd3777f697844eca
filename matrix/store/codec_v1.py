"""Journal entries of version 1, which this version reads but no longer writes.

One compact JSON array per entry; those of turns are deflated. Journals of this version are kept in
``tests/store/journals_v1`` and must be readable for ever.
"""

from __future__ import annotations

import zlib
from typing import Any, Final

import orjson

from matrix.model.entries import Ended, Entry, Held, Opened, Settled, Share, Tally, TurnDone
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


def decode(kind: int, session_id: str, body: bytes) -> Entry:
    """The entry of a stored row.

    Raises:
        zlib.error, ValueError, TypeError, LookupError, AttributeError: The row is damaged.
    """
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
    raise ValueError(f"unknown kind of entry {kind}")


def _answer_in(fields: list[Any] | None) -> Answer | None:
    if fields is None:
        return None
    text, usage, cost, duration, model, reason, failure = fields[:7]
    return Answer(
        text, Usage(*usage), cost, duration, model, reason, Failure(*failure) if failure else None
    )


def _tally_in(fields: list[Any]) -> Tally:
    return Tally(fields[0], {role: Share(*share) for role, share in fields[1].items()})
