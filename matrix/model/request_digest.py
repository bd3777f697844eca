"""What identifies a model request, and enough beside it to say how two requests differ.

A digest is the content hash of the whole request, then a dot, then its *sketch*: one byte for each
part. Requests are the same if their hashes are; sketches only serve to tell what has changed. Two
different parts have the same byte once in 256 times, so a difference may go unnamed, but none is
ever made up. Digests of journals of version 1 have no sketch.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Final

from matrix.model.errors import DigestMismatch
from matrix.model.records import CallKey, CallParams, ChatMessage

_PARTS: Final = ("role", "model", "max_tokens", "temperature", "schema")
"""What the bytes before the messages stand for."""
_LATER: Final = ("tools", "tool_choice", "a parameter")
"""What those after the messages stand for, if there are any."""
_NONE: Final = bytes(len(_LATER))
"""The bytes of parts that are not used; the checksum of an empty text is 0."""
_HEAD, _TAIL = 8, 16
"""Messages that a sketch covers: the first and the last; what lies between is one byte."""


def request_digest(
    content: str, role: str, model: str, messages: Sequence[ChatMessage], params: CallParams
) -> str:
    """The digest of a request whose content hash is ``content``."""
    first, later = params[:3], params[3:]
    parts = bytes(_byte(repr(part)) for part in (role, model, *first))
    rest = bytes(map(_byte, later)) if any(later) else b""
    return f"{content}.{(parts + _messages(messages) + rest).hex()}"


def content_of(digest: str) -> str:
    """The content hash in a digest, without the sketch."""
    return digest.partition(".")[0]


def check_same_request(key: CallKey, recorded: str, asked: str) -> None:
    """Compare the digest of a recorded answer's request with that of the request made now.

    Raises:
        DigestMismatch: They are different requests; the message says in what.
    """
    if content_of(recorded) == content_of(asked):
        return
    raise DigestMismatch(
        f"call {key} of session {key.session_id} was recorded for another request: "
        f"{_what_differs(recorded, asked)}. Prompts or code changed since. `matrix resume "
        "--redo-turn` plays this turn again from the checkpoint before it (what was paid stays "
        "paid, its answers are superseded); or start a new run"
    )


def _what_differs(recorded: str, asked: str) -> str:
    try:
        then, now = (bytes.fromhex(digest.partition(".")[2]) for digest in (recorded, asked))
    except ValueError:
        then = now = b""
    first = len(_PARTS)
    if len(then) <= first or len(now) <= first:
        return "what differs cannot be told, because an earlier version of matrix recorded it"
    found = [part for part, one, two in zip(_PARTS, then, now, strict=False) if one != two]
    if then[first] != now[first]:
        found.append(f"the number of messages ({then[first]} then, {now[first]} now)")
    else:
        names = _places(now[first])
        end = first + 1 + len(names)
        places = zip(names, then[first + 1 : end], now[first + 1 : end], strict=False)
        found += [place for place, one, two in places if one != two]
        later = zip(_LATER, then[end:] or _NONE, now[end:] or _NONE, strict=False)
        found += [name for name, one, two in later if one != two]
    return f"{', '.join(found)} changed" if found else "the words of a message changed"


def _messages(messages: Sequence[ChatMessage]) -> bytes:
    each = [_byte("\n".join(map(str, message.parts))) for message in messages]
    count = min(len(each), 255)
    if len(each) > _HEAD + _TAIL:
        between = zlib.crc32(bytes(each[_HEAD:-_TAIL])) & 255
        each = [*each[:_HEAD], between, *each[-_TAIL:]]
    return bytes((count, *each))


def _places(count: int) -> list[str]:
    """What the bytes of a sketch of so many messages stand for."""
    names = [f"message {number} of {count}" for number in range(1, count + 1)]
    if count > _HEAD + _TAIL:
        return [
            *names[:_HEAD],
            f"a message between {_HEAD + 1} and {count - _TAIL}",
            *names[-_TAIL:],
        ]
    return names


def _byte(text: str) -> int:
    return zlib.crc32(text.encode(errors="surrogatepass")) & 255
