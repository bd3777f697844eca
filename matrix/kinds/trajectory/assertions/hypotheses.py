"""Hypotheses of a working folder over its turns: as they are, as they were, and who is gone.

A name in an assertion stands for one hypothesis. One that the agent has deleted is remembered, so
that the evidence of another is never taken for its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict

from matrix.kinds.trajectory.assertions.folder import View
from matrix.kinds.trajectory.assertions.notes.evidence import (
    EvidenceRow,
    UnreadEvidence,
    evidence_in,
    unread_in,
)
from matrix.kinds.trajectory.assertions.notes.layout import Layout
from matrix.kinds.trajectory.assertions.notes.markdown import (
    FRONT,
    STRUCK,
    bare,
    cells_of,
    links_in,
    prose,
    target_of,
    without_paths,
)
from matrix.kinds.trajectory.assertions.notes.notebook import (
    Hypothesis,
    entries_in,
    indexes_in,
    read_hypothesis,
    resolve,
    stem,
)
from matrix.kinds.trajectory.assertions.notes.paths import plain
from matrix.kinds.trajectory.assertions.rearranged import counted

_ARROW: Final = re.compile(r"[-=]>|[\u2192\u21d2\u27f6\u2794]")
_MARKS: Final = re.compile(r"^[\W_]+")
_REMARK: Final = re.compile(
    r"[(\[{|;:#\u00b7\u2022\u2013\u2014]|,\s|[.!]\s|\s-+\s"
    r"|\s(?:since|because|as of|after|until|by)\b|\s(?:on|in)\s\d"
)
"""What begins that which is said beside a status."""


class Gone(BaseModel):
    """A hypothesis that was there after an earlier turn, and is no longer.

    One whose file has lost all evidence and its status is no longer there either.

    Attributes:
        path: Its file.
        id: Its id.
        time: When it was last written, in ns.
        silent: Whether it had support, and neither its evidence was kept elsewhere nor was it
            demoted with evidence against it.
        moved_to: The note outside the hypotheses' folder that it was moved to; empty if none.
    """

    model_config = ConfigDict(defer_build=True, frozen=True)

    path: str
    id: str
    time: int
    silent: bool
    moved_to: str = ""


class Change(NamedTuple):
    """A hypothesis's evidence (for, against) before a turn and after it."""

    path: str
    before: tuple[int, int]
    now: tuple[int, int]


def hypotheses_of(view: View, layout: Layout) -> list[Hypothesis]:
    """Every hypothesis as it is now."""
    paths = entries_in(layout.hypotheses, view.now, layout)
    return [read_hypothesis(path, view.text(path), layout) for path in paths]


def old_hypotheses(view: View, layout: Layout) -> list[Hypothesis]:
    """Every hypothesis as it was before the turn."""
    paths = entries_in(layout.hypotheses, view.before, layout)
    return [read_hypothesis(path, view.old_text(path) or "", layout) for path in paths]


def with_indexed_status(
    found: Sequence[Hypothesis], view: View, layout: Layout
) -> list[Hypothesis]:
    """Hypotheses, of which those whose file says no status have the one that an index says."""
    indexes = indexes_in(layout.hypotheses, view.now, layout)
    return [
        one if one.status else replace(one, status=_indexed_status(one, indexes, view, layout))
        for one in found
    ]


def _indexed_status(one: Hypothesis, indexes: Sequence[str], view: View, layout: Layout) -> str:
    """What the newest row of a table in an index says that leads to a hypothesis, or names it."""
    heads, said = {name.casefold() for name in layout.status}, ""
    names = {one.id.casefold(), stem(one.path).casefold()}
    for index in indexes:
        at: int | None = None
        for line in prose(view.text(index)):
            cells = cells_of(line) if line.lstrip().startswith("|") else []
            if not cells:
                at = None
            elif at is None:
                at = next((n for n, cell in enumerate(cells) if bare(cell) in heads), len(cells))
            elif at < len(cells) and (
                names & {cell.strip("*`_ ").casefold() for cell in cells}
                or any(target_of(link, index) == one.path for link in links_in(line))
            ):
                said = cells[at].strip(" *_`").casefold()
    return said


def speaks_of_status(text: str, layout: Layout) -> str:
    """The first line of a note in which a word of a status stands; empty if there is none."""
    words = "|".join(re.escape(word) for word in (*layout.status, *layout.demoted))
    named = re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    return next((line.strip() for line in _words(text).split("\n") if named.search(line)), "")


def evidence_of(view: View, layout: Layout) -> Iterator[EvidenceRow]:
    """Every row of evidence in the notebook, but for what stands in its sources."""
    for path in _may_have_evidence(view, layout):
        yield from evidence_in(path, view.text(path), layout)


def unread_of(view: View, layout: Layout) -> Iterator[UnreadEvidence]:
    """What looks like evidence in the notebook, and is in no form that can be read."""
    for path in _may_have_evidence(view, layout):
        yield from unread_in(path, view.text(path), layout)


def _may_have_evidence(view: View, layout: Layout) -> Iterator[str]:
    sources = tuple(f"{plain(one)}/" for one in layout.sources)
    return (path for path in view.notes if "/" in path and not path.startswith(sources))


def is_demoted(one: Hypothesis, layout: Layout) -> bool:
    """Whether its status says so, whatever else it says.

    Of ``proposed -> demoted`` the end counts; what is struck out, and marks before the words, do
    not.
    """
    words = status_alone(one.status)
    return any(words.startswith(word.casefold()) for word in layout.demoted)


