"""Reading a notebook in markdown: its hypotheses, and the evidence for them and against them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from matrix.kinds.trajectory.assertions.notes.markdown import (
    BOLD_LINE,
    CACHED,
    HEADING,
    ITEM,
    LABEL,
    bare,
    cells_of,
    is_denial,
    is_nothing,
    is_rule,
    places_in,
    prose,
    value_of,
    with_marked_headings,
)
from matrix.kinds.trajectory.assertions.notes.paths import plain

Words = tuple[str, ...]


class Layout(BaseModel):
    """Where a notebook keeps what, and its words for it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hypotheses: str = Field(default="hypotheses", description="Folder of hypotheses.")
    decisions: str = Field(default="decisions", description="Folder of decisions.")
    sources: Words = Field(
        default=("source", "sources", "ingestion"),
        min_length=1,
        description="Folders that evidence must lead to.",
    )
    index_names: Words = Field(
        default=("INDEX", "README", "SCHEMA", "TEMPLATE"),
        description="Names of files that are no entries, beside those that begin with _.",
    )
    evidence_for: Words = Field(
        default=(
            "evidence for",
            "supporting",
            "supports",
            "in favour",
            "in favor",
            "for",
            "pro",
            "pros",
        ),
        min_length=1,
        description="Headings, or words of a column, that say that evidence supports.",
    )
    evidence_against: Words = Field(
        default=(
            "evidence against",
            "against",
            "contradicting",
            "contradicts",
            "disconfirming",
            "counter",
            "con",
            "cons",
        ),
        min_length=1,
        description="The same for evidence that speaks against.",
    )
    status: Words = Field(default=("status", "state"), description="Names of the status.")
    demoted: Words = Field(
        default=("demoted",), min_length=1, description="Statuses that need evidence against."
    )
    reversal: Words = Field(
        default=("reversal", "reverse", "revisit"),
        min_length=1,
        description="Words in the name of what says when a decision is taken back.",
    )


Way = bool | Literal["neither"] | None
"""Whether rows speak against (true) or for; that they do neither; nothing if it is not said."""

_NOT_THERE: Final = re.compile(
    r"^(?:no|not|missing|possible|potential|hypothetical|needed|wanted|rejected|former|withdrawn|"
    r"what (?:would|could|might|will)|how (?:to|we))\b|\b(?:would (?:accept|be|count|speak)|"
    r"to be (?:sought|found|gathered|collected|added)|withdrawn|for later|"
    r"the (?:opposite|alternative))\b"
)
"""How headings speak of evidence that is none of this hypothesis's, or none yet."""

PLAIN_LAYOUT: Final = Layout()

_ID = re.compile(r"^([A-Za-z]{1,3}-?[A-Za-z]?\d{1,4})(?![A-Za-z0-9])")


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One piece of evidence: its words as they stand, in which file, and which way it speaks."""

    path: str
    text: str
    against: bool


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One hypothesis: its file, id, status in small letters, and evidence."""

    path: str
    id: str
    status: str
    evidence: tuple[EvidenceRow, ...] = field(default=())

    def count(self, *, against: bool) -> int:
        """Pieces of evidence for it, or against it."""
        return sum(row.against is against for row in self.evidence)


def entries_in(folder: str, paths: Iterable[str], layout: Layout) -> list[str]:
    """Entries of a folder of the notebook and of those inside it: notes but for the index."""
    prefix, names = f"{plain(folder)}/", {name.casefold() for name in layout.index_names}
    return [
        path
        for path in sorted(paths)
        if path.startswith(prefix)
        and path.lower().endswith((".md", ".markdown"))
        and not any(part.startswith("_") for part in path.removeprefix(prefix).split("/"))
        and stem(path).casefold() not in names
    ]


def stem(path: str) -> str:
    """The name of a file without its ending."""
    return path.rpartition("/")[2].rpartition(".")[0] or path.rpartition("/")[2]


