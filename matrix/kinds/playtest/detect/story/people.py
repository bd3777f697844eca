"""People of a story: what was told of them, and what they do against it.

What the guide says of a person's nature (mute, blind, courteous, never leaves the rock) is read
into a few traits; each knows the deeds that go against it. Whether somebody is dead is a fact of
the story. Deeds that are remembered, supposed, denied or marked as unusual go against nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from matrix.kinds.playtest.detect.reading import word_set, words_of
from matrix.kinds.playtest.detect.story.traits import SPEECH, Deed, traits_in
from matrix.kinds.playtest.setup.guide import parse_guide

QUOTE: Final = re.compile(r'"([^"\n]*)"|\u201c([^\u201c\u201d\n]*)\u201d')
SENTENCE: Final = re.compile(r"[^.!?\n]+[.!?]*")
NAME: Final = re.compile(r"\b(?:[A-Z][a-z]+|[A-Z]{3,})(?:[ -][A-Z][a-z]+)*\b")
_TITLES: Final = word_set(
    "mr mrs ms miss dr doctor captain professor father mother brother sister sir lady lord aunt "
    "uncle inspector sergeant constable colonel major reverend judge mayor count countess duke "
    "baron queen king prince princess abbot harbourmaster widow madame old the little"
)
_NO_NAME: Final = word_set(
    "the a an his her their its it he she they you we i in on at of to if and but never always "
    "when "
    "where who what how then after before night day story guide beat beats pulse pulses act acts "
    "scene scenes people places place setting ending cast characters group players one two three "
    "speaks talks wants deaf blind mute dead silent"
)
_UNUSUAL: Final = re.compile(
    r"\b(?:for once|for the first time|never before|has never|had never|have never|pretend|pretends"
    r"|pretending|mock|jokes?|possessed|unlike (?:him|her|them)|against (?:his|her|their) nature"
    r"|not (?:him|her|them)sel(?:f|ves)|surprise[sd]?|to your surprise|apologi[sz]es?|ashamed)\b",
    re.IGNORECASE,
)
UNREAL: Final = re.compile(r"\b(?:[Ii]f|would|could|should|as though|dream\w*|imagine\w*|almost)\b")


class Trait(NamedTuple):
    """Something told of a person, and whether a deed goes against it."""

    name: str
    told: str
    breaks: Callable[[Deed], bool]


class Break(NamedTuple):
    """A deed against a trait."""

    name: str
    told: str
    sentence: str


class GuidePeople(NamedTuple):
    """The people of a guide.

    Attributes:
        names: Every word that names one of them -> the person.
        traits: What was told of them.
        dead: Those who are dead from the start.
        undying: Those of whom death says nothing: ghosts, and who is only said to be dead.
        clause: A pattern of who does what.
        innocent: Those who have not done it, with the guide's words on them.
    """

    names: dict[str, str]
    traits: tuple[Trait, ...]
    dead: frozenset[str]
    undying: frozenset[str]
    clause: re.Pattern[str] | None
    innocent: dict[str, str]


@lru_cache(maxsize=64)
def people_of(guide: str) -> GuidePeople:
    """Who is in a guide, and what it says of them."""
    segments = list(_segments(guide))
    names: dict[str, str] = {}
    shared: set[str] = set()
    for owner, _ in segments:
        for word in owner.split():
            low = word.lower()
            if low in _NO_NAME:
                continue
            if low in names and not same_person(names[low], owner):
                shared.add(low)
            elif len(owner) > len(names.get(low, "")):
                names[low] = owner
    names = {word: owner for word, owner in names.items() if word not in shared}
    whole = set(names.values())
    happening = [f"{item.name} {item.detail}" for item in parse_guide(guide).pulses]
    traits = tuple(
        Trait(names.get(_last(owner), owner), told, breaks)
        for owner, text in segments
        # what happens in a beat is no nature, but a deed
        for told, breaks in traits_in(
            text, told_once=any(text.strip(" *|.,;:") in beat for beat in happening)
        )
    )
    about = {owner: " ".join(t for o, t in segments if same_person(o, owner)) for owner in whole}
    undying = {
        owner
        for owner, text in about.items()
        if _BEYOND.search(text) or (_DEATH.search(text) and _STIRS.search(text))
    }
    dead = {o for o, text in about.items() if _DEAD_IN_GUIDE.search(text)} - undying
    innocent = {
        names.get(_last(owner), owner): text
        for owner, text in segments
        if _INNOCENT.search(text) and not _TAKES_BLAME.search(text)
    }
    return GuidePeople(
        names, traits, frozenset(dead), frozenset(undying), _clauses(names), innocent
    )


def _last(owner: str) -> str:
    return owner.split()[-1].lower()


def same_person(one: str, other: str) -> bool:
    """Whether two ways of naming somebody may be of one person."""
    first, second = set(one.split()), set(other.split())
    return first <= second or second <= first


def _segments(guide: str) -> Iterator[tuple[str, str]]:
    """Pieces of a guide with the person whom each seems to be about: whoever is named before it."""
    proper = {word for match in _INSIDE.finditer(guide) for word in match[0].split()}
    proper |= {word for match in _HEAD.finditer(guide) for word in match["name"].split()}
    for line in guide.splitlines():
        names = [
            match
            for match in NAME.finditer(line)
            if any(word in proper and word.lower() not in _NO_NAME for word in match[0].split())
        ]
        row = _ROW.match(line)
        if (
            row
            and names
            and names[0].start() < row.end(1)
            and row[1].strip(" *").startswith(names[0][0])
        ):
            yield _trimmed(names[0][0]), line[names[0].start() :]
            continue
        for match, end in zip(
            names, [*(one.start() for one in names[1:]), len(line)], strict=False
        ):
            yield _trimmed(match[0]), line[match.start() : end]


_ROW: Final = re.compile(r"^\s{0,9}\|([^|\n]+)\|")
_INSIDE: Final = re.compile(
    r"(?<=[a-z,;(*] )(?:[A-Z][a-z]+|[A-Z]{3,})(?:[ -][A-Z][a-z]+)*\b"
    r"|(?<=[(*])[A-Z][a-z]+(?: [A-Z][a-z]+)*\b"
    # who opens a sentence with what they are beside the name
    r"|(?<=[.;:] )(?!(?:Finally|Later|Tonight|Outside|Inside|Meanwhile|Soon|Suddenly"
    r"|Afterwards)\b)[A-Z][a-z]+"
    r"(?:[ -][A-Z][a-z]+)*(?= the [a-z]+[,.:;(]|, (?:an?|the|his|her|old|young) [a-z]+| \()"
)
_HEAD: Final = re.compile(
    r"^[\s*#>|-]{0,9}(?:The )?(?P<name>[A-Z][\w'-]{1,30}(?: "
    r"[A-Z][\w'-]{1,30}){0,3})\*{0,3}\s{0,3}(?:[:,(|\u2013\u2014]|- )",
    re.MULTILINE,
)


def _trimmed(name: str) -> str:
    words = [word for word in name.split() if word.lower() not in ("the", "a", "an", "her", "his")]
    return " ".join(words)


_DEAD_IN_GUIDE: Final = re.compile(
    r"\A(?:[^.!?]{0,60}[,:(] ?)?(?:(?:is|was|now|long|has been) )?(?:dead (?:since|for|before)"
    r"|dead\b(?! (?:of"
    r"|tired|end))|who drowned|(?:who )?drowned in|(?:who )?died (?:in|last|of)"
    r"|(?:was )?(?:killed|murdered"
    r"|hanged) (?:in|by|last))",
    re.IGNORECASE,
)
_BEYOND: Final = re.compile(
    r"\b(?:ghosts?|spirits?|spect(?:re|er)s?|alive|undead|vampires?|haunt\w*|phantoms?|apparition"
    r"|revenant|zombie|skeleton|lich)\b",
    re.IGNORECASE,
)
_DEATH: Final = re.compile(r"\b(?:dead|died|drowned|killed|murdered|deceased)\b", re.IGNORECASE)
_STIRS: Final = re.compile(
    r"\b(?:portrait|speaks?|appears|returns|asks|says|stands|walks|sits)\b", re.IGNORECASE
)


_INNOCENT: Final = re.compile(
    r"\b(?:innocent|guiltless|blameless|not guilty|(?:did not|didn't) do it"
    r"|ha[sd] nothing to do with it"
    r"|(?:wrongly|falsely) (?:accused|suspected)|false (?:trail|lead|suspect)|red herring)\b",
    re.IGNORECASE,
)
_TAKES_BLAME: Final = re.compile(
    r"\b(?:confess\w*|blame|owns? up|claims?|shield\w*)\b|\bnot (?:so )?innocent|\bseems",
    re.IGNORECASE,
)
_OWNS_UP: Final = re.compile(
    r"\bI(?:'ve| have|'d| did)? (?:kill|murder|poison|shot|stab|strangl|drown|st[oa]le|frame"
    r"|burn|forg(?:ed|e)"
    r"|betray|set)(?:n|ed|led|bed|d|t)? (?:him|her|them|it|the|that|my|your|his|[A-Z][a-z]+)\b"
)
_HAS_DONE_IT: Final = re.compile(r"\b(?:I did it|it was me|I confess)(?=[.!,;]|\Z)", re.IGNORECASE)
_CRIME: Final = re.compile(
    r"\b(?:confess\w*|murder\w*|kill\w*|guilt\w*|handcuffs|cuffs|arrest\w*)\b"
)


def find_confessions(text: str, guide: str) -> list[Break]:
    """People whom the guide calls innocent, and who own up in their own words."""
    known = people_of(guide)
    if not known.innocent:
        return []
    found: dict[str, Break] = {}
    for match in QUOTE.finditer(text):
        said = (match[1] or match[2] or "").replace("\u2019", "'")
        if not _OWNS_UP.search(said) and not (_HAS_DONE_IT.search(said) and _CRIME.search(text)):
            continue
        name = _speaker(text, match, known)
        if name in known.innocent:
            told = known.innocent[name].strip(" ,;:.-*|")
            found.setdefault(name, Break(name, told, match[0]))
    return list(found.values())


def _speaker(text: str, speech: re.Match[str], known: GuidePeople) -> str:
    """Who says something: whoever is said to right after it, or was named last before it."""
    after = _ATTRIBUTED.match(text, speech.end())
    if after and (said_by := _named(after[0], known)):
        return said_by[0]
    before = QUOTE.sub("", text[max(0, speech.start() - 240) : speech.start()])
    named = _named(before, known)
    if not named or _STRANGE.search(before[before.rfind(named[-1].split()[-1]) :]):
        return ""
    return named[-1]


_ATTRIBUTED: Final = re.compile(
    rf"\s{{0,3}}(?:(?:{'|'.join(sorted(SPEECH))}) (?:the )?(?:[A-Z][\w'-]{{1,40}} ?){{1,6}}"
    rf"|(?:[A-Z][\w'-]{{1,40}} ){{1,3}}(?:{'|'.join(sorted(SPEECH))})\b)"
)


def _named(text: str, known: GuidePeople) -> list[str]:
    return [
        known.names[word.lower()]
        for match in NAME.finditer(text)
        for word in match[0].split()
        if word.lower() in known.names
    ]


def _clauses(names: dict[str, str]) -> re.Pattern[str] | None:
    if not names:
        return None
    written = {form for word in names for form in (word.title(), word.upper())}
    titled = "|".join(sorted(re.escape(word) for word in names if word in _TITLES))
    known = "|".join(
        sorted((re.escape(word) for word in written), key=lambda one: (-len(one), one))
    )
    who = rf"(?:{known}|[Tt]he (?:{titled}))" if titled else rf"(?:{known})"
    return re.compile(
        rf"\b(?P<inverted>{'|'.join(sorted(SPEECH))}) (?:[A-Z][a-z]+ )?(?:the )?(?P<after>{who})\b"
        rf"|\b(?P<name>{who})(?:,[^,.!?\n]{{1,60}},)?"
        r" (?:(?:has|have|is|was|had|then|only|just|suddenly|all|[a-z]+ly) ){0,2}(?P<verb>[a-z]+)\b"
    )


def deeds(text: str, known: GuidePeople) -> Iterator[Deed]:
    """What people of the guide do in an output."""
    if known.clause is None:
        return
    quotes: list[str] = []

    def keep(match: re.Match[str]) -> str:
        quotes.append(match[1] or match[2] or "")
        return f" _{len(quotes) - 1}_ "

    plain = QUOTE.sub(keep, text)
    last: list[str] = []
    for sentence in _spoken_sentences(plain):
        speech = " ".join(quotes[int(number)] for number in re.findall(r"_(\d{1,4})_", sentence))
        told = re.sub(r" ?_\d{1,4}_ ?", " ", sentence).strip()
        words, present = frozenset(words_of(told)), []
        for match in known.clause.finditer(told):
            person = known.names.get((match["name"] or match["after"]).split()[-1].lower())
            if person:
                present.append(person)
                own = speech if _is_said_by(told, match, sentence) else ""
                at = match.start("inverted") if match["inverted"] else match.start("verb")
                for verb, place in _verbs(told, at, alone=bool(match["inverted"])):
                    yield Deed(person, verb, told, words, _around(told, place), own)
        opening = _OPENING_PRONOUN.match(told)
        if opening and len(last) == 1:
            present = present or last
            for verb, place in _verbs(told, opening.start("verb"), alone=False):
                own = speech if verb in SPEECH else ""
                yield Deed(last[0], verb, told, words, _around(told, place), own)
        present = present or [
            known.names[word.lower()]
            for match in NAME.finditer(told)
            for word in match[0].split()
            if word.lower() in known.names
        ]
        last = list(dict.fromkeys(present)) or ([] if _STRANGE.search(told) else last)


def _is_said_by(told: str, match: re.Match[str], sentence: str) -> bool:
    """Whether what is said in a sentence is said by whom a clause is about."""
    if match["inverted"] or match["verb"] in SPEECH:
        return True
    return match.start() < 12 and _LASTQUOTED.search(sentence) is not None


_LASTQUOTED: Final = re.compile(r"_\d{1,4}_\s*\Z")
_OPENING_PRONOUN: Final = re.compile(
    r"^\W*(?:Then )?(?:[Hh]e|[Ss]he) (?:[a-z]+ly )?(?:(?:is"
    r"|was) (?=[a-z]+ing\b))?(?P<verb>[a-z]+)\b"
)
_STRANGE: Final = re.compile(
    r"\b(?:man|woman|boy|girl|somebody|someone|voice|stranger|child|lady|gentleman|fellow|maid|servant"
    r"|cook|clerk|porter|driver|guard|soldier|sailor|nurse|doctor|priest|waiter|waitress|butler|officer"
    r"|policeman|secretary|neighbou?r|landlord|landlady|wife|husband|mother|father|sister|brother|son"
    r"|daughter|captain|king|queen|groom|keeper)\b"
)
_FURTHER: Final = re.compile(
    r"(?:,| and|, and|;) (?:then )?(?P<verb>[a-z]{2,}(?:s|ed)|shot|tore|drew|took|ran|swung|hit"
    r"|struck|threw|ate|drank|sang|spoke|wrote|read|fled|leapt|slew|swore|swam|slept|wept|bit)\b"
)


def _verbs(told: str, at: int, *, alone: bool) -> Iterator[tuple[str, int]]:
    """The verb at a place of a sentence, and those that go on from it (``sits down and bets``)."""
    first = re.compile(r"[a-z]+").match(told, at)
    if first is None:
        return
    yield first[0], at
    for match in () if alone else _FURTHER.finditer(told, at):
        yield match["verb"], match.start("verb")


def _around(told: str, at: int) -> frozenset[str]:
    """The two words before a place and the three after it."""
    before, after = words_of(told[max(0, at - 40) : at])[-2:], words_of(told[at : at + 60])[1:4]
    return frozenset([*before, *after])


def _spoken_sentences(plain: str) -> list[str]:
    """Sentences, with quotations that stand by themselves joined to who speaks before or after."""
    found: list[str] = []
    for piece in SENTENCE.findall(plain):
        if found and not re.search(r"[A-Za-z]", re.sub(r"_\d{1,4}_", "", piece)):
            found[-1] += piece
        else:
            found.append(piece)
    return found


def find_breaks(text: str, guide: str, done: Sequence[str] = ()) -> list[Break]:
    """People who act against what the guide tells of them; ``done`` were reported before."""
    known = people_of(guide)
    if not known.traits:
        return []
    found: dict[str, Break] = {}
    for deed in deeds(text, known):
        if _UNUSUAL.search(deed.sentence) or UNREAL.search(deed.sentence) or deed.name in done:
            continue
        for trait in known.traits:
            same = trait.name == deed.name or same_person(trait.name, deed.name)
            if same and deed.name not in found and trait.breaks(deed):
                found[deed.name] = Break(deed.name, trait.told.strip(" ,;:.-*|"), deed.sentence)
    return list(found.values())