def status_alone(status: str) -> str:
    """What a status is, without how it came about, what is said of it, and what stands beside it.

    ``**proposed** -> demoted (2 March) | owner: Ben`` is ``demoted``.
    """
    now = _MARKS.sub("", _ARROW.split(STRUCK.sub(" ", status))[-1])
    alone = _REMARK.split(now, maxsplit=1)[0] or now
    return " ".join(re.sub(r"[_*`-]", " ", alone).strip(" .!").split())


def gone_after(
    view: View, layout: Layout, earlier: Sequence[Gone], demoted_at_start: frozenset[str]
) -> tuple[Gone, ...]:
    """The hypotheses that are gone after a turn; one that is there again, by path or id, is not.

    A file with another name and id that has all evidence of one that vanished in the same turn is
    that hypothesis renamed.
    """
    files, old = hypotheses_of(view, layout), old_hypotheses(view, layout)
    full = {one.path for one in old if one.status and one.count(against=False)}
    full |= {one.path for one in earlier}
    now = [one for one in files if one.evidence or one.status or one.path not in full]
    paths, ids = {one.path for one in now}, {one.id.casefold() for one in now}
    known = {one.path for one in old}
    new = [_rows_of(one.evidence) for one in now if one.path not in known]
    kept: set[str] | None = None
    found = [one for one in earlier if one.path not in paths and one.id.casefold() not in ids]
    for one in old:
        rows = _rows_of(one.evidence)
        if one.path in paths or one.id.casefold() in ids or (rows and any(rows <= n for n in new)):
            continue
        kept = _new_rows(view, layout) if kept is None else kept
        shown = one.count(against=True) > 0 or one.id in demoted_at_start
        demoted = is_demoted(one, layout) and shown
        silent = one.count(against=False) > 0 and not demoted and not rows <= kept
        place = _moved_to(one, view, layout)
        time = view.before[one.path]
        found.append(Gone(path=one.path, id=one.id, time=time, silent=silent, moved_to=place))
    return tuple(found)


def _moved_to(one: Hypothesis, view: View, layout: Layout) -> str:
    """The note that this turn made, elsewhere, of a hypothesis that is gone; empty if none.

    It has the file's name or the id, or all of its evidence.
    """
    rows, inside = _rows_of(one.evidence), f"{plain(layout.hypotheses)}/"
    for path in view.notes:
        if path in view.before or path.startswith(inside):
            continue
        other = read_hypothesis(path, view.text(path), layout)
        same = stem(path) == stem(one.path) or other.id.casefold() == one.id.casefold()
        if same or (rows and rows <= _rows_of(other.evidence)):
            return path
    return ""


def kept_elsewhere(view: View, gone: Sequence[Gone]) -> list[str]:
    """Notes outside the hypotheses' folder that hypotheses which are gone were moved to."""
    return [one.moved_to for one in gone if one.moved_to in view.now]


def _new_rows(view: View, layout: Layout) -> set[str]:
    """What rows say that were put into a note by this turn."""
    found = set[str]()
    for path in (path for path in view.notes if view.touched(path)):
        old = view.old_text(path) or ""
        rows = _rows_of(evidence_in(path, view.text(path), layout))
        found |= rows - _rows_of(evidence_in(path, old, layout))
    return found


def _rows_of(rows: Sequence[EvidenceRow] | Iterator[EvidenceRow]) -> set[str]:
    """What rows say, wherever their links lead from: a note that moves has other paths."""
    return {without_paths(row.text) for row in rows}


def change_of(view: View, layout: Layout, name: str, gone: Sequence[Gone]) -> Change | str:
    """What a turn did to the evidence of the hypothesis that a name stands for; or why for none."""
    now, old = hypotheses_of(view, layout), old_hypotheses(view, layout)
    there = {one.path for one in now}  # a file that was emptied is itself what was
    left = [Hypothesis(one.path, one.id, "") for one in gone if one.path not in there]
    times = {one.path: one.time for one in gone} | dict(view.now)
    one = resolve(name, now, left, times)
    if isinstance(one, str):
        return one
    before = next((each for each in old if each.path == one.path), None)
    if before is None:  # a file that was renamed keeps what it had
        lost = [each for each in old if each.path not in view.now]
        before = next((each for each in lost if each.id == one.id), None) or _renamed(one, lost)
    was = () if before is None else before.evidence
    return Change(one.path, counted(was, ()), counted(one.evidence, was))


def _renamed(one: Hypothesis, lost: Sequence[Hypothesis]) -> Hypothesis | None:
    rows = _rows_of(one.evidence)
    return next((was for was in lost if was.evidence and _rows_of(was.evidence) <= rows), None)


def is_told_of(one: Gone, view: View, layout: Layout) -> bool:
    """Whether a decision, another hypothesis or a row of evidence names one that is gone."""
    folders = (layout.decisions, layout.hypotheses)
    notes = {p for folder in folders for p in entries_in(folder, view.now, layout)} - {one.path}
    texts = [_words(view.text(path)) for path in sorted(notes)]
    texts += [row.text for row in evidence_of(view, layout)]
    names = "|".join(re.escape(name) for name in {one.id, stem(one.path)})
    said = re.compile(rf"(?<![\w-])(?:{names})(?![\w])", re.IGNORECASE)
    return any(said.search(text) for text in texts)


def _words(text: str) -> str:
    """What a note says, in front matter too: no code, and no comment."""
    front = FRONT.match(text)
    return "\n".join([front[1] if front else "", *prose(text)])
