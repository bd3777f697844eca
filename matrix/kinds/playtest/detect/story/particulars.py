"""Particulars of people and places that a narrator tells in passing, and that stay as they are.

On which side a scar is, that somebody has one arm, whose brother somebody is, a surname, a day of
the week, that a place has no windows. Each is a value of a subject on an axis; two values of one
subject exclude each other unless something told in between explains it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from matrix.kinds.playtest.detect.reading import word_set

SIDE: Final = "side"
LIMBS: Final = "limbs"
KIN: Final = "kin"
SURNAME: Final = "surname"
WEEKDAY: Final = "weekday"

_NAME: Final = r"[A-Z][a-z]{2,}"
_NO_PERSON: Final = word_set(
    "The She He It They You Then There But And His Her Its Your This That When Where What Who "
    "Above Behind Below Beside Outside Inside Now Here For From With One Two Three In On At By As "
    "Old Mr Mrs Miss Ms Dr Doctor Captain Father Mother Sister Brother Sir Lady Lord Madame Uncle "
    "Aunt Professor Inspector Sergeant Yes Not Nobody Somebody Something Nothing Everything Only "
    "Even Still Just Perhaps Maybe After Before Through Under Over Into Beyond Between Around "
    "Their Our These Those Some Most Any All Both Each Every Another Other Such What Which While "
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday Come Take Look See Good Well Very "
    "Let God Don Never Always Once Twice Again Somewhere Someone Everyone Everybody Long Up Down"
)
_CAPITAL: Final = re.compile(r"\b[A-Z][a-z]{2,}\b")
_DAYS: Final = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
_PART: Final = r"(?:hand|arm|leg|foot|eye|knee|shoulder|wrist|ankle|cheek|ear|thumb|hip|sleeve)"
_MARK: Final = (
    r"(?:sling|bandaged?|scar(?:red)?|patch|missing|hook|gloved?|tattoo(?:ed)?|stump|limps?"
    r"|limping|wooden|glass|splint(?:ed)?|cast|burn(?:ed|t)?|broken|blind|withered|bad|lame|gone"
    r"|plaster|prosthe\w+|false|empty|wound(?:ed)?|stiff|milky|crippled|torn|bound|strapped)"
)
_SIDED: Final = re.compile(
    rf"\b(?P<side>left|right) (?P<part>{_PART})s?\b(?=[^.!?;]{{0,40}}?\b(?P<after>{_MARK})\b)"
    rf"|\b(?P<before>{_MARK})\b[^.!?;,]{{0,40}}?\b(?P<side2>left|right) (?P<part2>{_PART})s?\b",
    re.IGNORECASE,
)
_SINGLE: Final = re.compile(
    r"\b(?:one-(?P<a>arm|hand|eye|leg)(?:ed)?\b|(?:his|her) (?:one|only|good|remaining|single)"
    r" (?:good |remaining )?(?P<b>arm|hand|eye|leg|sleeve)\b"
    r"|(?:lost|without|missing) (?:an?|one|his|her|the) (?:left |right )?(?P<c>arm|hand|eye|leg)\b"
    r"|(?P<e>empty sleeve))"
)
_PAIR: Final = re.compile(
    r"\b(?:both|two|either|each) (?:of )?(?:his |her )?(?P<part>arm|hand|eye|leg)s?\b"
    r"|\b(?:folds|crosses) (?:his|her) (?P<arms>arms)\b"
)
_KINDS: Final = (
    "brother sister son daughter wife husband mother father cousin uncle aunt nephew niece "
    "grandson granddaughter grandmother grandfather fiance fiancee stepson stepdaughter twin"
)
_RELATION: Final = "|".join(_KINDS.split())
_KIN: Final = re.compile(
    rf"\b(?:[Hh]is|[Hh]er|[Mm]y|[Tt]heir|(?P<of>{_NAME})'s) (?:[a-z]+ )?(?P<kin>{_RELATION}),?"
    rf" (?P<who>{_NAME})\b"
    rf"|\b(?P<who2>{_NAME}),? (?:is |was )?(?:his|her|my|their|(?P<of2>{_NAME})'s)"
    rf" (?:[a-z]+ )?(?P<kin2>{_RELATION})\b"
)
_FULL: Final = re.compile(
    rf"(?<![A-Z][a-z] )(?<![Tt]he )\b(?P<first>{_NAME}) (?P<last>{_NAME})\b(?! [A-Z])"
)
_TODAY: Final = re.compile(
    rf"\b(?:[Ii]t is|[Ii]t's|[Ii]t was|[Tt]oday is|[Tt]his is) (?:an? |now |only |still |just )?"
    rf"(?:[a-z]+ )?(?P<a>{_DAYS})\b"
    rf"|\b(?P<b>{_DAYS}) (?:morning|afternoon|evening|night)(?:,| \w+ (?:quiet|cold|grey|bright))"
)
_PLACE_WORDS: Final = word_set(
    "Street Road Lane House Hall Inn Church Chapel Tower Bridge Room Gate Square Bay River Lake "
    "Island Hill Mountain Forest Station Hotel School Point Rock Mill Farm Court Park Museum Sea "
    "Wood Woods Valley Pass Harbour Port Head Creek Cross Town City Village Castle Manor Abbey"
)


class Particular(NamedTuple):
    """A value of a subject on an axis, and the words that tell it.

    ``held`` is whether it may be held against what was told before.
    """

    axis: str
    subject: str
    value: str
    words: str
    held: bool = True


CHANGES: Final = {
    SIDE: re.compile(r"\b(?:other|both|mirror|reflection|swap|switch|shift|change)", re.IGNORECASE),
    LIMBS: re.compile(r"\b(?:wooden|hook|prosthe|grow|mirror|other)", re.IGNORECASE),
    KIN: re.compile(r"\b(?:not|lie|lied|really|adopted|truth|step|married|marries)", re.IGNORECASE),
    SURNAME: re.compile(
        r"\b(?:born|maiden|real name|alias|married|marries|n\u00e9e)", re.IGNORECASE
    ),
}


def particulars(text: str) -> Iterator[Particular]:
    """Particulars of one output's words without quotations, in the order of their readers."""
    for match in _SIDED.finditer(text):
        mark = _mark(match["after"] or match["before"])
        side = (match["side"] or match["side2"]).lower()
        part = (match["part"] or match["part2"]).lower()
        who = _who(text, match.start())
        if who:
            yield Particular(SIDE, f"{who} {_limb(part)} {mark}", side, match[0])
    for match in _SINGLE.finditer(text):
        part = match["a"] or match["b"] or match["c"] or "arm"
        if who := _who(text, match.start()):
            yield Particular(LIMBS, f"{who} {_limb(part)}", "one", match[0])
    for match in _PAIR.finditer(text):
        if who := _who(text, match.start()):
            yield Particular(LIMBS, f"{who} {_limb(match['part'] or 'arm')}", "two", match[0])
    for match in _KIN.finditer(text):
        who, kin = match["who"] or match["who2"], match["kin"] or match["kin2"]
        of = (match["of"] or match["of2"] or _who(text, match.start())).lower()
        if of and who not in _NO_PERSON and of != who.lower():
            yield Particular(KIN, f"{who.lower()} of {of}", kin, match[0])
    for match in _FULL.finditer(text):
        first, last = match["first"], match["last"]
        if not ({first, last} & (_NO_PERSON | _PLACE_WORDS)):
            yield Particular(SURNAME, first.lower(), last, match[0])
    for match in _TODAY.finditer(text):
        yield Particular(WEEKDAY, "today", match["a"] or match["b"], match[0])


def _limb(part: str) -> str:
    return {"hand": "arm", "sleeve": "arm", "wrist": "arm", "foot": "leg", "knee": "leg"}.get(
        part, part
    )


def _mark(word: str) -> str:
    low = word.lower()
    for stem in ("bandage", "scar", "limp", "glove", "tattoo", "splint", "burn", "wound"):
        if low.startswith(stem):
            return stem
    return {"missing": "gone", "empty": "gone", "stump": "gone", "hook": "gone", "lame": "limp",
            "bad": "limp", "stiff": "limp", "blind": "patch", "milky": "patch", "glass": "patch",
            "torn": "wound", "bound": "bandage", "strapped": "bandage", "cast": "splint",
            "plaster": "splint", "broken": "splint", "sling": "splint"}.get(low, low)  # fmt: skip


def _who(text: str, at: int) -> str:
    """Whom a place of a text is about: the last name before it."""
    names = _CAPITAL.findall(text[max(0, at - 160) : at])
    return next((name.lower() for name in reversed(names) if name not in _NO_PERSON), "")
