"""Reading structured answers that a model wrote: lenient about wrapping, strict about shape."""

from __future__ import annotations

from typing import Any

import orjson


def read_json_object(text: str) -> dict[str, Any] | None:
    """The first JSON object in ``text`` (bare, fenced, or inside prose), or ``None``.

    Models wrap JSON in code fences or a sentence. Everything from the first ``{`` to the last
    ``}`` is tried, then the shortest balanced object from the first ``{``.
    """
    start = text.find("{")
    if start < 0:
        return None
    for find_end in (_last_end, _balanced_end):
        end = find_end(text, start)
        if end > start:
            try:
                found = orjson.loads(text[start:end])
            except orjson.JSONDecodeError:
                continue
            if isinstance(found, dict):
                return found
    return None


def read_json_objects(text: str) -> list[dict[str, Any]]:
    """Every JSON object in ``text`` that is in no other one, in order."""
    found, start = [], text.find("{")
    while start >= 0:
        end = _balanced_end(text, start)
        read: Any = None
        if end > start:
            try:
                read = orjson.loads(text[start:end])
            except orjson.JSONDecodeError:
                end = -1
        if isinstance(read, dict):
            found.append(read)
        start = text.find("{", end if end > start else start + 1)
    return found


def _last_end(text: str, start: int) -> int:
    return text.rfind("}", start) + 1


def _balanced_end(text: str, start: int) -> int:
    """Index just after the object that opens at ``start``, or -1 when it never closes."""
    depth, quoted, escaped = 0, False, False
    for index in range(start, len(text)):
        char = text[index]
        if quoted:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                quoted = False
        elif char == '"':
            quoted = True
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return index + 1
    return -1