@lru_cache(maxsize=CACHED)
def read_hypothesis(path: str, text: str, layout: Layout) -> Hypothesis:
    """A hypothesis as its file says it."""
    return Hypothesis(
        path,
        _identity(path, text),
        value_of(text, layout.status).casefold(),
        evidence_in(path, text, layout),
    )


def resolve(
    requested: str,
    found: Sequence[Hypothesis],
    gone: Sequence[Hypothesis],
    times: Mapping[str, int],
) -> Hypothesis | str:
    """Which hypothesis a name stands for; or why for none.

    An id as it is written, or a slug; else ``H2`` is the second by modification time; else the
    only one there is, unless the name was another's that is gone.

    Args:
        requested: The name.
        found: What there is.
        gone: What there was earlier.
        times: Path -> modification time, of both.
    """
    name = requested.strip().casefold().removesuffix(".md")
    if same := _named(name, found):
        if len(same) == 1:
            return same[0]
        return f"{requested} is ambiguous: {_told(same)}"
    order = sorted((*found, *gone), key=lambda one: (times.get(one.path, 0), one.path))
    numbered = re.fullmatch(r"h-?(\d{1,4})", name)
    place = int(numbered[1]) if numbered is not None else 0
    lost = _named(name, gone)
    lost = lost or ([one for one in order[place - 1 : place] if one in gone] if place else [])
    if lost:
        return f"{requested} was {_told(lost)}, which is gone; there are: {_told(found) or 'none'}"
    if 1 <= place <= len(order):
        return order[place - 1]
    if len(found) == 1:
        return found[0]
    return f"no hypothesis is {requested}; there are: {_told(found) or 'none'}"


