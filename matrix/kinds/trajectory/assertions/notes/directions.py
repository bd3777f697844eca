"""Which way words speak: headings, labels, heads of columns and cells.

A direction is said by words that say little else: ``Evidence against (2)``, ``weakly supports``. A
sentence that has such a word in it is none: ``Dana contradicts the old survey`` may support.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

from matrix.kinds.trajectory.assertions.notes.layout import Layout
from matrix.kinds.trajectory.assertions.notes.markdown import bare

Way = bool | Literal["neither"] | None
"""Whether rows speak against (true) or for; that they do neither; nothing if it is not said."""

HeadWay = Way | Literal["each"]
"""The same of a column's head; ``each``: its cells say it of their rows."""

_NOT_THERE: Final = re.compile(
    r"^(?:no|not|missing|possible|potential|hypothetical|needed|wanted|rejected|former|withdrawn|"
    r"what (?:would|could|might|will)|how (?:to|we))\b|\b(?:would (?:accept|be|count|speak)|"
    r"to be (?:sought|found|gathered|collected|added)|withdrawn|for later|"
    r"the (?:opposite|alternative))\b"
)
"""How headings speak of evidence that is none of this hypothesis's, or none yet."""
_CONDITION: Final = re.compile(
    r"\b(?:if|when|would|could|might|should|will|expected|planned|threshold)\b"
)

_PEOPLE: Final = r"stakeholders?(?: (?:map|positions?|stances?|views?|list))?|stances?|positions?"
_COUNTED: Final = r"metrics?|kpis?|counts?|tally|totals?|statistics"
_LOGS: Final = r"logs?|change ?logs?|history|journal|changes"
_RECORD: Final = re.compile(
    rf"(?:\w{{1,30}} ){{0,2}}(?:{_LOGS}|{_PEOPLE}|{_COUNTED})|(?:log|history|record) of [\w ]+|"
    r"stakeholders? [\w ]+|who (?:stands|is|thinks|wants|supports|opposes)\b[\w ]*|votes?"
)
_PLAN: Final = re.compile(
    r"(?:planned|upcoming|future|proposed|next|open|outstanding)\b[\w ]*|"
    r"(?:experiments?|tests?|studies) (?:planned|to (?:run|do|come))|(?:todo|to do|plans?)\b[\w ]*"
)
_OF_EVIDENCE: Final = re.compile(r"\b(?:evidence|signals?|findings?|observations?)\b")
_MOST_OF_A_TITLE: Final = 6
_ASIDE: Final = re.compile(r" ?\([^()]*\)$")
_TOKEN: Final = re.compile(r"[^\W_]+")
_IDS: Final = re.compile(r"\d+|[a-z]{1,2}\d+|h")
_FIRST: Final = re.compile(r"\A[*_]{0,3}[(\[]([^()\[\]]{1,40})[)\]][*_]{0,3}(?=\s)")
_LAST: Final = re.compile(
    r"(?:[(\[]|[\u2013\u2014] |\s- )([^()\[\]\u2013\u2014]{1,40})[)\]]?[.*_]{0,3}\Z"
)
_SEGMENT: Final = re.compile(r"[:.|\u2013\u2014\u00b7]")


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BESIDE: Final = _set(
    "weak weakly strong strongly slight slightly partly partial partially mostly somewhat clear "
    "clearly rather indirect indirectly direct directly moderate moderately medium low high very "
    "evidence signal signals it this that the our hypothesis claim bet idea belief and or what so "
    "far reason reasons argument arguments speaks point points quote quotes"
)
"""What may stand beside a direction in a cell, a label or a head, and says nothing else."""
_NEUTRAL: Final = _set(
    "neutral neither mixed both irrelevant unrelated inconclusive context background unclear none"
)
_AROUND: Final = _BESIDE | _set(
    "a which who we i have has had saw heard found seen know all some main key more new is are was "
    "of in from on to at with as by case data findings facts things rows voices observations "
    "interviews interview calls mails surveys survey sources research material proof"
)
_BEFORE_SHORT: Final = (
    r"\b(?:evidence|signals?|reasons?|arguments?|points?|speaks?|case|facts?|findings?|voices?|"
    r"quotes?|proof|grounds|support)(?: ?[(:\u2013\u2014-] ?| )"
)
_AFTER_SHORT: Final = (
    r"(?=\W*\Z|[):,;(]| [(:\u2013\u2014-]|"
    r" (?:it|this|that)(?:\W*\Z|[,:(]| and\b)| and (?:its |their |the )?(?:sources?|links?)\b|"
    r" (?:the |this |our |my )?(?:hypothes[ie]s|claim|bet|idea|belief|h\W?\w?\d\w*)\b)"
)
_NUMBERED: Final = r"(?:[a-z0-9]{1,2}[.)] )?"
_AFTER_ALONE: Final = (
    r"(?=\W*\Z| ?[(:,;/\u00b7\u2013\u2014]| \d+(?: (?:rows?|items?|points?))?\W*\Z)"
)
_AFTER_FIRST: Final = (
    r"(?= (?:it|this|that)\W*\Z| (?:the|this|our|my) (?:hypothesis|claim|bet|idea|belief)\b)"
)
"""Where a short word is a direction and no mere preposition, as in `reasons for the delay`."""
_CLAUSE: Final = re.compile(r"[,;:.(\u2013\u2014]")
_EACH: Final = _set("direction way sign polarity side bearing leaning leans valence")
_NAMES: Final = frozenset(
    [*_EACH, "which way", "for or against", "for/against", "pro/con", "pro or con", "\u00b1"]
)
_NO_WAY: Final = re.compile(
    r"no (?:bearing|effect|impact|relevance|direction)|not (?:relevant|applicable|clear|sure)|n/?a|"
    r"unchanged|undecided|unsure|unknown|\?+|0|\u00b10"
)
"""Cells that say that a row speaks neither way."""
_SIGNS: Final = re.compile(r"[\u00b1+\-\u2212\u2013\u2014/ ]+")
_FOR_SIGNS: Final = frozenset(["✅", "✔", "✓", "👍", "↑", "⬆", "▲"])
AGAINST_SIGNS: Final = frozenset(["❌", "✘", "✗", "👎", "↓", "⬇", "▼"])
_MINUS: Final = frozenset(["-", "\u2212", "\u2013", "\u2014"])
_LONGEST: Final = 60


