"""How a secret may stand in a text or a file, and where it does."""

from __future__ import annotations

import json
import re
from base64 import b64encode, urlsafe_b64encode
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import quote

REMOVED: Final = "[redacted]"
"""What stands in the place of a secret."""
SHORTEST_SECRET: Final = 6
"""Shorter values of key variables are placeholders, and would redact ordinary words."""
_SHORTEST_LINE: Final = 8
"""Shorter lines of a value of several lines are ordinary words."""
_FIRST_OWN: Final = (0, 2, 3)
"""The first letter of base64 that a value has for itself, behind 0, 1 or 2 bytes of a group."""

_BREAK: Final = re.compile(rb"[ \t]*(?:\r?\n|\\r\\n|\\n)[ \t]*")
"""The end of a line with the indentation of the next, also as JSON and programs write it."""
_ESCAPED: Final = (rb"\r", rb"\n")
_BLANK: Final = b" \t\r\n"


def spellings(value: str) -> Iterator[str]:
    """A value, and each of its lines, as JSON, URLs, Python, hex and base64 write it."""
    lines = [line.strip() for line in value.splitlines()]
    for part in (value, *(line for line in lines if len(line) >= _SHORTEST_LINE)):
        written = [part, *_in_quotes(part)]
        yield from written
        for form in written[1:]:  # JSON that quotes JSON
            yield from _in_quotes(form)
        if len(part) >= SHORTEST_SECRET:
            raw = part.encode(errors="replace")
            yield from (raw.hex(), raw.hex().upper())
            yield from _in_base64(raw)
            yield from _escaped(part, raw)


def _in_quotes(text: str) -> Iterator[str]:
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    yield repr(text)[1:-1]


def _escaped(part: str, raw: bytes) -> Iterator[str]:
    """As URLs write it, and as JSON and URLs may: every letter escaped."""
    yield from (part.replace("/", "\\/"), quote(raw, safe=""), quote(raw))
    for form in ("%{:02x}", "%{:02X}", "\\x{:02x}", "\\x{:02X}"):
        yield "".join(form.format(byte) for byte in raw)
    for form in ("\\u{:04x}", "\\u{:04X}"):
        yield "".join(form.format(ord(letter)) for letter in part if ord(letter) < 1 << 16)


def _in_base64(value: bytes) -> Iterator[str]:
    """What base64 makes of a value that stands anywhere in a text, as in a header of HTTP.

    Of each of the three ways in which it may lie across the groups of three bytes, the letters that
    its neighbours have no part in; and those it has at the end of a text, where it has none.
    """
    for before in range(3):
        padded = bytes(before) + value
        first, end = _FIRST_OWN[before], len(padded) * 8 // 6
        for encode in (b64encode, urlsafe_b64encode):
            letters = encode(padded).decode()
            if end - first >= SHORTEST_SECRET:
                yield letters[first:]
                yield letters[first:].rstrip("=")
                yield letters[first:end]


class Finder:
    """Finds a fixed set of strings in bytes, whole or broken into lines.

    Lines, because ``base64`` and ``xxd`` break what they write after some 60 to 76 letters, and
    terminals what does not fit them.
    """

    def __init__(self, strings: Sequence[bytes]) -> None:
        """``strings`` in the order in which they are looked for: the longest first."""
        self._strings = strings
        self._breakable = [one for one in strings if len(one) >= _SHORTEST_LINE]
        squeezed = sorted({_squeezed(one) for one in strings} - {b""}, key=len)
        self._shortest: list[bytes] = []
        for one in squeezed:  # where a longer one stands, the shorter one in it does
            if not any(part in one for part in self._shortest):
                self._shortest.append(one)

    def may_be_in(self, content: bytes) -> bool:
        """Whether looking closer is worth it: rules out quickly, and never too much."""
        squeezed = _squeezed(content)
        return any(one in squeezed for one in self._shortest)

    def spans(self, content: bytes) -> list[tuple[int, int]]:
        """From where to where they stand, apart from each other and in order."""
        found = [span for one in self._strings for span in _places(one, content)]
        lines = _Lines(content)
        if lines.are_several:
            found += [lines.span(*span) for one in self._breakable for span in lines.places(one)]
        return _merged(found)


def without(finder: Finder, content: bytes, *, binary: bool = False) -> bytes:
    """Content without what is found in it, of the same length if it is binary."""
    kept, at = [], 0
    for start, end in finder.spans(content):
        put = REMOVED.encode()
        kept += [content[at:start], put.ljust(end - start, b"*")[: end - start] if binary else put]
        at = end
    return b"".join((*kept, content[at:]))


class _Lines:
    """A text without its line breaks, and where in it they were."""

    def __init__(self, content: bytes) -> None:
        parts, at = [], 0
        self._joints, self._goes_on = [0], [0]
        for found in _BREAK.finditer(content):
            parts.append(content[at : found.start()])
            at = found.end()
            self._joints.append(self._joints[-1] + len(parts[-1]))
            self._goes_on.append(at)
        self._joined = b"".join((*parts, content[at:]))

    @property
    def are_several(self) -> bool:
        return len(self._joints) > 1

    def places(self, string: bytes) -> Iterator[tuple[int, int]]:
        return _places(string, self._joined)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The same places in the text with its line breaks."""
        return self._before(start), self._before(end - 1) + 1

    def _before(self, place: int) -> int:
        line = bisect_right(self._joints, place) - 1
        return self._goes_on[line] + place - self._joints[line]


def _squeezed(content: bytes) -> bytes:
    for escaped in _ESCAPED:
        content = content.replace(escaped, b"")
    return content.translate(None, _BLANK)


def _places(string: bytes, content: bytes) -> Iterator[tuple[int, int]]:
    at = content.find(string)
    while at >= 0:
        yield at, at + len(string)
        at = content.find(string, at + len(string))


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
