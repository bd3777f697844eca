"""How journal entries are written: one kind number and one packed body per entry.

Version 2. Holds and settlements are fields in a fixed order
(:mod:`matrix.store.attempt_bodies`), the others compact JSON arrays, because field names would be
most of the bytes. Fields of arrays are only ever added at the end. Bodies of version 1 say so by
their first byte and are still read, also in one journal with later ones: a run that an earlier
version began is gone on with by this one.
"""

from __future__ import annotations

import zlib
from dataclasses import astuple
from typing import Any, Final

import orjson

from matrix.model.entries import (
    Acted,
    Dropped,
    Ended,
    Entry,
    Held,
    Looked,
    Opened,
    Settled,
    Share,
    Tally,
    TurnDone,
)
from matrix.model.errors import StoreError
from matrix.model.records import Event, Failure, Message, Player, Score, SessionPlan
from matrix.store import codec_v1
from matrix.store.attempt_bodies import held_in, held_out, key_in, key_out, settled_in, settled_out
from matrix.store.packing import DEFLATED, PLAIN, Packer, Unpacker

OPENED: Final = 1
HELD: Final = 2
SETTLED: Final = 3
TURN_DONE: Final = 4
ENDED: Final = 5
ACTED: Final = 6
LOOKED: Final = 7

JOURNAL_VERSION: Final = 2
"""Version of this encoding; written into every journal and checked when one is opened."""


def encode(entry: Entry) -> tuple[int, bytes]:
    """Kind number and body of an entry."""
    body = Packer()
    match entry:
        case Held():
            held_out(body, entry)
            return HELD, body.packed()
        case Settled():
            settled_out(body, entry)
            return SETTLED, body.packed()
        case TurnDone():
            body.raw(entry.state)
            body.raw(
                orjson.dumps(
                    [
                        entry.phase,
                        entry.turn,
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
                )
            )
            return TURN_DONE, body.packed()
        case Opened():
            body.raw(orjson.dumps([astuple(entry.plan)[1:], entry.at, entry.redo]))
            return OPENED, body.packed()
        case Ended():
            body.raw(
                orjson.dumps(
                    [
                        entry.outcome,
                        entry.reason,
                        entry.error_class,
                        entry.turns,
                        entry.score,
                        _tally_out(entry.tally),
                        entry.at,
                        entry.result,
                        *([] if entry.measured is None else [entry.measured]),
                    ]
                )
            )
            return ENDED, body.packed()
        case Acted():
            key_out(body, entry.key)
            failure = None if entry.failure is None else list(entry.failure)
            rest = [entry.result, failure, entry.tree, entry.took_s, entry.at]
            body.raw(orjson.dumps([entry.name, entry.digest, *rest]))
            return ACTED, body.packed()
        case Looked():
            body.raw(orjson.dumps([*entry[:2], [list(one) for one in entry.dropped], *entry[3:]]))
            return LOOKED, body.packed()


def decode(kind: int, session_id: str, body: bytes) -> Entry:
    """The entry of a stored row.

    Raises:
        StoreError: The row is damaged or of a later version.
    """
    try:
        if body[:1] not in (bytes((PLAIN,)), bytes((DEFLATED,))):
            return codec_v1.decode(kind, session_id, body)
        found = Unpacker(body)
        entry = _decode(kind, session_id, found)
        found.done()
        return entry
    except (zlib.error, ValueError, TypeError, LookupError, AttributeError) as error:
        raise StoreError(
            f"a journal entry of session {session_id} cannot be read ({error}); "
            "the journal is damaged or was written by a later version of matrix"
        ) from None


def _decode(kind: int, session_id: str, body: Unpacker) -> Entry:
    if kind == HELD:
        return held_in(body, session_id)
    if kind == SETTLED:
        return settled_in(body, session_id)
    if kind == TURN_DONE:
        state, f = body.raw(), orjson.loads(body.raw())
        return TurnDone(
            session_id=session_id,
            phase=f[0],
            turn=f[1],
            state=state,
            messages=tuple(Message(*item) for item in f[2]),
            events=tuple(Event(*item) for item in f[3]),
            scores=tuple(Score(*item) for item in f[4]),
            players=tuple(Player(*item) for item in f[5]),
            tally=_tally_in(f[6]),
            ended=None if f[7] is None else (f[7][0], f[7][1]),
            versions=(f[8][0], f[8][1]),
            at=f[9],
            tree=f[10] if len(f) > 10 else "",
        )
    if kind == OPENED:
        f = orjson.loads(body.raw())
        return Opened(SessionPlan(session_id, *f[0]), f[1], *f[2:3])
    if kind == ENDED:
        f = orjson.loads(body.raw())
        outcome, reason, error_class, turns, score, tally, at, result = f[:8]
        return Ended(
            session_id,
            outcome,
            reason,
            error_class,
            turns,
            score,
            _tally_in(tally),
            at,
            result,
            *f[8:9],
        )
    if kind == ACTED:
        key, f = key_in(body, session_id), orjson.loads(body.raw())
        failed = Failure(*f[3]) if f[3] else None
        return Acted(key, f[0], f[1], f[2], failed, *f[4:7])
    if kind == LOOKED:
        f = orjson.loads(body.raw())
        return Looked(f[0], f[1], tuple(Dropped(*one) for one in f[2]), *f[3:6])
    raise ValueError(f"unknown kind of entry {kind}")


def _tally_out(tally: Tally) -> list[Any]:
    return [tally.clock_s, {role: list(share) for role, share in tally.roles.items()}]


def _tally_in(fields: list[Any]) -> Tally:
    return Tally(fields[0], {role: Share(*share) for role, share in fields[1].items()})