def of_heading(text: str, layout: Layout) -> Way:
    """Which way rows below a heading, or behind a label, speak.

    Headings of logs, plans, counts and people say that theirs are no evidence; so do those that
    speak of evidence which is not there, or would be some.
    """
    if is_record(text) or is_plan(text):
        return "neither"
    low = _without_marks(bare(text))
    found = sorted(
        (match.start(), match.end(), against)
        for against in (True, False)
        if (match := _any_of(_words(layout, against=against)).search(low)) is not None
    )
    if not found:
        return None
    if _NOT_THERE.search(low):
        return "neither"
    if len(found) > 1 and names_both(low, layout):
        return None
    start, end, against = found[0]
    if "evidence" in low[start:end] or _stands_out(low, start, end):
        return against
    return None


def of_item(said: str, layout: Layout) -> Way:
    """Which way an item speaks by what stands in brackets at its beginning, or at its end.

    ``(+) she would pay``, ``she would pay (supports)``, ``she would pay - supports``.
    """
    first, last = _FIRST.match(said), _LAST.search(said[-_LONGEST:])
    ways = (of_cell(tag[1], layout, signs=True) for tag in (first, last) if tag is not None)
    return next((way for way in ways if way is not None), None)


def names_both(text: str, layout: Layout) -> bool:
    """Whether words name both ways, and join them: ``Evidence for and against``."""
    low, spans = bare(text), list[tuple[int, int]]()
    for against in (True, False):
        match = _inflected(_words(layout, against=against)).search(low)
        if match is None:
            return False
        spans.append(match.span())
    (_, end), (start, _) = sorted(spans)
    return all(word in _BESIDE for word in _TOKEN.findall(low[end:start]))


def is_record(text: str) -> bool:
    """Whether a title is that of a log, of people or of counts, whose rows are no evidence."""
    low = _ASIDE.sub("", bare(text))
    if len(low.split()) > _MOST_OF_A_TITLE or _OF_EVIDENCE.search(low):
        return False
    return _RECORD.fullmatch(low) is not None


def is_plan(text: str) -> bool:
    """Whether a heading is that of what is yet to be done."""
    low = _ASIDE.sub("", bare(text))
    return len(low.split()) <= _MOST_OF_A_TITLE and _PLAN.fullmatch(low) is not None


