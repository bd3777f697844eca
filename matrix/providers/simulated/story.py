"""What a simulated narrator makes of a story guide: beats to tell and things to tell them with.

A guide is read once and kept (:func:`story_of`). Guides with lists give one beat per pulse; a
guide of plain prose is cut into beats of a paragraph or a few sentences each.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from matrix.kinds.playtest.guide import Guide, GuideItem, parse_guide
from matrix.providers.simulated.grammar import (
    clipped,
    ended,
    first_person,
    plain,
    sentences,
    unended,
)
from matrix.providers.simulated.phrasebook.narration import GENERIC_BEATS

_MARK_LENGTH = 44
_BEAT_WORDS = 85
_MOST_BEATS, _FEWEST_BEATS = 24, 6

_GROUP = (
    r"(?:the (?:players|group|player characters|PCs)|players|PCs|the characters|one of the players)"
)
_GROUP_SUBJECT = re.compile(rf"\b{_GROUP} ([a-z]+)\b", re.IGNORECASE)
_GROUP_ANY = re.compile(rf"\b{_GROUP}\b('s)?", re.IGNORECASE)
_AUXILIARIES = {"is": "are", "was": "were", "has": "have", "does": "do"}
_DIRECTION = re.compile(
    r"^(?:Let|Describe|Give|Make sure|Ask|Offer|Allow|Reveal|Use|Play|Keep|Remember|Introduce|Hint"
    r"|Remind|Do not|Don't|Avoid|Note|Optional|Narrator)\b"
)
_ANIMAL = re.compile(
    r"\b(?:dog|dachshund|hound|cat|goose|bird|crow|raven|horse|mule|bees?|fox|goat|parrot|snake)\b",
    re.IGNORECASE,
)
_SPEECHLESS = re.compile(r"\b(?:silent|mute|hisses|barks|says nothing|never speaks|dead)\b")


@dataclass(frozen=True, slots=True)
class Thing:
    """A place, device or person. ``name`` reads inside a sentence; ``looks`` describe it."""

    name: str
    looks: tuple[str, ...]
    stem: str


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody in the story, and the names that call them.

    ``role`` and ``manner`` read after a comma, ``want`` in the first person after "I want",
    ``wants`` in the third.
    """

    name: str
    calls: tuple[str, ...]
    role: str
    manner: str
    want: str
    wants: str
    speaks: bool


@dataclass(frozen=True, slots=True)
class Beat:
    """One pulse as it will be told. ``mark`` opens the telling and is how it is recognised.

    ``place``, ``people`` and ``devices`` are those it names; ``here`` is where the group is.
    """

    title: str
    mark: str
    telling: tuple[str, ...]
    choice: str
    place: Thing | None
    here: Thing | None
    people: tuple[Person, ...]
    devices: tuple[Thing, ...]

    @property
    def text(self) -> str:
        """The whole telling."""
        return " ".join(self.telling)


@dataclass(frozen=True, slots=True)
class Story:
    """Everything a narrator needs of one guide."""

    title: str
    premise: tuple[str, ...]
    beats: tuple[Beat, ...]
    places: tuple[Thing, ...]
    people: tuple[Person, ...]
    devices: tuple[Thing, ...]
    private: tuple[str, ...]
    ending: tuple[str, ...]
    text: str


def addressed(text: str) -> str:
    """Text about "the players" or "the group" turned into text for them."""
    if not _GROUP_ANY.search(text):
        return text

    def subject(match: re.Match[str]) -> str:
        verb = match[1]
        you = "You" if match.start() == 0 else "you"
        if verb.endswith("s") and not verb.endswith("ss"):
            verb = _AUXILIARIES.get(verb) or first_person(verb)
        return f"{you} {verb}"

    text = _GROUP_SUBJECT.sub(subject, text)
    text = _GROUP_ANY.sub(lambda match: "your" if match[1] else "you", text)
    if re.match(r"you\b", text, re.IGNORECASE):
        for theirs, yours in (("themselves", "yourselves"), ("their", "your"), ("they", "you")):
            text = re.sub(rf"\b{theirs}\b", yours, text)
    return text[:1].upper() + text[1:]


