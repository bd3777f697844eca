"""What a page consists of: values without any markup, which one template turns into HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from matrix.report.text import Section

LEVELS = 5
"""Shades of a heat map, from the worst to the best."""


class TableCell(NamedTuple):
    """One cell of a table: text, where it leads on this page, and its shade (0 to 4) if it has one.

    ``href`` is an anchor of this page, without ``#``; empty for none.
    """

    text: str
    href: str = ""
    shade: int | None = None


class DataTable(NamedTuple):
    """A table; ``caption`` says what it is, ``notes`` stand below it."""

    caption: str
    headers: Sequence[str]
    rows: Sequence[Sequence[TableCell]]
    right: Sequence[int] = ()
    notes: Sequence[str] = ()

    @classmethod
    def of(cls, section: Section, caption: str = "") -> DataTable:
        """The same as a section of text has."""
        rows = [[TableCell(text) for text in row] for row in section.rows]
        title = (caption or section.title).rstrip(":")
        return cls(title, section.headers, rows, section.right, [n for n in section.notes if n])


class Figure(NamedTuple):
    """A chart, with what it shows in words, and its data as a table."""

    svg: Markup
    title: str
    data: DataTable


class Facts(NamedTuple):
    """Labelled lines; a line without a label goes on with the one above."""

    rows: Sequence[tuple[str, str]]


class Prose(NamedTuple):
    """A paragraph; ``tone`` is how it is set off: ``verdict``, ``warning``, or nothing."""

    text: str
    tone: str = ""


class Lines(NamedTuple):
    """Text as it stands, line by line; behind ``title``, which opens it, if there is one."""

    lines: Sequence[str]
    title: str = ""


class Said(NamedTuple):
    """One message, or (with ``event``) one thing that was noticed."""

    speaker: str
    label: str
    text: str
    event: bool = False
    severity: str = ""


class ShownTurn(NamedTuple):
    """One turn of a session."""

    anchor: str
    title: str
    said: Sequence[Said]


class ShownSession(NamedTuple):
    """A session with its transcript, closed until somebody opens it."""

    anchor: str
    title: str
    facts: Sequence[tuple[str, str]]
    turns: Sequence[ShownTurn]


Block = DataTable | Figure | Facts | Prose | Lines | ShownSession


class Chapter(NamedTuple):
    """A heading with what stands below it."""

    anchor: str
    title: str
    blocks: Sequence[Block]


class Page(NamedTuple):
    """A whole page: its title, a line below it, and its chapters."""

    title: str
    subtitle: str
    chapters: Sequence[Chapter]


def shade(value: float | None, low: float, high: float) -> int | None:
    """The shade of a value between two ends; ``None`` where there is nothing to tell apart."""
    if value is None or value != value or not high > low:
        return None
    return min(LEVELS - 1, max(0, int(LEVELS * (value - low) / (high - low))))


def anchor_of(session_id: str, turn: int | None = None) -> str:
    """Where a session, or one of its turns, is on the page."""
    place = f"s-{session_id[:16]}"
    return place if turn is None else f"{place}-t{turn}"


def known(pairs: Mapping[str, str]) -> list[tuple[str, str]]:
    """Labelled lines of which something is known."""
    return [(label, text) for label, text in pairs.items() if text]