def stated(text: str, layout: Layout) -> Way:
    """The direction that words are, and nothing else; ``None`` if they are something else."""
    low = bare(text)
    if len(low) > _LONGEST:
        return None
    sides, rest = set[bool](), low
    for against in (True, False):
        rest, count = _inflected(_words(layout, against=against)).subn(" ", rest)
        sides |= {against} if count else set()
    left = _TOKEN.findall(rest)
    if not all(word in _BESIDE | _NEUTRAL or _IDS.fullmatch(word) for word in left):
        return None
    if len(sides) == 1 and not _NEUTRAL.intersection(left):
        return sides.pop()
    return "neither" if sides or _NEUTRAL.intersection(left) else None


def of_cell(cell: str, layout: Layout, *, signs: bool) -> Way:
    """Which way a cell of a column of directions speaks.

    Args:
        cell: The cell.
        layout: Its words.
        signs: Whether the column has signs, so that a dash is a minus and no empty cell.
    """
    raw = cell.strip("*`_ \ufe0f")
    if _NO_WAY.fullmatch(raw.casefold()):
        return "neither"
    if raw in ("+", "++", "+++") or raw in _FOR_SIGNS:
        return False
    if raw in ("--", "---") or raw in AGAINST_SIGNS or (signs and raw in _MINUS):
        return True
    if (whole := stated(cell, layout)) is not None:
        return whole
    return stated(_CLAUSE.split(cell.lstrip(" (*_`"), maxsplit=1)[0], layout)


def of_head(head: str, layout: Layout) -> HeadWay:
    """What the head of a column says of its cells."""
    low = bare(head).rstrip("?").strip()
    raw = head.strip("*`_ ")
    if low in _NAMES or (("\u00b1" in raw or "+" in raw) and _SIGNS.fullmatch(raw)):
        return "each"
    if names_both(low, layout):
        return "neither" if _CONDITION.search(low) else "each"
    way = stated(low, layout)
    if way is None and _CONDITION.search(low):
        named = any(_inflected(_words(layout, against=one)).search(low) for one in (True, False))
        return "neither" if named else None
    return way if isinstance(way, bool) else None


def _without_marks(low: str) -> str:
    """Words without the signs and the number before them."""
    first = next((found.start() for found in _TOKEN.finditer(low) if not found[0].isdecimal()), 0)
    return low[first:]


def _words(layout: Layout, *, against: bool) -> tuple[str, ...]:
    return layout.evidence_against if against else layout.evidence_for


def _stands_out(low: str, start: int, end: int) -> bool:
    """Whether a word is what a heading says: ``What contradicts it``; no ``Supporting files``."""
    before = _TOKEN.findall(_SEGMENT.split(low[:start])[-1])
    if not all(word in _AROUND or word.isdecimal() for word in before):
        return False
    after = _TOKEN.findall(low[end:])
    adjective = low[start:end].endswith("ing") and not before
    return not adjective or not after or after[0] in _AROUND or not low[end : end + 1].isspace()


@lru_cache(maxsize=64)
def _any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    """A phrase anywhere; a short word as all there is, or as in `reasons for`."""
    escaped = [(word, re.escape(word)) for word in map(str.casefold, words)]
    return re.compile(
        "|".join(
            rf"\b{low}"
            if len(word) > 4
            else rf"\A{_NUMBERED}(?:evidence )?{low}(?: evidence)?{_AFTER_ALONE}"
            rf"|{_BEFORE_SHORT}{low}{_AFTER_SHORT}"
            rf"|\A{low}{_AFTER_FIRST}"
            for word, low in escaped
        )
    )


@lru_cache(maxsize=64)
def _inflected(words: tuple[str, ...]) -> re.Pattern[str]:
    """The words in all their forms: of ``supports`` also ``supported`` and ``supporting``."""
    forms = sorted({_form(word.casefold()) for word in words}, key=lambda one: (-len(one), one))
    return re.compile(rf"\b(?:{'|'.join(forms)})\b")


def _form(word: str) -> str:
    root = re.sub(r"(?:ing|s)$", "", word)
    if " " in word or root == word or len(root) < 4:
        return re.escape(word)
    return rf"{re.escape(root)}(?:s|es|e|ed|ing|ions?|ory|ive)?"