def _tellable(text: str) -> list[str]:
    """The sentences of ``text`` that can be told: addressed to the group, no stage directions."""
    told = sentences(plain(text))
    kept = [line for line in told if not _DIRECTION.match(line)] or told
    return [ended(addressed(line)) for line in kept]


def _inside(name: str, prose: str) -> str:
    """A name as it reads in mid-sentence, with its article."""
    name = plain(name).split(" (", 1)[0]
    lead, _, rest = name.partition(" ")
    if lead in ("The", "A", "An") and rest:
        lowered = f"{lead.lower()} {rest}"
        common = lowered.lower() in prose and f"{lead.lower()} {rest}" not in prose
        return lowered.lower() if common else lowered
    if f"the {name}" in prose:
        return f"the {name}"
    if f"the {name.lower()}" in prose:
        return f"the {name.lower()}"
    return name


def _stem(name: str) -> str:
    """A name without its article, by which a text is found to mention it."""
    return re.sub(r"^(?:The|A|An) ", "", plain(name).split(" (", 1)[0])


def _lowered(look: str, prose: str) -> str:
    """A description with a small first letter, unless its first word is a name."""
    first = look.split(" ", 1)[0].rstrip(",")
    low = first[:1].lower() + first[1:]
    named = re.search(rf"[a-z,] {re.escape(first)}\b", prose)
    if named and not re.search(rf"\b{re.escape(low)}\b", prose):
        return look
    return low + look[len(first) :]


def _thing(item: GuideItem, prose: str) -> Thing:
    looks = (_lowered(unended(addressed(line)), prose) for line in sentences(plain(item.detail)))
    return Thing(_inside(item.name, prose), tuple(look for look in looks if look), _stem(item.name))


_WANT = re.compile(r"^wants? (.+)$")
_TO_FIRST = (
    (re.compile(r"\b(?:he|she) is\b"), "I am"),
    (re.compile(r"\b(?:he|she) has\b"), "I have"),
    (re.compile(r"\b(?:he|she)\b"), "I"),
    (re.compile(r"\b(?:her|him)\b(?=$|[.,;]| (?:and|before|after|if|to|in|at|for|that)\b)"), "me"),
    (re.compile(r"\b(?:his|her)\b"), "my"),
    (re.compile(r"\b(?:himself|herself)\b"), "myself"),
    (re.compile(r"\bhim\b"), "me"),
)
_NO_WANT = ("nothing", "it ", "no one to know")


def _person(item: GuideItem, prose: str, surnames: Counter[str]) -> Person:
    name = plain(item.name).split(" (", 1)[0].split(", ", 1)[0]
    parts = [unended(part.strip()) for part in re.split(r"[;.]\s*", plain(item.detail)) if part]
    role, manner, want = "", "", ""
    for part in parts:
        low = _lowered(part, prose)
        if match := _WANT.match(low):
            want = re.split(r", (?:which|and)|\band (?:dreads|does|fears)\b", match[1])[0].strip()
        elif _VERB_FIRST.match(low):
            manner = manner or re.sub(r"^(?:he|she|they) ", "", low)
        else:
            role = role or low.split(",", 1)[0]
    wants = want
    for pattern, mine in _TO_FIRST:
        want = pattern.sub(mine, want)
    words = [word for word in _stem(name).split() if len(word) > 2]
    return Person(
        name=_inside(name, prose),
        calls=(_stem(name), *(word for word in words if surnames[word] == 1)),
        role=role,
        manner=manner,
        want="" if want.startswith(_NO_WANT) else want,
        wants=wants,
        speaks=not (_ANIMAL.search(role) or _SPEECHLESS.search(item.detail)),
    )


_VERB_FIRST = re.compile(
    r"^(?:(?:he|she|they) )?(?:never|always|often|only|sometimes|[a-z]+[a-rt-z]s)\b(?! of the)"
    r"(?<!always )(?! (?:old|years))"
)

