"""What a simulated narrator makes of a story guide: beats to tell and things to tell them with.

A guide is read once and kept (:func:`story_of`). Guides with lists give one beat per pulse; a
guide of plain prose is cut into beats of a paragraph or a few sentences each. Guides in tags or in
lists of lists are put under headings first (:mod:`.habits`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from matrix.kinds.playtest.setup.guide import Guide, GuideItem, parse_guide
from matrix.providers.simulated.language.grammar import (
    clipped,
    ended,
    plain,
    sentences,
)
from matrix.providers.simulated.language.phrasebook.narration import GENERIC_BEATS
from matrix.providers.simulated.story.habits import told_after, under_headings
from matrix.providers.simulated.story.people import (
    Person,
    Thing,
    addressed,
    people_of,
    things_of,
)

_MARK_LENGTH = 44
_BEAT_WORDS = 85
_MOST_BEATS, _FEWEST_BEATS = 24, 6

_DIRECTION = re.compile(
    r"^(?:Let|Describe|Give|Make sure|Ask|Offer|Allow|Reveal|Use|Play|Keep|Remember|Introduce|Hint"
    r"|Remind|Do not|Don't|Avoid|Note|Optional|Narrator)\b"
)


@dataclass(frozen=True, slots=True)
class Beat:
    """One pulse as it will be told. ``mark`` opens the telling and is how it is recognised.

    ``place``, ``people`` and ``devices`` are those it names; ``here`` is where the group is.
    """

    title: str
    mark: str
    narration: tuple[str, ...]
    choice: str
    place: Thing | None
    here: Thing | None
    people: tuple[Person, ...]
    devices: tuple[Thing, ...]

    @property
    def text(self) -> str:
        """The whole telling."""
        return " ".join(self.narration)


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


def _tellable(text: str) -> list[str]:
    """The sentences of ``text`` that can be told: addressed to the group, no stage directions."""
    told = sentences(plain(text))
    kept = [line for line in told if not _DIRECTION.match(line)] or told
    return [ended(addressed(line)) for line in kept]


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
    blocks, told = [], True
    for block in re.split(r"\n\s*\n", markdown):
        kept = []
        for line in block.splitlines():
            if line.startswith("#"):
                told = told_after(line.strip("#* "))
            elif told:
                kept.append(line.strip(" -*+>"))
        blocks.append(" ".join(kept))
    if not any(blocks):
        blocks = [line for line in markdown.splitlines() if not line.startswith("#")]
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


def _mark(text: str, taken: set[str]) -> str:
    """The opening of a telling, long enough to tell it from those that are taken."""
    length = _MARK_LENGTH
    while text[:length] in taken and length < len(text):
        length += 20
    taken.add(text[:length])
    return text[:length]


def _beats(
    items: Sequence[GuideItem],
    places: tuple[Thing, ...],
    people: tuple[Person, ...],
    devices: tuple[Thing, ...],
) -> tuple[Beat, ...]:
    taken: set[str] = set()
    beats: list[Beat] = []
    here = places[0] if places else None
    for item in items:
        narration = _told(item)
        text = " ".join(narration)
        place = next((one for one in places if one.stem in text), None)
        here = place or here
        beats.append(
            Beat(
                title=item.name,
                mark=_mark(text, taken),
                narration=narration,
                choice=_choice(text),
                place=place,
                here=here,
                people=tuple(one for one in people if any(call in text for call in one.calls)),
                devices=tuple(one for one in devices if one.stem in text),
            )
        )
    return tuple(beats)


@lru_cache(maxsize=128)
def story_of(markdown: str) -> Story:
    """Read a guide for telling. Never fails; an empty guide gives a short generic story."""
    markdown = under_headings(markdown)
    guide: Guide = parse_guide(markdown)
    prose = plain(markdown)
    places, devices = things_of(guide.places, prose), things_of(guide.devices, prose)
    people = people_of(guide.people, prose)
    beats = _beats(guide.pulses or _prose_beats(markdown), places, people, devices)
    return Story(
        title=guide.title,
        premise=tuple(_tellable(guide.premise)) if guide.pulses else beats[0].narration[:1],
        beats=beats,
        places=places,
        people=people,
        devices=devices,
        private=tuple(" ".join(_tellable(item.detail or item.name)) for item in guide.private),
        ending=tuple(_tellable(guide.ending)),
        text=prose,
    )
