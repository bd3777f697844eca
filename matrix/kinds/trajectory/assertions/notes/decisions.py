"""Reading decisions: when they are taken back, and whether that can come true or not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile, groupby
from typing import Final

from matrix.kinds.trajectory.assertions.notes.layout import Layout
from matrix.kinds.trajectory.assertions.notes.markdown import (
    HEADING,
    LABEL,
    STRUCK,
    bare,
    cells_of,
    column_below,
    front_matter,
    is_nothing,
    is_rule,
    lines_of,
)

_BLANK: Final = re.compile(r"<[^<>]*>|\{{1,2}[^{}]*\}{1,2}|\[[^\[\]]*\](?!\()")


def reversal_of(text: str, layout: Layout) -> str:
    """What a decision says of when it is taken back; empty if it says nothing.

    What is struck out is not said, nor is a place that is yet to be filled in.
    """
    said = STRUCK.sub("", _reversal_in(text, layout)).strip()
    return "" if _BLANK.fullmatch(said) else said


def _reversal_in(text: str, layout: Layout) -> str:
    for key, value in front_matter(text):
        if value and not is_nothing(value) and _names(key, layout.reversal):
            return value
    lines = lines_of(text)
    for number, line in enumerate(lines):
        if (heading := HEADING.match(line)) and _names(heading[2], layout.reversal):
            depth, below = len(heading[1]), [_after_colon(heading[2], layout)]
            for one in lines[number + 1 :]:
                if (next_one := HEADING.match(one)) and len(next_one[1]) <= depth:
                    break
                below.append(one)
            if said := " ".join(_without_empty_tables(below)):
                return said
        elif (label := LABEL.match(line.strip().lstrip("> "))) and _is_label(
            line, label[1], layout.reversal
        ):
            below = lines[number + 1 :]
            if not label[2].strip(" *_`"):  # what it names may begin below a blank line
                below = list(dropwhile(lambda one: not one.strip(), below))
            return " ".join([label[2], *_until_blank(below)]).strip(" *_`")
        elif line.lstrip().startswith("|"):
            cells = cells_of(line)
            if len(cells) == 2 and _names(cells[0], layout.reversal):
                return cells[1]
            column = column_below(lines, number, lambda head: _names(head, layout.reversal))
            if column:
                return column
            if len(cells) > 2 and _names(cells[0], layout.reversal):
                return cells[1]
    return ""


def _without_empty_tables(lines: Sequence[str]) -> Iterator[str]:
    """Lines that say something; of a table whose cells are all yet to be filled in, none."""
    for is_table, block in groupby(lines, lambda one: one.lstrip().startswith("|")):
        rows = [line.strip() for line in block if line.strip()]
        body = rows[2:] if len(rows) > 1 and is_rule(cells_of(rows[1])) else rows
        filled = (cell for row in body for cell in cells_of(row))
        if not is_table or not all(_is_unfilled(cell) for cell in filled):
            yield from rows


def _is_unfilled(cell: str) -> bool:
    said = cell.strip(" *_`")
    return (
        not said
        or is_nothing(said)
        or _BLANK.fullmatch(said) is not None
        or (_NONE.fullmatch(said) is not None)
    )


def _after_colon(heading: str, layout: Layout) -> str:
    """What a heading says itself: ``Kill criteria: churn above 4 %``."""
    name, _, said = heading.partition(":")
    return said if _names(name, layout.reversal) else ""


def _until_blank(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if not line.strip() or HEADING.match(line) or LABEL.match(line.strip()):
            return
        yield line.strip()


def _names(text: str, words: Iterable[str]) -> bool:
    low = bare(text)
    return any(re.search(rf"\b{re.escape(word.casefold())}", low) for word in words)


_MOST_OF_A_LABEL: Final = 4
_ASKS: Final = re.compile(
    r"(?:what|when|if|how|conditions?|criteri(?:on|a)|triggers?|(?:we|i) (?:will|would|'ll|shall)|"
    r"(?:to be|will be|would be|is|are|can be)) ",
)


def _is_label(line: str, label: str, words: Iterable[str]) -> bool:
    """Whether a label is the name of a condition, and no sentence that has the word in it.

    A plain one is a name if it has few words, begins with one of the words, or asks for what
    follows: ``We would reverse this if: ...``; a sentence with a colon is not.
    """
    if not _names(label, words):
        return False
    marked = line.strip().lstrip("-*+ ").startswith("__") or "**" in line.partition(":")[0]
    low = bare(label)
    named = any(low.startswith(word.casefold()) for word in words)
    return marked or named or len(low.split()) <= _MOST_OF_A_LABEL or _ASKS.match(low) is not None


_VAGUE: Final = re.compile(
    r"(?:if|when|should|unless) (?:(?:things|circumstances|something|anything|conditions|needs|"
    r"priorities|it|the (?:situation|context|market|data|evidence)) )?(?:ever )?"
    r"(?:changes?\b(?! (?:to|from|into|by|in|its|their)\b)|doesn'?t work(?: out)?|"
    r"does not work(?: out)?|fails?\b(?! (?:to|in|at|on|for|with)\b)|goes wrong|needed|necessary|"
    r"required|appropriate|new (?:information|evidence|data)\b|"
    r"(?:(?:gets?|becomes?) (?:any |much |even )?(?:worse|bad)|worsens?|deteriorates?|"
    r"go(?:es)? (?:wrong|badly|south))(?=\W*$|\s*[.;,]))"
    r"|(?:if|when|whenever) (?:we|i) (?:ever )?(?:feel like(?: it)?|want(?: to| it)?|like|"
    r"see fit|think so|change our minds?)(?=\W*$|\s*[.;,])"
    r"|as (?:needed|necessary|appropriate)|later on|at some point|to be (?:decided|determined|seen)"
    r"|we(?:'ll| will) (?:see|revisit|reconsider)|time will tell|new (?:information|evidence|data) "
    r"(?:emerges|appears|comes|arrives|suggests)|depends",
    re.IGNORECASE,
)
_MEASURED: Final = re.compile(
    r"\d|%|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|half|third|quarter|"
    r"twice|double|below|above|under|over|less than|more than|fewer|at least|at most|exceeds?|"
    r"drops?|rises?|falls?|before|after|by the end|until|within|no longer|none of|nobody|"
    r"jan(?:uary)?|feb(?:ruary)?|march|april|june|july|aug(?:ust)?|sept(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?|monday|tuesday|wednesday|thursday|friday)\b",
    re.IGNORECASE,
)
_SUBJECT: Final = re.compile(
    r"(?:things|circumstances|something|anything|conditions|needs|priorities|it|we|i|"
    r"the (?:situation|context|market|data|evidence))\b",
    re.IGNORECASE,
)
"""How what follows an ``if`` begins that says nothing in particular."""
_IDLE: Final = re.compile(
    r"\b(?:over time|over all|as before|before long|after all|after a while|within reason)\b",
    re.IGNORECASE,
)
"""Words of measure that measure nothing here."""
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+")
_NO: Final = r"no (?:reversal|condition|trigger|criteri|way back|turning back|going back)\w*\b"
_SETTLED: Final = (
    r"(?:defined|decided|discussed|agreed|determined|specified|applicable|foreseen|planned|"
    r"clear(?= yet|\W|$)|known(?= yet|\W*$)|set(?= yet|\W*$)|needed(?= yet|\W*$))"
)
_NONE: Final = re.compile(
    rf"(?:there (?:is|are) (?:none\b(?! of\b)|{_NO})|{_NO}|none(?=\W*$|\s*[.;,:!(\u2013\u2014-])|"
    r"none (?:yet|so far|needed|planned|defined|known|set|for now|at (?:present|the moment))\b|"
    rf"(?:(?:it|this|that) is |is )?(?:still )?(?:not |un)(?:yet )?(?:been )?{_SETTLED}|"
    r"(?:still |yet )?to be (?:discussed|defined|agreed|decided|determined|set|specified|confirmed|"
    r"added|filled)\b|(?:tbd|tba|todo|n/a)\b|"
    r"(?:this|the|it)(?: decision| one)? (?:is|stays|remains) (?:final|irreversible)\b|"
    r"(?:final|irreversible|never)\b(?! (?:before|until|unless|after))|"
    r"(?:is |it is |this is )?not (?:reversible|to be (?:reversed|revisited|undone))\b|to[- ]?do\b|"
    r"(?:we|i) (?:do not|don'?t|cannot|can'?t) (?:yet )?(?:see|know|expect|plan)\b|"
    r"(?:we|i) (?:have not|haven'?t) (?:yet )?(?:thought|decided|discussed|agreed|defined)\b|"
    r"\?{2,}|"
    r"(?:(?:we|i|it|this)(?: decision)? )?(?:(?:will|shall|would|can|'ll) )?"
    r"(?:never(?: again| ever)? (?:be |to be )?"
    r"(?:take|reverse|revisit|undo|reconsider|change|go back|come back)|"
    r"(?:not|won'?t)\b[^.;]* under (?:any|no) (?:condition|circumstance)s?\b)|"
    r"(?:under|in) no (?:condition|circumstance)s?\b|nothing (?:will|would|could|can) )",
    re.IGNORECASE,
)
"""How a condition begins that says there is none, or none yet."""
_CONDITION: Final = re.compile(
    r"\b(?:if|when|whenever|once|unless|until|should|as soon as|in case|except)\b", re.IGNORECASE
)
_LEAST_WORDS: Final = 4
_LEADS: Final = re.compile(r"(?<=\])\([^()\s]*\)|\bhttps?://\S+")
"""Where a link leads, which says nothing by itself."""


def vague(condition: str) -> str:
    """Why a condition says nothing that can come true or not; empty if it does."""
    if is_nothing(condition):
        return "says nothing"
    denied = _NONE.match(condition.strip(" *_`()-"))
    if denied and not (_CONDITION.search(condition) and _MEASURED.search(condition)):
        return f"says that there is none: {denied[0]!r}"
    words = re.findall(r"[\w'%-]+", _LEADS.sub(" ", condition))
    if len(words) < _LEAST_WORDS:
        return f"has {len(words)} words"
    # an aside behind a whole sentence that says when decides nothing
    first, *more = _SENTENCE.split(condition, maxsplit=1)
    whole = len(re.findall(r"[\w'%-]+", first)) >= _LEAST_WORDS and _CONDITION.search(first)
    if more and whole and not _names_nothing(first):
        return ""
    if found := _names_nothing(condition):
        return f"names nothing to measure: {found!r}"
    return ""


def _names_nothing(condition: str) -> str:
    """What in it speaks of things in general, if nothing in it can be measured.

    The ``if`` may stand in what the condition is called: ``Reverse if: it does not work out``.
    """
    said = condition.strip(" *_`-")
    read = f"if {said}" if _SUBJECT.match(said) else said
    found = _VAGUE.search(read)
    if found is None or _MEASURED.search(_IDLE.sub(" ", _VAGUE.sub(" ", read))):
        return ""
    return found[0]