_CHOICES = (
    re.compile(r"\bwhether to ([^.;]+?),? or (?:to )?([^.;:]+)[.;]"),
    re.compile(r"\b[Yy]ou (?:may|can|could|must) ([^.;]+?),? or ([^.;:]+)[.;]"),
    re.compile(r"\bto ([a-z]+ [^.,;]+?),? or to ([a-z]+ [^.,;]+)[.,;]"),
)
_BARE = re.compile(r"^(?:[a-z]+(?:ed|ing|ly)|be|not|in|on|at|by|the|a|an|to|for|with)\b")


def _choice(text: str) -> str:
    """The choice that a pulse puts to the group, as a question, where it can be read off."""
    for pattern in _CHOICES:
        for match in pattern.finditer(text):
            first, second = match[1].strip(), match[2].strip()
            if _BARE.match(first) or _BARE.match(second) or len(first) + len(second) > 110:
                continue
            if " you " in f" {first} " and " you " in f" {second} ":
                continue
            return f"Do you {first}, or {second.split(', and ')[0]}?"
    return ""


def _prose_beats(markdown: str) -> list[GuideItem]:
    """Beats of a guide without a list of pulses: its paragraphs, or groups of sentences."""
    blocks = [
        " ".join(line.strip(" -*+>") for line in block.splitlines() if not line.startswith("#"))
        for block in re.split(r"\n\s*\n", markdown)
    ]
    paragraphs = [block.strip() for block in blocks if block.strip()]
    lines = [line for paragraph in paragraphs for line in sentences(plain(paragraph))]
    if _FEWEST_BEATS <= len(paragraphs) <= _MOST_BEATS:
        parts = paragraphs
    else:
        size = max(1, -(-len(lines) // _MOST_BEATS), 2 if len(lines) > 2 * _FEWEST_BEATS else 1)
        parts = [" ".join(lines[at : at + size]) for at in range(0, len(lines), size)]
    if len(parts) < _FEWEST_BEATS:
        parts += GENERIC_BEATS[len(parts) - _FEWEST_BEATS :]
    return [GuideItem(clipped(part, 6), part) for part in parts]


def _told(item: GuideItem) -> tuple[str, ...]:
    lines = _tellable(item.detail or item.name)
    kept: list[str] = []
    words = 0
    for line in lines:
        words += len(line.split())
        if kept and words > _BEAT_WORDS:
            break
        kept.append(line)
    return tuple(kept)


def _mark(telling: tuple[str, ...], taken: set[str]) -> str:
    text = " ".join(telling)
    length = _MARK_LENGTH
    while text[:length] in taken and length < len(text):
        length += 20
    taken.add(text[:length])
    return text[:length]


@lru_cache(maxsize=128)
def story_of(markdown: str) -> Story:
    """Read a guide for telling. Never fails; an empty guide gives a short generic story."""
    guide: Guide = parse_guide(markdown)
    prose = plain(markdown)
    places = tuple(_thing(item, prose) for item in guide.places)
    devices = tuple(_thing(item, prose) for item in guide.devices)
    words = Counter(word for item in guide.people for word in set(plain(item.name).split()))
    people = tuple(_person(item, prose, words) for item in guide.people)
    taken: set[str] = set()
    beats: list[Beat] = []
    here = places[0] if places else None
    for item in guide.pulses or tuple(_prose_beats(markdown)):
        telling = _told(item)
        text = " ".join(telling)
        place = next((one for one in places if one.stem in text), None)
        here = place or here
        beats.append(
            Beat(
                title=item.name,
                mark=_mark(telling, taken),
                telling=telling,
                choice=_choice(text),
                place=place,
                here=here,
                people=tuple(one for one in people if any(call in text for call in one.calls)),
                devices=tuple(one for one in devices if one.stem in text),
            )
        )
    return Story(
        title=guide.title,
        premise=tuple(_tellable(guide.premise)) if guide.pulses else beats[0].telling[:1],
        beats=tuple(beats),
        places=places,
        people=people,
        devices=devices,
        private=tuple(" ".join(_tellable(item.detail or item.name)) for item in guide.private),
        ending=tuple(_tellable(guide.ending)),
        text=prose,
    )