def _named(name: str, found: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Those with a name: by id, else by file, else by how the file's name begins, or a part."""
    ways: tuple[Callable[[Hypothesis], bool], ...] = (
        lambda one: one.id.casefold() == name,
        lambda one: name in (stem(one.path).casefold(), one.path.casefold().removesuffix(".md")),
        lambda one: _begins(stem(one.path), name),
        lambda one: len(name) > 3 and _slug(name) in _slug(stem(one.path)),
    )
    return next((same for way in ways if (same := [one for one in found if way(one)])), [])


def _told(found: Iterable[Hypothesis]) -> str:
    return ", ".join(f"{one.id} ({one.path})" for one in found)


def _begins(name: str, requested: str) -> bool:
    rest = name.casefold().removeprefix(requested)
    return len(rest) < len(name) and not rest[:1].isalnum()


def _slug(text: str) -> str:
    return "-" + re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-") + "-"


def _identity(path: str, text: str) -> str:
    """Its id: what front matter says, else how its title or its file's name begins."""
    if own := value_of(text, ("id", "hypothesis id"), headings=False):
        return own.strip("` ")
    title = next((found[2] for line in prose(text) if (found := HEADING.match(line))), "")
    for name in (title.removeprefix("Hypothesis").lstrip(" :"), stem(path)):
        if found := _ID.match(name.strip("*` ")):
            return found[1]
    return stem(path)


@lru_cache(maxsize=CACHED)
def evidence_in(path: str, text: str, layout: Layout) -> tuple[EvidenceRow, ...]:
    """Every row of evidence in a note."""
    low = text.casefold()
    words = (*layout.evidence_for, *layout.evidence_against)
    if not any(word.casefold() in low for word in words):
        return ()
    return tuple(_evidence(path, text, layout))


def _evidence(path: str, text: str, layout: Layout) -> Iterator[EvidenceRow]:
    """Every row of evidence: of tables and lists below a heading that says which way it speaks.

    A table may say it in a column of its own instead. A heading inside another one takes it over
    until a heading of the same depth as that one.
    """
    way: list[tuple[int, Way]] = []
    label: Way = None
    table: list[str] = []
    for line in [*_whole_rows(with_marked_headings(prose(text))), ""]:
        if line.lstrip().startswith("|"):
            table.append(line.strip())
            continue
        if table:
            yield from _rows_of_table(path, table, _way(way, label), layout)
            table = []
        if heading := HEADING.match(line):
            depth = len(heading[1])
            way = [one for one in way if one[0] < depth]
            way.append((depth, _direction(heading[2], layout)))
            label = None
        elif bold := BOLD_LINE.fullmatch(line.strip()):
            label = _direction(bold["text"].strip(" :"), layout)
        elif (item := ITEM.match(line)) and (said := item[1] or item[2] or ""):
            if (own := _labelled(line, layout)) is not None and _is_none(own[1]):
                label = own[0]
                continue
            direction = _said(own[0]) if own is not None else _way(way, label)
            if direction is not None and not _is_none(said):
                yield EvidenceRow(path, said, direction)
        elif (own := _labelled(line, layout)) is not None:
            label, direction = own[0], _said(own[0])
            if direction is not None and not _is_none(own[1]):
                yield EvidenceRow(path, own[1], direction)


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


def _is_none(said: str) -> bool:
    """Whether a row says that there is none, or is struck out."""
    return is_nothing(said) or is_denial(said) or _STRUCK.fullmatch(said.strip()) is not None


_STRUCK: Final = re.compile(r"~~.*~~\W*")


def _leads(cells: Sequence[str]) -> bool:
    return any(map(places_in, cells))


def _way(headings: Sequence[tuple[int, Way]], label: Way) -> bool | None:
    """Which way rows speak here: ``None`` if nothing says so."""
    if label is not None:
        return _said(label)
    return _said(next((way for _, way in reversed(headings) if way is not None), None))


def _said(way: Way) -> bool | None:
    return None if way == "neither" else way


def _direction(text: str, layout: Layout) -> Way:
    """Whether a heading is of evidence against (true), of evidence for, or of neither.

    One that speaks of evidence which is not there, or would be some, says so of its rows as well.
    """
    low = bare(text)
    against = _any_of(layout.evidence_against).search(low) is not None
    if not against and not _any_of(layout.evidence_for).search(low):
        return None
    return "neither" if _NOT_THERE.search(low) else against


@lru_cache(maxsize=64)
def _any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    """A phrase anywhere; a short word only as all there is, or after or before `evidence`."""
    escaped = [(word, re.escape(word)) for word in map(str.casefold, words)]
    return re.compile(
        "|".join(
            rf"\b{low}" if len(word) > 4 else rf"\A(?:evidence )?{low}(?: evidence)?\Z"
            for word, low in escaped
        )
    )


def _labelled(line: str, layout: Layout) -> tuple[Way, str] | None:
    """``**Evidence for:** ...``: which way, and what follows."""
    found = LABEL.match(line.strip())
    if found is None:
        return None
    way = _direction(found[1], layout)
    return None if way is None else (way, found[2])


def _rows_of_table(
    path: str, lines: Sequence[str], way: bool | None, layout: Layout
) -> Iterator[EvidenceRow]:
    rows = [cells_of(line) for line in lines]
    ruled = len(rows) > 1 and is_rule(rows[1])
    ways = [_sign(head, layout) for head in rows[0]] if ruled and way is None else []
    if {True, False} <= {*ways}:  # a column for each way
        for cells in rows[2:]:
            for cell, own in zip(cells, ways, strict=False):
                if own is not None and not _is_none(cell):
                    yield EvidenceRow(path, cell, own)
        return
    for cells in rows[2:] if ruled else rows[1:]:
        if all(map(is_nothing, cells)) or (any(map(is_denial, cells)) and not _leads(cells)):
            continue
        said = next((own for cell in cells if (own := _sign(cell, layout)) is not None), None)
        direction = way if way is not None else said
        if direction is not None:
            yield EvidenceRow(path, " | ".join(cells), direction)


def _sign(cell: str, layout: Layout) -> bool | None:
    bare = cell.strip("*`_ ").casefold()
    if bare in ("+", "++"):
        return False
    if bare in ("-", "--", "\u2212"):
        return True
    return _said(_direction(bare, layout)) if len(bare) <= 40 else None
