"""Facts that are a number, a colour, a name or an hour, read off a narrator's words.

Each reader yields claims about a subject on an axis of its own. A claim says whether it may be held
against what was told before (``the seven camels``) or only adds to it (``a blue shawl``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from matrix.kinds.playtest.detect.reading import word_set
from matrix.kinds.playtest.detect.story import particulars as told_of
from matrix.kinds.playtest.detect.story.prose import Sentence, is_supposed, sentences, thing_of
from matrix.kinds.playtest.setup.state import Fact

COUNT: Final = "count"
COLOUR: Final = "colour"
LOOKS: Final = "looks"
CLOCK: Final = "clock"
DAYTIME: Final = "daytime"
YEAR: Final = "year"
NAME: Final = "name"
PLACE_NUMBER: Final = "number"
FLOOR: Final = "floor"
WEATHER: Final = "weather"

CHANGES: Final[Mapping[str, re.Pattern[str]]] = {
    COUNT: re.compile(
        r"\b(?:more|another|fewer|less|lost|lose|gone|left|join|arriv|come|comes|came|leave|dead"
        r"|die|take|took|give|gave|add|remov|steal|stole|missing|remain|rest|other|break|broke|eat"
        r"|ate|drop|fall|fell|buy|sell|sold|kill|split|new)",
        re.IGNORECASE,
    ),
    COLOUR: re.compile(
        r"\b(?:paint|dye|turn|glow|stain|blood|burn|bleach|chang|shift|another|other|second|fade)",
        re.IGNORECASE,
    ),
    PLACE_NUMBER: re.compile(r"\b(?:new|other|another|mov|chang|swap|instead)", re.IGNORECASE),
    FLOOR: re.compile(r"\b(?:another|other|new|mov|branch)", re.IGNORECASE),
    NAME: re.compile(r"\b(?:another|other|new|second|real|lie|alias|call me)", re.IGNORECASE),
    **told_of.CHANGES,
}
"""Axis -> words that, in a sentence with its subject, take a fact away."""

TIME_PASSES: Final = re.compile(
    r"\b(?:next (?:day|morning|evening|night)|sle(?:ep|pt)|wakes?|woke|dawn|sunrise|sun is up"
    r"|morning|hours later|days?|backwards?|stopped|wrong|slow|fast|set back|wound|winds?"
    r"|broken)\b",
    re.IGNORECASE,
)
"""Told anywhere, it lets a clock show anything."""

MORE: Final = word_set("more others rest another reinforcements join joins joined")
MORE_COME: Final = re.compile(
    r"\b(?:\w+ (?:more|others)|the (?:others|rest)|another"
    r"|reinforcements) (?:\w+ ){0,2}?(?:come|comes|came"
    r"|join|joins|joined|arrive|arrives|arrived|step|stepped|climb|appear|appears|appeared|are|were)\b"
    r"|\b(?:join|joins|joined) (?:them|you|us)\b",
    re.IGNORECASE,
)
"""Told of nobody by name, it lets any number be another one."""

_UNITS: Final = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_NUMBERS: Final = {word: value for value, word in enumerate(_UNITS.split(), start=1)} | {
    word: 10 * value
    for value, word in enumerate(
        ["thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=3
    )
}
_ORDINALS: Final = {
    word: value
    for value, word in enumerate(
        [
            "ground",
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
            "eleventh",
            "twelfth",
            "thirteenth",
            "fourteenth",
            "fifteenth",
            "sixteenth",
            "seventeenth",
            "eighteenth",
            "nineteenth",
            "twentieth",
        ]
    )
}
_NUMBER: Final = rf"(?:\d{{1,4}}|{'|'.join(_NUMBERS)})"
_UNCOUNTED: Final = word_set(
    "minutes hours days weeks months years seconds times men women people figures children others "
    "steps paces feet yards miles inches fathoms metres meters voices faces hands eyes ones guards "
    "things sides words moments nights strangers players friends shapes rows ways parts words"
)
_DEFINITE: Final = re.compile(
    rf"\b(?P<all>[Aa]ll|[Tt]he|[Yy]our|[Tt]hese|[Hh]er|[Hh]is|[Tt]heir)(?: the)? (?P<n>{_NUMBER})"
    r" (?:[a-z]+ ){0,2}?(?P<thing>[a-z]{3,}s)\b(?! of)"
)
_INTRODUCED: Final = re.compile(
    rf"\b(?:(?:[Tt]here (?:are|were)|[Cc]ounts?|[Hh]as|[Hh]ave|[Hh]olds?|[Oo]nly|[Ss]tands?"
    rf"|[Ll]ies?"
    rf"|[Hh]angs?) (?P<n>{_NUMBER})(?: [a-z]+){{0,2}}? (?P<thing>[a-z]{{3,}}s)\b"
    rf"|(?P<n2>[A-Z]?[a-z]+|\d{{1,4}})(?: [a-z]+){{0,2}}? (?P<thing2>[a-z]{{3,}}s)"
    r" (?:stand|lie|hang|sit|wait|kneel|are)\b)"
)
_INSISTED: Final = re.compile(
    r"\b(?:only ever|always been|never (?:been )?(?:more|fewer)|all)\b", re.I
)
_OF_GUIDE: Final = re.compile(
    rf"\b(?P<n>{_NUMBER})(?: [a-z]+)?? (?P<thing>[a-z]{{3,}}s)\b", re.IGNORECASE
)

_COLOURS: Final = {
    name: main
    for main, names in {
        "red": "red crimson scarlet ruby",
        "blue": "blue azure indigo navy",
        "green": "green emerald",
        "yellow": "yellow",
        "black": "black ebony",
        "white": "white ivory",
        "grey": "grey gray",
        "brown": "brown chestnut",
        "purple": "purple violet",
        "orange": "orange",
        "pink": "pink",
    }.items()
    for name in names.split()
}
_COLOURED: Final = re.compile(
    r"\b(?P<which>[Aa]n?|[Tt]he|[Yy]our|[Hh]is|[Hh]er|[Tt]heir|[Ss]omething) (?:[a-z]+ )?"
    rf"(?P<colour>{'|'.join(_COLOURS)}) (?P<thing>[a-z]+)\b"
)
_COLOURLESS: Final = word_set(
    "light lights sky water door doors eyes face hair man woman snow ice smoke coat bird dress one "
    "glow lamp line lines haze car room house book flag street shape road side cat dog horse "
    "letters letter ink stone stones glass paint flower flowers ribbon candle bottle figure"
)

_WORD_HOURS: Final = {word: value for word, value in _NUMBERS.items() if value <= 12}
_HOUR: Final = "|".join(_WORD_HOURS)
_TIME: Final = (
    r"(?:(?P<h24>[01]?\d|2[0-3])[:.](?P<m24>[0-5]\d)"
    rf"|(?:a )?(?P<part>half|quarter|ten|five|twenty|twenty-five) (?P<way>past"
    rf"|to) (?P<hour>{_HOUR})"
    rf"|(?P<full>{_HOUR}|\d{{1,2}}) o'clock|(?P<mid>midnight|noon)\b)"
)
_TIME_TOO: Final = _TIME.replace("?P<", "?P<x")
_CLOCK: Final = re.compile(
    rf"\b(?:clocks?|watch)\b[^.!?\n]{{0,60}}?\b{_TIME}|\b(?:it is|it's|it was) "
    rf"(?:now |nearly |almost |just |only |already )?{_TIME_TOO}",
    re.IGNORECASE,
)
_PARTS: Final = {"half": 30, "quarter": 15, "ten": 10, "five": 5, "twenty": 20, "twenty-five": 25}
_BACK: Final = (15, 300)
"""Minutes that a clock has gone back by, rather than on to another day."""

_DATED: Final = re.compile(
    r"\b(?P<who>[A-Z][a-z]+|[Hh]e|[Ss]he|[Ii]t|[Tt]hey|[Tt]he [a-z]+)"
    r"(?: (?:was|were|had|first|has))?"
    r" (?P<verb>died|drowned|killed|murdered|born|built|founded|closed|sank|burned|vanished"
    r"|disappeared|opened|married|arrived|fell|retired)"
    r"(?: [a-z']+){0,3}?(?: there| here)?,? in (?:the (?:summer|winter|spring|autumn) of )?"
    r"(?P<year>1\d{3}|20\d\d)\b"
)
_DEATHS: Final = word_set("died drowned killed murdered fell")
_CAPITAL: Final = re.compile(r"\b[A-Z][a-z]{2,}\b")

_NO_PERSON: Final = word_set(
    "The She He It They You Then There But And His Her Its Your This That When Where What Who "
    "Above "
    "Behind Below Beside Outside Inside Now Here For From With One Two"
)
_PLACES: Final = r"(?:room|cabin|berth|suite|compartment|cell|locker|seat|bunk)"
_NUMBERED: Final = re.compile(
    rf"\b(?:(?:gives?|gave|hands?|handed|assigns?) you (?:all )?(?:the key (?:to|of|for) )?"
    rf"(?P<a>{_PLACES}) (?:number )?(?P<na>{_NUMBER})"
    rf"|[Yy]our (?P<b>{_PLACES})(?: is)?(?:,| number|:)? (?:number )?(?P<nb>{_NUMBER})\b"
    rf"|(?P<c>{_PLACES}) (?P<nc>{_NUMBER}) behind you\b"
    rf"|back (?:in|to|at|inside) (?P<d>{_PLACES}) (?P<nd>{_NUMBER})"
    rf"|(?P<e>{_PLACES}) (?P<ne>{_NUMBER}) is yours\b)"
)
_HOUSED: Final = re.compile(
    r"\b(?P<thing>office|flat|apartment|suite|surgery|studio|penthouse|laboratory|bar|library)\b"
    rf"[^.!?]{{0,80}}?\b(?:(?P<ordinal>{'|'.join(_ORDINALS)}|\d{{1,3}}(?:st|nd|rd|th)) floor"
    r"|(?P<low>basement))\b"
)
_HOURS: Final = {
    "noon": 12,
    "midday": 12,
    "afternoon": 15,
    "evening": 19,
    "dusk": 20,
    "sunset": 20,
    "night": 23,
    "midnight": 24,
}
_DAYTIME: Final = re.compile(
    r"\b(?:it is|it's|it was) (?:now |still |only |already |just |nearly |almost )?(?:the )?"
    r"(?:late |early |past |deep |middle of the |full )?(?P<is>noon|midday|afternoon|evening|dusk"
    r"|sunset|night|midnight)\b"
    r"|\bthe (?:late |early |hot |pale |low |warm |bright )?(?P<sun>noon|midday|afternoon"
    r"|evening) (?:sun"
    r"|light|heat|sunlight)\b"
    r"|\b(?P<high>sun (?:is|stands|hangs|beats|blazes) (?:high|overhead|straight|directly|down))\b"
    r"|\b(?P<falls>night (?:has |had )?fall(?:s|en)|night fell|(?:the|a) (?:full |pale "
    r"|thin )?moon (?:is|rises"
    r"|hangs|stands|shines))\b",
    re.IGNORECASE,
)
_COLOUR: Final = "|".join(_COLOURS)
_EYES: Final = re.compile(
    rf"\b(?P<who>[A-Z][a-z]+)'s (?P<colour>{_COLOUR}) (?P<part>eyes|hair|beard)\b"
    rf"|\b(?:[Hh]is|[Hh]er) (?P<part2>eyes|hair|beard) (?:is|are) (?P<colour2>{_COLOUR})\b"
    rf"|\b(?:with|[Hh]is|[Hh]er) (?P<colour3>{_COLOUR}) (?P<part3>eyes|hair|beard)\b"
)
_CALLED: Final = re.compile(
    r"\b(?:[Hh]is|[Hh]er|[Mm]y) name(?: is|'s),? (?P<a>[A-Z][a-z]+)\b"
    r"|\b(?:is|was) (?:called|named) (?P<b>[A-Z][a-z]+)\b"
)
_TITLED: Final = (
    "porter|clerk|barman|barmaid|bartender|keeper|captain|driver|innkeeper|landlord|landlady|priest"
    "|doctor|nurse|cook|butler|sheriff|mayor|teacher|mechanic|pilot|librarian|blacksmith|miller"
    "|ferryman|conductor|steward|gardener|caretaker|professor|merchant|shopkeeper|abbot|king|queen"
)
_BESIDE: Final = re.compile(
    rf"\b[Tt]he (?:[a-z]+ )?(?P<role>{_TITLED}), (?:old |young )?(?P<name>[A-Z][a-z]+)\b"
    rf"|\b(?P<name2>[A-Z][a-z]+), (?:the|your) (?:[a-z]+ )?(?P<role2>{_TITLED})\b"
)
_ROLE: Final = re.compile(
    r"\b[Tt]he (?:[a-z]+ )?(?P<role>porter|clerk|barman|barmaid|bartender|keeper|captain|driver"
    r"|innkeeper|landlord|landlady|priest|doctor|nurse|guard|cook|butler|maid|sheriff|mayor|teacher"
    r"|mechanic|pilot|guide|librarian|smith|blacksmith|miller|boy|girl|stranger|ferryman|conductor"
    r"|steward|gardener|caretaker|professor|inspector|sergeant|merchant|shopkeeper|bishop|abbot"
    r"|king|queen|dog|cat|horse|village|town|ship|boat|inn|river|island)\b"
)
_RAINING: Final = re.compile(
    r"\b(?:[Rr]ain (?:is|runs?|falls?|beats?|hammers?|drums?|comes?|streams?|pours?|still)"
    r"|(?:is|'s) (?:raining|pouring)|it rains)\b"
)
_RAINLESS: Final = re.compile(
    r"\b(?:has not|hasn't|had not|hadn't|has never|not) rained (?:for|in|since|here)\b"
    r"|\bnot a drop of rain\b|\bno rain (?:for|in|since|has)\b"
)


class Claim(NamedTuple):
    """A fact that a sentence states.

    Attributes:
        fact: What it states.
        sentence: Its words.
        held: It is about the very thing that was told of before, and may be held against it.
    """

    fact: Fact
    sentence: str
    held: bool = True


def claims(text: str, turn: int) -> Iterator[Claim]:
    """Everything of this kind in an output, in the order of its readers."""
    for sentence in sentences(text):
        if is_supposed(sentence.text):
            continue
        for axis, subject, value, held in _of_sentence(sentence):
            yield Claim(
                Fact(axis=axis, subject=subject, value=value, turn=turn), sentence.said, held
            )
    for axis, subject, value, words in _of_text(" ".join(text.split())):
        yield Claim(Fact(axis=axis, subject=subject, value=value, turn=turn), words)
    plain = " ".join(one.text for one in sentences(text) if not is_supposed(one.text))
    for one in told_of.particulars(plain):
        fact = Fact(axis=one.axis, subject=one.subject, value=one.value, turn=turn)
        yield Claim(fact, one.words, one.held)


def excludes(known: Fact, claim: Claim) -> bool:
    """Whether a claim cannot hold beside a known fact of its axis and subject."""
    axis = claim.fact.axis
    if axis == CLOCK:
        back = (int(known.value) - int(claim.fact.value)) % 720
        return _BACK[0] <= back <= _BACK[1]
    if axis == DAYTIME:
        return int(known.value) - int(claim.fact.value) >= 3
    if axis == COUNT:
        more = int(claim.fact.value) > int(known.value)
        return more or _INSISTED.search(claim.sentence) is not None
    if axis == WEATHER:
        return (known.value, claim.fact.value) == ("rain", "none")
    return True


def agrees(known: Fact, claim: Claim) -> bool:
    """Whether a known fact says the same."""
    return known.value == claim.fact.value


@lru_cache(maxsize=64)
def of_guide(guide: str) -> Mapping[tuple[str, str], str]:
    """Axis and thing -> the number or colour that a guide gives it, where it gives it one only."""
    found: dict[tuple[str, str], set[str]] = {}
    for match in _OF_GUIDE.finditer(guide):
        thing, number = match["thing"].lower(), _value(match["n"])
        if number > 1 and thing not in _UNCOUNTED:
            found.setdefault((COUNT, thing), set()).add(str(number))
    for match in _COLOURED.finditer(guide):
        if match["thing"] not in _COLOURLESS:
            found.setdefault((COLOUR, match["thing"]), set()).add(_COLOURS[match["colour"]])
    return {key: next(iter(values)) for key, values in found.items() if len(values) == 1}


def _value(number: str) -> int:
    low = number.lower()
    return int(low) if low.isdigit() else _NUMBERS.get(low, 0)


def _of_sentence(sentence: Sentence) -> Iterator[tuple[str, str, str, bool]]:
    text = sentence.text
    for match in _DEFINITE.finditer(text):
        if match["thing"] not in _UNCOUNTED and _value(match["n"]) > 1:
            yield COUNT, match["thing"], str(_value(match["n"])), True
    for match in _INTRODUCED.finditer(text):
        number, thing = match["n"] or match["n2"], match["thing"] or match["thing2"]
        if thing not in _UNCOUNTED and _value(number) > 1:
            yield COUNT, thing, str(_value(number)), False
    for match in _COLOURED.finditer(text):
        thing = thing_of(match["thing"]).split()[-1]
        if thing not in _COLOURLESS and len(thing) > 2 and thing not in _COLOURS:
            definite = match["which"].lower() not in ("a", "an", "something")
            yield COLOUR, thing, _COLOURS[match["colour"]], definite
    for match in _HOUSED.finditer(text):
        floor = 0 if match["low"] else _ORDINALS.get(match["ordinal"], 0)
        if match["low"] or match["ordinal"] in _ORDINALS:
            yield FLOOR, match["thing"], str(floor), True
    if _RAINING.search(text):
        yield WEATHER, "weather", "rain", False
    elif _RAINLESS.search(text):
        yield WEATHER, "weather", "none", True


def _of_text(text: str) -> Iterator[tuple[str, str, str, str]]:
    for match in _CLOCK.finditer(text):
        found = {key.removeprefix("x"): value for key, value in match.groupdict().items() if value}
        yield CLOCK, "clock", str(_minutes(found)), match[0]
    for match in _DAYTIME.finditer(text):
        named = match["is"] or match["sun"]
        hour = _HOURS[named.lower()] if named else 12 if match["high"] else 23
        yield DAYTIME, "hour", str(hour), match[0]
    for match in _EYES.finditer(text):
        names = _CAPITAL.findall(text[max(0, match.start() - 120) : match.start()])
        who = match["who"] or next(iter(reversed(names)), "")
        part = match["part"] or match["part2"] or match["part3"]
        colour = _COLOURS[match["colour"] or match["colour2"] or match["colour3"]]
        if who and who not in _NO_PERSON:
            yield LOOKS, f"{who.lower()}'s {part}", colour, match[0]
    for match in _NUMBERED.finditer(text):
        found = {key: value for key, value in match.groupdict().items() if value}
        number = next(value for key, value in found.items() if key.startswith("n"))
        place = next(value for key, value in found.items() if not key.startswith("n"))
        yield PLACE_NUMBER, place, str(_value(number)), match[0]
    for match in _DATED.finditer(text):
        who = match["who"]
        if who.lower() in ("he", "she", "it", "they"):
            names = _CAPITAL.findall(text[max(0, match.start() - 120) : match.start()])
            who = next((name for name in reversed(names) if name not in _NO_PERSON), "")
        verb = "died" if match["verb"] in _DEATHS else match["verb"]
        if who:
            yield YEAR, f"{who.lower()} {verb}", match["year"], match[0]
    for match in _CALLED.finditer(text):
        before = list(_ROLE.finditer(text, max(0, match.start() - 160), match.start()))
        if before:
            yield NAME, before[-1]["role"], (match["a"] or match["b"]), match[0]
    for match in _BESIDE.finditer(text):
        if (name := match["name"] or match["name2"]) not in _NO_PERSON:
            yield NAME, match["role"] or match["role2"], name, match[0]


def _minutes(found: Mapping[str, str]) -> int:
    """Minutes past twelve of a time that a clock shows."""
    if "mid" in found:
        return 0
    if "h24" in found:
        return (int(found["h24"]) * 60 + int(found["m24"])) % 720
    if "full" in found:
        return (_value(found["full"]) * 60) % 720
    hour, part = _value(found["hour"]) * 60, _PARTS[found["part"].lower()]
    return (hour + part if found["way"].lower() == "past" else hour - part) % 720
