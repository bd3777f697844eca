"""From llama.cpp's streamed answer, or its refusal, to this project's types. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson

from matrix.model.errors import (
    ContextOverflow,
    MalformedAnswer,
    ProviderError,
    ProviderUnavailable,
    RequestRejected,
)
from matrix.model.records import Usage

_DATA: Final = b"data:"
_ERROR: Final = b"error:"
_DONE: Final = b"[DONE]"
_TOO_LONG: Final = "exceed_context_size_error"


class LocalAnswer(NamedTuple):
    """A whole answer. ``usage`` is ``None`` if llama.cpp reported none."""

    text: str
    finish_reason: str
    usage: Usage | None


class StreamReader:
    """Puts an answer together from the lines of an event stream."""

    def __init__(self, name: str) -> None:
        """``name`` is the model's, for messages."""
        self._name = name
        self._pieces: list[str] = []
        self._finish = ""
        self._usage: Usage | None = None

    def read(self, line: bytes) -> None:
        """Take one line.

        Raises:
            ProviderError: The line reports an error, or is no event at all.
        """
        line = line.strip()
        if not line or line.startswith(b":"):
            return
        for prefix in (_DATA, _ERROR):
            if line.startswith(prefix):
                self._take(line.removeprefix(prefix).strip())
                return
        raise MalformedAnswer(f"{self._name}: {line[:200]!r} in the middle of an answer")

    def finish(self) -> LocalAnswer:
        """The whole answer, once the stream has ended.

        Raises:
            MalformedAnswer: It was cut off, or there is no text in it.
        """
        if not self._finish:
            raise MalformedAnswer(f"{self._name}: the answer was cut off")
        text = "".join(self._pieces)
        if not text.strip():
            raise MalformedAnswer(f"{self._name}: an answer without text ({self._finish})")
        return LocalAnswer(text, self._finish, self._usage)

    def _take(self, raw: bytes) -> None:
        if raw == _DONE:
            return
        event = _object(raw, self._name)
        if "error" in event:
            raise error_of(_part(event, "error"), self._name)
        if usage := _part(event, "usage"):
            self._usage = usage_of(usage)
        for choice in event.get("choices") or ():
            self._pieces.append(_part(choice, "delta").get("content") or "")
            self._finish = choice.get("finish_reason") or self._finish


def usage_of(reported: Mapping[str, Any]) -> Usage | None:
    """Tokens as reported; ``None`` unless both counts are there."""
    read, written = reported.get("prompt_tokens"), reported.get("completion_tokens")
    if not isinstance(read, int) or not isinstance(written, int):
        return None
    cached = _part(reported, "prompt_tokens_details").get("cached_tokens")
    return Usage(read, written, cached if isinstance(cached, int) else 0)


def refusal(status: int, raw: bytes, name: str) -> ProviderError:
    """What an answer with an HTTP status other than 200 means."""
    try:
        reported = _part(_object(raw, name), "error")
    except MalformedAnswer:
        reported = {"message": raw[:200].decode(errors="replace")}
    return error_of({"code": status, **reported}, name)


def error_of(reported: Mapping[str, Any], name: str) -> ProviderError:
    """llama.cpp's error object as one of this project's errors."""
    message = f"{name}: {reported.get('message') or 'an error without a message'}"
    if reported.get("type") == _TOO_LONG:
        return ContextOverflow(message)
    code = reported.get("code")
    is_request = isinstance(code, int) and 400 <= code < 500
    return RequestRejected(message) if is_request else ProviderUnavailable(message)


def _object(raw: bytes, name: str) -> dict[str, Any]:
    try:
        found = orjson.loads(raw)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise MalformedAnswer(f"{name}: {raw[:200]!r} is not a JSON object")
    return found


def _part(holder: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    found = holder.get(field)
    return found if isinstance(found, dict) else {}
