"""The places, devices and people of a guide, as a narrator can put them into sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from matrix.kinds.playtest.setup.guide import GuideItem, most_words
from matrix.providers.simulated.language.grammar import first_person, plain, sentences, unended

_GROUP = (
    r"(?:the (?:players|group|player characters|PCs)|players|PCs|the characters|one of the players)"
)
_GROUP_SUBJECT = re.compile(rf"\b{_GROUP} ([a-z]+)\b", re.IGNORECASE)
_GROUP_ANY = re.compile(rf"\b{_GROUP}\b('s)?", re.IGNORECASE)
_AUXILIARIES = {"is": "are", "was": "were", "has": "have", "does": "do"}
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
    ``wants`` in the third. ``most_words`` is how many they use at once if the guide says so, or 0.
    """

    name: str
    calls: tuple[str, ...]
    role: str
    manner: str
    want: str
    wants: str
    speaks: bool
    most_words: int


def addressed(text: str) -> str:
    """Text about "the players" or "the group" turned into text for them."""
    if not _GROUP_ANY.search(text):
        return text

    def subject(match: re.Match[str]) -> str:
        verb = match[1]
        opens = match.start() == 0 or text[match.start() - 2 : match.start()] in (". ", "? ", "! ")
        you = "You" if opens else "you"
        if verb.endswith("s") and not verb.endswith("ss"):
            verb = _AUXILIARIES.get(verb) or first_person(verb)
        return f"{you} {verb}"

    text = _GROUP_SUBJECT.sub(subject, text)
    text = _GROUP_ANY.sub(lambda match: "your" if match[1] else "you", text)
    if re.match(r"you\b", text, re.IGNORECASE):
        for theirs, yours in (("themselves", "yourselves"), ("their", "your"), ("they", "you")):
            text = re.sub(rf"\b{theirs}\b", yours, text)
    return text[:1].upper() + text[1:]


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
    return re.sub(r"^(?:The|A|An|the|a|an) ", "", plain(name).split(" (", 1)[0])


def _lowered(look: str, prose: str) -> str:
    """A description with a small first letter, unless its first word is a name."""
    first = look.split(" ", 1)[0].rstrip(",")
    low = first[:1].lower() + first[1:]
    named = re.search(rf"[a-z,] {re.escape(first)}\b", prose)
    if named and not re.search(rf"\b{re.escape(low)}\b", prose):
        return look
    return low + look[len(first) :]


def things_of(items: Sequence[GuideItem], prose: str) -> tuple[Thing, ...]:
    """A guide's places or devices."""
    return tuple(_thing(item, prose) for item in items)


def _thing(item: GuideItem, prose: str) -> Thing:
    looks = (_lowered(unended(addressed(line)), prose) for line in sentences(plain(item.detail)))
    found = tuple(look for look in looks if look)
    return Thing(_inside(item.name, prose), found, _stem(item.name))


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
_VERB_FIRST = re.compile(
    r"^(?:(?:he|she|they) )?(?:never|always|often|only|sometimes|[a-z]+[a-rt-z]s)\b(?! of the)"
    r"(?<!always )(?! (?:old|years))"
)
_NO_WANT = ("nothing", "it ", "no one to know")


def people_of(items: Sequence[GuideItem], prose: str) -> tuple[Person, ...]:
    """A guide's people. A surname that two of them share calls neither."""
    shared = Counter(word for item in items for word in set(plain(item.name).split()))
    return tuple(_person(item, prose, shared) for item in items)


def _person(item: GuideItem, prose: str, shared: Counter[str]) -> Person:
    name = plain(item.name).split(" (", 1)[0].split(", ", 1)[0]
    role, manner, wants = _described(item.detail, prose)
    want = wants
    for pattern, mine in _TO_FIRST:
        want = pattern.sub(mine, want)
    words = [word for word in _stem(name).split() if len(word) > 2]
    return Person(
        name=_inside(name, prose),
        calls=(_stem(name), *(word for word in words if shared[word] == 1)),
        role=role,
        manner=manner,
        want="" if want.startswith(_NO_WANT) else want,
        wants=wants,
        speaks=not (_ANIMAL.search(role) or _SPEECHLESS.search(item.detail)),
        most_words=most_words(item.detail) or 0,
    )


def _described(detail: str, prose: str) -> tuple[str, str, str]:
    """Role, manner and want, from clauses such as "the cook; hums; wants peace"."""
    role, manner, wants = "", "", ""
    for part in re.split(r"[;.]\s*", plain(detail)):
        low = _lowered(unended(part.strip()), prose) if part else ""
        if match := _WANT.match(low):
            wants = re.split(r", (?:which|and)|\band (?:dreads|does|fears|is)\b", match[1])[
                0
            ].strip()
        elif _VERB_FIRST.match(low):
            manner = manner or re.sub(r"^(?:he|she|they) ", "", low)
        else:
            role = role or low.split(",", 1)[0]
    return role, manner, wants
