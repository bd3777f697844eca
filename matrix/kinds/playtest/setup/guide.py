"""Story guides: free markdown for the narrator, and the lists that can be read out of it.

A guide is whatever its author wrote. Where it has sections that look like pulses, places,
people, devices, private moments or an ending, they are read leniently into lists, for issue
detection (did the narrator leave the guide?) and for simulated narrators. A guide without such
sections is still a valid guide; its beats and ending are looked for in what else it has
(``outline``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from matrix.kinds.playtest.setup.outline import NUMBER_WORDS, loose_beats, loose_ending


@dataclass(frozen=True, slots=True)
class GuideItem:
    """A named entry of a guide: a pulse, place, person, device or private moment."""

    name: str
    detail: str


@dataclass(frozen=True, slots=True)
class Guide:
    """What could be read out of a story guide; every list may be empty."""

    title: str
    premise: str
    tone: str
    pulses: tuple[GuideItem, ...]
    places: tuple[GuideItem, ...]
    people: tuple[GuideItem, ...]
    devices: tuple[GuideItem, ...]
    private: tuple[GuideItem, ...]
    ending: str


_SECTIONS: dict[str, tuple[str, ...]] = {
    "pulses": ("pulse", "beat", "scene", "act", "plot"),
    "places": ("place", "location", "setting", "map"),
    "people": ("people", "npc", "character", "cast", "person"),
    "devices": ("device", "object", "motif", "clue", "item", "prop"),
    "private": ("private", "aside", "secret"),
    "ending": ("ending", "conclusion", "resolution", "finale"),
    "tone": ("tone", "atmosphere", "mood", "voice", "style"),
}

_HEADING = re.compile(r"^(#{1,6})\s++((?:[^\s#]++|[\s#]++(?=[^\s#]))++)[\s#]*$")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(.*)$")
_NAMED = re.compile(r"^\*\*(.+?)\*\*\s*[:.\u2014\u2013-]*\s*(.*)$")
_NUMBER = re.compile(r"^\d{1,3}[.)]\s")
_PLAIN_NAME = re.compile(r"^([^:\u2014\u2013]{2,60}?)\s*(?::|\u2014|\u2013| -)\s+(.*)$")

_AT_MOST = re.compile(
    rf"\b(?:(?:never|not|no)(?: \w{{1,12}}){{0,3}} more than|at most)"
    rf" (\d{{1,2}}|{'|'.join(NUMBER_WORDS)}) words?\b",
    re.IGNORECASE,
)


def most_words(detail: str) -> int | None:
    """How many words somebody uses at once, as ``never more than five words``; else ``None``."""
    if not (found := _AT_MOST.search(detail)):
        return None
    return int(found[1]) if found[1].isdigit() else NUMBER_WORDS.index(found[1].lower()) + 1


def _section_of(heading: str) -> str | None:
    words = re.findall(r"[a-z]+", heading.lower())
    for section, stems in _SECTIONS.items():
        if any(word.startswith(stem) for word in words for stem in stems):
            return section
    return None


def _item(text: str) -> GuideItem:
    for pattern in (_NAMED, _PLAIN_NAME):
        if match := pattern.match(text):
            return GuideItem(_NUMBER.sub("", match[1]).strip(" .:*"), match[2].strip())
    return GuideItem(" ".join(text.split()[:6]).strip(" .,;:*"), text.strip())


@lru_cache(maxsize=256)
def parse_guide(markdown: str) -> Guide:
    """Read a guide's lists out of its markdown. Never fails: unknown shapes give empty lists."""
    title = ""
    texts: dict[str, list[str]] = {"premise": [], "tone": [], "ending": []}
    items: dict[str, list[GuideItem]] = {name: [] for name in _SECTIONS}
    section = "premise"
    level_of_section = 1
    for line in markdown.splitlines():
        if heading := _HEADING.match(line):
            depth, name = len(heading[1]), heading[2].strip("* ")
            if not title and depth == 1:
                title = name
                continue
            if depth > level_of_section and section in items and _section_of(name) is None:
                items[section].append(GuideItem(_NUMBER.sub("", name), ""))
                continue
            section, level_of_section = _section_of(name) or "other", depth
        elif not line.strip():
            continue
        elif section in ("premise", "tone", "ending"):
            texts[section].append(line.strip())
        elif section in items:
            if entry := _ITEM.match(line):
                items[section].append(_item(entry[1]))
            elif items[section]:
                last = items[section][-1]
                items[section][-1] = GuideItem(last.name, f"{last.detail} {line.strip()}".strip())
    return Guide(
        title=title,
        premise=" ".join(texts["premise"]),
        tone=" ".join(texts["tone"]),
        pulses=tuple(items["pulses"]) or tuple(map(_item, loose_beats(markdown))),
        places=tuple(items["places"]),
        people=tuple(items["people"]),
        devices=tuple(items["devices"]),
        private=tuple(items["private"]),
        ending=" ".join(texts["ending"]) or loose_ending(markdown),
    )
