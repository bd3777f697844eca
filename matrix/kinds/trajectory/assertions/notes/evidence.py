"""Evidence in a note: rows of lists and tables, and what looks like evidence and cannot be read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from matrix.kinds.trajectory.assertions.notes.directions import (
    Way,
    is_plan,
    is_record,
    names_both,
    of_heading,
    of_item,
    stated,
)
from matrix.kinds.trajectory.assertions.notes.layout import Layout
from matrix.kinds.trajectory.assertions.notes.lead_ins import is_lead_in, outdented
from matrix.kinds.trajectory.assertions.notes.markdown import (
    BOLD_LINE,
    CACHED,
    HEADING,
    ITEM,
    LABEL,
    NEXT_LABEL,
    front_matter,
    places_in,
    prose,
    referred_in,
    target_of,
    with_marked_headings,
    with_marked_labels,
)
from matrix.kinds.trajectory.assertions.notes.nothing import says_nothing
from matrix.kinds.trajectory.assertions.notes.paths import plain
from matrix.kinds.trajectory.assertions.notes.tables import has_ways, rows_of


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One piece of evidence: its words as they stand, in which file, and which way it speaks."""

    path: str
    text: str
    against: bool


@dataclass(frozen=True, slots=True)
class UnreadEvidence:
    """What looks like evidence, in which file, and could not be read as a row of it."""

    path: str
    text: str


_STRUCK: Final = re.compile(r"~~.*~~\W*")
_PREPOSITION: Final = "for"
"""A label that may be a direction, or the head of a memo: ``For: Ines (CPO)``."""
_TITLE_DEPTH: Final = 1
"""Depth of a note's title; what it says of the note is overruled by what stands inside."""


@lru_cache(maxsize=CACHED)
def evidence_in(path: str, text: str, layout: Layout) -> tuple[EvidenceRow, ...]:
    """Every row of evidence in a note."""
    return tuple(one for one in _all_in(path, text, layout) if isinstance(one, EvidenceRow))


@lru_cache(maxsize=CACHED)
def unread_in(path: str, text: str, layout: Layout) -> tuple[UnreadEvidence, ...]:
    """What a note has that looks like evidence, and is in no form that can be read."""
    return tuple(one for one in _all_in(path, text, layout) if isinstance(one, UnreadEvidence))


@lru_cache(maxsize=CACHED)
def _all_in(path: str, text: str, layout: Layout) -> tuple[EvidenceRow | UnreadEvidence, ...]:
    low = text.casefold()
    words = ("evidence", "|", *layout.evidence_for, *layout.evidence_against)
    if not any(word.casefold() in low for word in words):
        return ()
    return tuple(_Reader(path, text, layout).rows())


