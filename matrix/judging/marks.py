"""What in a judged text looks like a request's own, and what in a judge's answer does not fit.

None of it changes a verdict: fences in a text are broken up and the judge is told that all of it is
data, and of a judge its findings count. It is kept as events, so that people see where to look.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from matrix.judging.answers import quotations
from matrix.judging.request import FENCES, Part

MARKED: Final = "marks_taken_as_text"
"""Event: judged material contains marks that look like those of a request or an answer."""

QUOTES_NOTHING: Final = "quotes_nothing"
"""Event: a reason quotes words that are nowhere in what was judged."""

MISNAMED: Final = "misnames_criteria"
"""Event: what a judge says of a criterion stands beside other words than the criterion's."""

DISAGREES: Final = "judge_disagrees"
"""Event: a judge claims another verdict than its findings make."""

UNREVIEWED: Final = "not_reviewed"
"""Event: a judge was asked about one kind of issue, and gave no verdict that counts."""

_LEAST_WORDS: Final = 3
"""Words from which a quotation is looked up: fewer are names, or are said in passing."""

_MOST_TOLD: Final = 3
_SHOWN: Final = 80

_BEGINS: Final = r"^(?:\[\d+\] [^:\n]{1,80}: )?[ \t>*_#`-]*"
_VERDICT_LINE: Final = re.compile(
    rf"{_BEGINS}(?:(?:VERDICT|CHOICE)[\s*_`]*:[\s*_`\[]*(?:PASS|FAIL|UNCERTAIN|TIE|A|B)\b"
    r"|\d{1,3}[.)][^\n]*[:\u2013\u2014-][ *_`]*(?:NOT[ _-]?MET|MET)\b"
    r"(?=[ *_`]*(?:$|[-.:\u2013\u2014]))"
    r"|(?<=#)[ \t]*(?:CRITERIA EVALUATION|VERDICT)[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
_LEFT_OUT: Final = re.compile(r"\.\.\.|\u2026|\[[^\]]{0,20}\]")
_WORDS: Final = re.compile(r"\w+")


class EventContext(Protocol):
    """What keeping an event needs of the context that a kind plays in."""

    def event(
        self,
        kind: str,
        *,
        subject: str = "",
        detail: str = "",
        value: float | None = None,
        severity: str = "",
    ) -> None: ...


def marks_in(material: Iterable[Part]) -> dict[str, list[str]]:
    """Title of a part -> what in it looks like a mark of ours: a fence, a line with a verdict."""
    found = {}
    for part in material:
        text = f"{part.title}\n{part.text}"
        kinds = ["a fence"] * any(fence in text for fence in FENCES)
        kinds += ["a verdict line"] * (
            _VERDICT_LINE.search(text.replace("\u00a0", " ")) is not None
        )
        if kinds:
            found[part.title] = kinds
    return found


def marks_told(found: dict[str, list[str]]) -> str:
    """The same in a line, for the event."""
    return "; ".join(f"{title}: {' and '.join(kinds)}" for title, kinds in found.items())


def quoted_from_nowhere(reason: str, sources: Sequence[str]) -> list[str]:
    """Quotations in a reason, of three words and more, that none of the sources has.

    White space, case and punctuation do not matter, and what is left out with dots may be
    anything.

    >>> quoted_from_nowhere("It says 'a fine clear day', not 'rain'", ["A fine,  clear DAY."])
    []
    >>> quoted_from_nowhere("It says 'a fine clear day'", ["It rains."])
    ['a fine clear day']
    """
    there = [_plain(text) for text in sources]
    found = []
    for start, end in quotations(reason):
        said = reason[start + 1 : end - 1]
        pieces = [_plain(piece) for piece in _LEFT_OUT.split(said)]
        if any(
            len(piece.split()) >= _LEAST_WORDS and not any(piece in text for text in there)
            for piece in pieces
        ):
            found.append(said)
    return found


def tell_quotations(
    ctx: EventContext,
    subject: str,
    model: str,
    reasons: Iterable[str],
    material: Iterable[Part],
    asked: Iterable[str],
) -> None:
    """Keep an event if a judge's reasons quote what is in neither material nor question."""
    sources = [*(part.text for part in material), *asked]
    if found := [said for one in reasons for said in quoted_from_nowhere(one, sources)]:
        told = quotations_told(model, found)
        ctx.event(QUOTES_NOTHING, subject=subject, detail=told, severity="warning")


def tell_misnamed(ctx: EventContext, subject: str, model: str, named: Sequence[str]) -> None:
    """Keep an event if criteria are called by words of which they have none.

    Args:
        ctx: Where it is kept.
        subject: The rubric, or the agent.
        model: The judge.
        named: What each criterion is called, in order; empty where that fits.
    """
    found = [f"{number} {name!r}" for number, name in enumerate(named, 1) if name]
    if found:
        told = f"{model} calls criterion {', '.join(found[:_MOST_TOLD])}, which it has no word of"
        ctx.event(MISNAMED, subject=subject, detail=told, severity="warning")


def tell_claim(ctx: EventContext, subject: str, claimed: str, verdict: str) -> None:
    """Keep an event if a judge claims another verdict than its findings make.

    Args:
        ctx: Where it is kept.
        subject: The rubric, or the agent.
        claimed: ``PASS`` or ``FAIL``.
        verdict: What its findings come to.
    """
    if claimed != verdict:
        told = f"claims {claimed}, its findings make it {verdict}"
        ctx.event(DISAGREES, subject=subject, detail=told, severity="warning")


def quotations_told(model: str, found: Sequence[str]) -> str:
    """The same in a line, for the event."""
    shown = ", ".join(repr(" ".join(one.split())[:_SHOWN]) for one in found[:_MOST_TOLD])
    return f"{model} quotes {shown}, which is nowhere in what it was shown"


def _plain(text: str) -> str:
    """Words alone, one space apart and with one around them, so that only whole words match."""
    return f" {' '.join(_WORDS.findall(text.casefold()))} "
