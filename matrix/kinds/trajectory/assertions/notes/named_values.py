"""What a note says under a name, such as a status.

It is looked for wherever it may stand: in front matter, in a line of its own, in a table, under a
heading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Final

from matrix.kinds.trajectory.assertions.notes.markdown import (
    HEADING,
    LABEL,
    STRUCK,
    bare,
    cells_of,
    column_below,
    front_matter,
    is_rule,
    parts_of,
    prose,
    with_marked_headings,
)

_DATED: Final = re.compile(
    r"^\s{0,3}(?:[-*+]\s+)?[*_`(\[]{0,3}(\d{4}-\d{2}-\d{2})[*_`)\]]{0,3}\s{0,3}[:,\u2013\u2014-]?\s*"
)
"""A line or an item that begins with its day, as of a history."""
_ASIDE: Final = re.compile(r" ?\([^()]*\)$")
"""What a label says of itself: ``Status (20 March)``."""
_OF_TIME: Final = frozenset(
    [
        *("since", "date", "as of", "updated", "last updated", "changed", "when", "by", "who"),
        *("owner", "note", "notes", "reason", "why", "confidence", "id", "name", "title"),
    ]
)
"""What stands over a column beside that of a status, and is no status."""
_OF_A_TIME: Final = re.compile(
    r",? (?:as of|as at)\b.*|,? (?:(?:since|on|in|per|from|until) )?\d.*"
)
"""When a label's value was so: ``Status as of 2 March``."""
_IN_A_LINE: Final = re.compile(r"[\u00b7\u2022|;()\[\]`]|, |/ ")
"""What stands between values that are in one line: ``(Risk: value, Status: active)``."""
_NOW: Final = frozenset(["current", "currently", "now", "present", "latest", "today"])
"""Labels below a heading that have the value itself."""
_LEAD: Final = re.compile(r"^(?:[>\s]|[-*+]\s|\d{1,2}[.)]\s|\[[ xX]\]\s)+")
"""What stands before the words of an item, a task or a quotation."""
_TAG: Final = re.compile(r"</?[A-Za-z][^<>]{0,100}>")
_MARKS: Final = re.compile(r"^[\W_]+")
_FIELDS: Final = frozenset(
    [
        *("evidence", "for", "against", "pro", "con", "risk", "type", "kind", "area", "category"),
        *("priority", "tags", "source", "sources", "claim", "hypothesis", "summary", "decision"),
        *("next", "reversal", "revisit", "metric", "score", "weight", "strength", "history"),
    ]
)
"""Words in labels of what a note has beside a status."""
_MOST_OF_A_VALUE: Final = 3
"""Words of a label that may be a value with what is said of it: ``In review: until May``."""
_OF_NOW: Final = re.compile(r"^(?:the |its |our )?(?:current|present|latest|new|final|overall) ")


def value_of(
    text: str, names: Iterable[str], *, headings: bool = True, known: Iterable[str] = ()
) -> str:
    """What a note says under a name: in front matter, a line, a table row, or under a heading.

    Args:
        text: The note.
        names: What it may be called.
        headings: Whether headings are names as well.
        known: How values begin of which it is known that they are some, whatever stands around.
    """
    requested = {name.casefold() for name in names}
    for key, value in front_matter(text):
        if bare(key) in requested:
            return value
    below = _Below(requested, tuple(word.casefold() for word in known))
    whole = list(with_marked_headings(prose(text)))
    parts = [(at, part) for at, line in enumerate(whole) for part in parts_of(line)]
    lines = [part for _, part in parts]
    for number, (at, line) in enumerate(parts):
        label = LABEL.match(line.strip().lstrip("># "))
        if label and _named(label[1]) in requested:
            said = label[2].strip(" *_`")
            if said:
                return said
            if said := below.label([*_beside(parts, number), *whole[at + 1 :]]):
                return said
        cells = cells_of(line) if line.lstrip().startswith("|") else []
        if len(cells) > 1 and bare(cells[0]) in requested and not _is_head(lines, number):
            return cells[1].strip(" *_`")
        if headings and (heading := HEADING.match(line)) and _named(heading[2]) in requested:
            return below.heading(whole[at + 1 :])
    return _in_a_line(lines, requested) or _in_column(lines, lambda head: bare(head) in requested)


def _beside(parts: Sequence[tuple[int, str]], number: int) -> Iterator[str]:
    """The parts of a line that follow one of them."""
    at = parts[number][0]
    followers = (parts[place] for place in range(number + 1, len(parts)))
    return (part for _, part in takewhile(lambda one: one[0] == at, followers))