class _Reader:
    """Reads a note from its top: where it is, which way rows speak there, and what was read."""

    def __init__(self, path: str, text: str, layout: Layout) -> None:
        self._path, self._text, self._layout = path, text, layout
        of_record = _is_record_file(path, layout)
        self._headings: list[tuple[int, Way]] = [(0, "neither" if of_record else None)]
        self._title = ""
        self._label: Way = None
        self._read, self._loose = False, ""
        self._of_hypothesis = _is_hypothesis(path, layout)

    def rows(self) -> Iterator[EvidenceRow | UnreadEvidence]:
        """Every row of evidence, and what could be none that was read, in order."""
        for key, value in front_matter(self._text):
            if isinstance(stated(key, self._layout), bool) and not self._is_none(value):
                yield UnreadEvidence(self._path, f"{key}: {value}")
        table: list[str] = []
        for line in [*_whole_rows(self._lines()), ""]:
            if line.lstrip().startswith("|"):
                table.append(line.strip())
                continue
            if table:
                yield from self._rows_of(table)
                table = []
            if heading := HEADING.match(line):
                yield from self._section(len(heading[1]), heading[2])
            elif bold := BOLD_LINE.fullmatch(line.strip()):
                yield from self._end()
                self._title = bold["text"].strip(" :")
                self._label = of_heading(self._title, self._layout)
            else:
                yield from self._line(line)
        yield from self._end()

    def _lines(self) -> Iterator[str]:
        """Lines, of which each has one label that says a direction."""
        for line in outdented(with_marked_headings(prose(self._text)), self._layout):
            if line.lstrip().startswith("|") or ("*" not in line and "_" not in line):
                yield line
                continue
            (marked,) = with_marked_labels([line])
            label = LABEL.match(marked.strip())
            if label is not None and isinstance(stated(label[1], self._layout), bool):
                line = marked  # **For** - she said so
            first, *others = NEXT_LABEL.split(line)
            for part in others:
                label = LABEL.match(part.strip())
                if label is not None and isinstance(stated(label[1], self._layout), bool):
                    yield first
                    first = part
                else:
                    first += f" {part}"
            yield first

    def _section(self, depth: int, title: str) -> Iterator[UnreadEvidence]:
        self._headings = [one for one in self._headings if one[0] < depth]
        yield from self._end()
        way = of_heading(title, self._layout)
        inside = isinstance(self._way_of_headings(), bool)
        if inside and is_record(title) and not is_plan(title):
            way = None  # a log inside of evidence is one of it
        if depth <= _TITLE_DEPTH and not self._titles_rows(title):
            way = None
        self._headings.append((depth, way))
        self._title = title if depth > _TITLE_DEPTH or self._titles_rows(title) else ""
        self._label = None

    def _titles_rows(self, title: str) -> bool:
        """Whether a note's title is one of rows, and not that of what the note is about."""
        said = isinstance(stated(title, self._layout), bool) or is_record(title)
        return said or title.casefold().startswith("evidence")

    def _end(self) -> Iterator[UnreadEvidence]:
        """What stood below a heading of evidence, where no row of it was read."""
        if self._loose and not self._read:
            yield UnreadEvidence(self._path, self._loose)
        self._read, self._loose = False, ""

    def _line(self, line: str) -> Iterator[EvidenceRow | UnreadEvidence]:
        item = ITEM.match(line)
        said = (item[1] or item[2] or "") if item else ""
        own = self._labelled(line, of_item=item is not None)
        if self._is_closed() or not line.strip():
            return
        if own is not None:
            way, text = own
            if item is None or not text.strip(" *_`"):
                self._label = way
            said = text if item is None else said
            nothing = self._is_none(text) or self._is_none(said)
            if not nothing and self._is_for_whom(line, text):
                yield UnreadEvidence(self._path, said)
                return
        elif item is not None and is_lead_in(said, self._layout):
            if isinstance(self._way(), bool) or self._is_of_evidence():
                self._loose = self._loose or said
            return  # what is listed below it are the rows
        else:
            way, text, nothing = self._way(), line, self._is_none(said or line)
        if item is None and own is None:
            if nothing:  # that there is none, or a rule, which ends it
                self._read = True
            elif isinstance(way, bool):
                self._loose = self._loose or line.strip()
            return
        self._read = True
        if way is None:
            way = of_item(said, self._layout)
        if isinstance(way, bool) and not nothing:
            yield EvidenceRow(self._path, said, way)
        elif way is None and not nothing and self._is_of_evidence():
            yield UnreadEvidence(self._path, said)

    def _labelled(self, line: str, *, of_item: bool) -> tuple[Way, str] | None:
        """``**Evidence for:** ...``: which way, and what follows."""
        found = LABEL.match(line.strip())
        if found is None:
            return None
        name = re.sub(r" ?\([^()]*\)$", "", found[1].strip(" *_`"))
        way = stated(name, self._layout) if of_item else of_heading(name, self._layout)
        if way == "neither" and found[2].strip(" *_`"):
            return None
        return None if way is None else (way, found[2])

    def _is_for_whom(self, line: str, text: str) -> bool:
        """Whether ``For: ...`` says whom a note is for: no hypothesis, source or against."""
        found = LABEL.match(line.strip())
        alone = found is not None and found[1].strip(" *_`").casefold() == _PREPOSITION
        said = alone and bool(text.strip(" *_`")) and not self._of_hypothesis
        return said and not self._leads(text) and not self._names_against

    @cached_property
    def _names_against(self) -> bool:
        """Whether a heading or a label of the note says that something speaks against."""
        return any(of_heading(name, self._layout) is True for name in _names_in(self._text))

    def _is_closed(self) -> bool:
        """Whether what stands here is no evidence, whatever it is called."""
        last = next((one for one in reversed(self._headings) if one[1] is not None), (0, None))
        return last[1] == "neither" and last[0] > _TITLE_DEPTH

    def _way(self) -> Way:
        """Which way rows speak here: ``None`` if nothing says so."""
        return self._label if self._label is not None else self._way_of_headings()

    def _way_of_headings(self) -> Way:
        return next((way for _, way in reversed(self._headings) if way is not None), None)

    def _is_none(self, said: str) -> bool:
        """Whether a row says that there is none, and leads to no source; or is struck out."""
        if _STRUCK.fullmatch(said.strip()):
            return True
        return says_nothing(said) and not self._leads(said)

    def _leads(self, said: str) -> bool:
        """Whether it names a place in the sources, be there such a file or not."""
        sources = tuple(f"{plain(one)}/" for one in self._layout.sources)
        return any(
            target is not None and target.startswith(sources)
            for place in (*places_in(said), *referred_in(said, self._text))
            for target in (target_of(place, self._path), target_of(place, ""))
        )

    def _rows_of(self, table: list[str]) -> Iterator[EvidenceRow | UnreadEvidence]:
        way = "neither" if self._is_closed() else self._way()
        rows = list(rows_of(table, way, self._layout, self._leads))
        self._read = True
        for cells, against in rows:
            told = " | ".join(cells)
            if against is None:
                yield UnreadEvidence(self._path, told)
            else:
                yield EvidenceRow(self._path, told, against)
        named = self._is_of_evidence() or "evidence" in table[0].casefold()
        if rows or way is not None or len(table) < 3:
            return
        told = table[2].strip("| ") if named else has_ways(table, self._layout)
        if told and not is_record(self._title):
            yield UnreadEvidence(self._path, told)

    def _is_of_evidence(self) -> bool:
        """Whether the heading above is that of evidence, whichever way it speaks."""
        named = "evidence" in self._title.casefold()
        return named or names_both(self._title, self._layout)


