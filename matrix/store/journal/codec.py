"""How journal entries are written: the number of a kind, and a body that says the rest.

A body is the entry in MessagePack, as msgspec writes and reads it: fields in their order, every
type checked when it is read. The session is left out, because the row names it. What is added to an
entry later goes to the end of its fields, with a default.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from msgspec import MsgspecError
from msgspec.msgpack import Decoder, Encoder

from matrix.model.entries import Acted, Ended, Entry, Held, Lent, Looked, Opened, Settled, TurnDone
from matrix.model.errors import StoreError
from matrix.model.metrics import score_read

OPENED: Final = 1
HELD: Final = 2
SETTLED: Final = 3
TURN_DONE: Final = 4
ENDED: Final = 5
ACTED: Final = 6
LOOKED: Final = 7
LENT: Final = 8

JOURNAL_VERSION: Final = 3
"""Version of this encoding; written into every journal and checked when one is opened."""

READ_BEFORE: Final = "bb1f5ae"
"""The newest commit that reads journals of versions 1 and 2, of which none was in a release."""

_KINDS: Final[dict[int, type[Any]]] = {
    OPENED: Opened,
    HELD: Held,
    SETTLED: Settled,
    TURN_DONE: TurnDone,
    ENDED: Ended,
    ACTED: Acted,
    LOOKED: Looked,
    LENT: Lent,
}
_NUMBERS: Final = {entry: kind for kind, entry in _KINDS.items()}
_DECODERS: Final = {kind: Decoder(entry) for kind, entry in _KINDS.items()}
_ENCODER: Final = Encoder()


def encode(entry: Entry) -> tuple[int, bytes]:
    """Kind number and body of an entry."""
    return _NUMBERS[type(entry)], _ENCODER.encode(_of_session(entry, ""))


def decode(kind: int, session_id: str, body: bytes) -> Entry:
    """The entry of a stored row.

    Raises:
        StoreError: The row is damaged or of a later version.
    """
    if kind not in _DECODERS:
        raise unreadable(session_id, f"unknown kind {kind}")
    try:
        return _of_session(_scored(_DECODERS[kind].decode(body)), session_id)
    except MsgspecError as error:
        raise unreadable(session_id, error) from None


def unreadable(session_id: str, error: Exception | str) -> StoreError:
    """What to raise about a row that makes no sense."""
    return StoreError(
        f"a journal entry of session {session_id} cannot be read ({error}); the journal is damaged "
        "or was written by a later version of matrix"
    )


def _scored(entry: Entry) -> Entry:
    """The entry without scores that earlier versions took and no mean can have, such as NaN."""
    match entry:
        case TurnDone(scores=scores) if any(score_read(one.value) != one.value for one in scores):
            read = tuple(one._replace(value=score_read(one.value)) for one in scores)
            return replace(entry, scores=read)
        case Ended(score=score, measured=measured) if (score, measured) != (None, None):
            return replace(entry, score=score_read(score), measured=score_read(measured))
    return entry


def _of_session(entry: Entry, session_id: str) -> Entry:
    match entry:
        case Held() | Settled() | Acted() | Lent():
            return entry._replace(key=entry.key._replace(session_id=session_id))
        case Opened():
            return entry._replace(plan=replace(entry.plan, session_id=session_id))
        case TurnDone() | Ended():
            return replace(entry, session_id=session_id)
        case Looked():
            return entry