def _in_a_line(lines: Sequence[str], requested: set[str]) -> str:
    """What one of several values in a line says, above the first section of a note."""
    for line in lines:
        if (heading := HEADING.match(line)) and len(heading[1]) > 1:
            break
        for part in () if line.lstrip().startswith("|") else _IN_A_LINE.split(line):
            label = LABEL.match(part.strip("># "))
            if label and _named(label[1]) in requested and (said := label[2].strip(" *_`")):
                return said
    return ""


def _named(label: str) -> str:
    """What a label or heading names, without what it says of itself: ``Current status (May)``."""
    return _OF_NOW.sub("", _OF_A_TIME.sub("", _ASIDE.sub("", bare(label))))


def _is_head(lines: Sequence[str], number: int) -> bool:
    """Whether a row says what columns are, and not what a note has under that name.

    Tables of names and values often have the first of them for a head: then it is what is beside.
    """
    cells = cells_of(lines[number])
    if not is_rule(cells_of("".join(lines[number + 1 : number + 2]))):
        return False
    return len(cells) > 2 or bare(cells[1]) in _OF_TIME


def _in_column(lines: Sequence[str], meant: Callable[[str], bool]) -> str:
    """What the newest row of the first table with such a column says in it."""
    for number in range(len(lines)):
        if (said := column_below(lines, number, meant)) is not None:
            return said
    return ""


class _Below:
    """What stands below a heading or a label.

    It is a column of its name, the newest of dated items, or else the first line.
    """

    def __init__(self, requested: Collection[str], known: tuple[str, ...]) -> None:
        self._requested, self._known = requested, known

    def label(self, lines: Sequence[str]) -> str:
        """What stands below a label, up to another one."""
        for number, line in enumerate(lines):
            if HEADING.match(line) or (_field(line) and not self._is_known(line)):
                break
            if _says(line):
                return self._at(lines, number)
        return ""

    def heading(self, lines: Sequence[str]) -> str:
        """What stands below a heading: of ``Demoted: nobody asked`` what is before the colon.

        Labels of something else are passed over; of a word that may be a value or a label, a line
        that surely has the value goes before it.
        """
        guess, passed = "", False
        for number, line in enumerate(lines):
            if HEADING.match(line) or (guess and not line.strip()):
                break
            if not _says(line):
                continue
            labels = filter(None, (LABEL.match(part.lstrip("> ")) for part in parts_of(line)))
            named = (one for one in labels if _named(one[1]) in _NOW.union(self._requested))
            own = (one[2].strip(" *_`") for one in named)
            if said := next(filter(None, own), ""):
                return said
            field = _field(line)
            if self._is_known(line) or not (field or guess or passed):
                return self._at(lines, number)
            if not field:
                break
            if not (guess or passed) and _may_be_value(field):
                guess = _plain(line)
            passed = True
        return guess

    def _is_known(self, line: str) -> bool:
        return bool(self._known) and _said(line).casefold().startswith(self._known)

    def _at(self, lines: Sequence[str], number: int) -> str:
        line = lines[number]
        if line.lstrip().startswith("|"):
            return _in_column(lines[number:], lambda head: bare(head) in self._requested)
        dated = [
            (found[1], one)
            for one in takewhile(str.strip, lines[number:])
            if (found := _DATED.match(one))
        ]
        newest = max(dated, key=lambda one: one[0])[1] if dated else line
        return _plain(_DATED.sub("", newest, count=1))


def _says(line: str) -> bool:
    """Whether a line has words that are not struck out, or is one of a table."""
    return line.lstrip().startswith("|") or bool(_said(line))


def _said(line: str) -> str:
    """A line without what is struck out, from its first word on."""
    return _MARKS.sub("", _LEAD.sub("", STRUCK.sub(" ", _TAG.sub("", line))))


def _plain(line: str) -> str:
    return _LEAD.sub("", _TAG.sub("", line)).strip(" -*_`:")


def _field(line: str) -> str:
    """The name in a line that says something behind a label; empty if it is none."""
    label = LABEL.match(parts_of(line)[0].lstrip("> "))
    return label[1] if label is not None and label[2] else ""


def _may_be_value(label: str) -> bool:
    name = _named(label)
    words = name.split()
    return len(words) <= _MOST_OF_A_VALUE and name not in _OF_TIME and not _FIELDS & {*words}