def _names_in(text: str) -> Iterator[str]:
    """What headings and labels of a note say."""
    for line in prose(text):
        said = line.strip()
        if heading := HEADING.match(line):
            yield heading[2]
        elif bold := BOLD_LINE.fullmatch(said):
            yield bold["text"].strip(" :")
        elif label := LABEL.match(said):
            yield label[1]


def _is_hypothesis(path: str, layout: Layout) -> bool:
    """Whether a note stands among the hypotheses."""
    return path.startswith(f"{plain(layout.hypotheses)}/")


def _is_record_file(path: str, layout: Layout) -> bool:
    """Whether a note is a log or about people, by its name or its folder's."""
    parts = path.rpartition(".")[0].split("/")
    if _is_hypothesis(path, layout):
        return False
    return any(map(is_record, parts))


def _whole_rows(lines: Iterable[str]) -> Iterator[str]:
    """Lines in which an item, or what a label says, is one, with all that belongs to it.

    These are lines that are indented, and those right below that begin nothing of their own.
    Source: CommonMark 0.31, 5.2.
    """
    row, apart = "", False
    for line in lines:
        if row and line.strip() and (line[0] in " \t" or not (apart or _begins_anew(line))):
            row += f" {line.strip()}"
        elif row and not line.strip():
            apart = True
            continue
        else:
            if row:
                yield row
                if apart:
                    yield ""
            row, apart = "", False
            if ITEM.match(line) or LABEL.match(line.strip()):
                row = line
            else:
                yield line
    if row:
        yield row


def _begins_anew(line: str) -> bool:
    """Whether a line that is not indented is no continuation of the one above."""
    said = line.strip()
    starts = said.startswith(("|", ">", "#")) or BOLD_LINE.fullmatch(said) is not None
    return starts or ITEM.match(line) is not None or LABEL.match(said) is not None
