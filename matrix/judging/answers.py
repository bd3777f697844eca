"""Reading structured answers that a model wrote: lenient about wrapping, strict about shape."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import orjson

from matrix.model.documents.json_objects import each_once


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
    return [found for _, _, found in _objects(text)]


def closing_json_object(text: str) -> dict[str, Any] | None:
    """The JSON object that ``text`` ends with, bare or fenced; ``None`` if it says a key twice.

    What stands before the end may be a draft, an example or a quotation.
    """
    objects = list(_objects(text))
    if not objects:
        return None
    start, end, found = objects[-1]
    if text[end:].strip(" \t\r\n`*"):
        return None
    try:
        json.loads(text[start:end], object_pairs_hook=each_once)
    except ValueError:
        return None
    return found


def own_words(text: str) -> str:
    """What a model answers, without what it thought aloud before it, and lines that it quotes.

    A thought that never closes was cut off: nothing after its beginning is an answer.
    """
    text = text[max((closed.end() for closed in _CLOSED.finditer(text)), default=0) :]
    if opened := _OPENED.search(text):
        text = text[: opened.start()]
    lines = text.strip().splitlines(keepends=True)
    return "".join(line for line in lines if not line.lstrip().startswith(">"))


def says_nothing(text: str) -> bool:
    r"""Whether there is nothing in ``text`` that can be seen: no answer, whoever was asked.

    >>> says_nothing(" \n\u200b"), says_nothing("0")
    (True, False)
    """
    return not any(char.isprintable() and not char.isspace() for char in text)


def unquoted(text: str) -> str:
    """``text`` without what stands in quotation marks, where the words are somebody else's."""
    kept, at = [], 0
    for start, end in quotations(text):
        kept += [text[at:start], " "]
        at = end
    return "".join([*kept, text[at:]])


def quotations(text: str) -> Iterator[tuple[int, int]]:
    r"""Where something stands in quotation marks: from the first mark, and up to after the last.

    Takes time that grows as the length does: a mark that never closes is looked for once.

    >>> [text[start:end] for text in ["It's 'so', \"no"] for start, end in quotations(text)]
    ["'so'"]
    """
    alone = set[str]()
    opened = _QUOTE.search(text)
    while opened is not None:
        mark, after = opened.group(), opened.end()
        closed = None if mark in alone else _CLOSES[mark].search(text, after)
        if closed is None:
            alone.add(mark)
        else:
            after = closed.end()
            yield opened.start(), after
        opened = _QUOTE.search(text, after)


_QUOTE: Final = re.compile(r"""(?<!\w)["'`](?=\S)|[\u201c\u201e\u00ab]""")
_CLOSES: Final = {
    **{mark: re.compile(rf"(?<!\\){mark}(?!\w)") for mark in "\"'`"},
    "\u201c": re.compile("\u201d"),
    "\u201e": re.compile("[\u201c\u201d]"),
    "\u00ab": re.compile("\u00bb"),
}
_THOUGHT: Final = r"think|thinking|thought|reasoning"
_OPENED: Final = re.compile(rf"^[^\S\n]*<(?:{_THOUGHT})>", re.I | re.M)
_CLOSED: Final = re.compile(rf"</(?:{_THOUGHT})>[^\S\n]*$|^[^\S\n]*</(?:{_THOUGHT})>", re.I | re.M)


MOST_MISSES: Final = 1_000
"""Braces that open no object before no further ones are looked at: each costs a walk of its own."""
_DECODER: Final = json.JSONDecoder()


def _objects(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Each object that is in no other one, with its place: from, and up to."""
    start, misses = text.find("{"), 0
    while start >= 0 and misses < MOST_MISSES:
        end, read = start + 1, None
        try:
            _, closed = _DECODER.raw_decode(text, start)
            read, end = orjson.loads(text[start:closed]), closed
        except (ValueError, RecursionError):
            misses += 1
        if isinstance(read, dict):
            yield start, end, read
        start = text.find("{", end)


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
