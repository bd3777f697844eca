"""A simulated agent that writes the sections its prompt lists, as a model would that reads it.

A prompt that has lines like these is followed, whoever wrote it ::

    - `## Use cases`: three of them, numbered `UC-1`
    - `## Stories`: one line for each `CAP-*`, numbered `STORY-1`, with `implements:CAP-*`
    - `## Verdict`: one of `GO`, `PIVOT` or `NO-GO`

What a line does not ask for is not written, so a prompt that lost an instruction shows it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from matrix.model.records import ChatMessage
from matrix.providers.simulated.language.phrasebook.bank import pick
from matrix.providers.simulated.traits import Traits

_SECTION = re.compile(r"^[-*] `(#{1,4} [^`\n]+)`: *(.+)$", re.MULTILINE)
_EACH = re.compile(r"one line for each `([^`]+)`")
_MANY = re.compile(r"\b(two|three|four|five|six|\d+) of (?:them|those)\b")
_NUMBERED = re.compile(r"numbered `([^`]*?)(\d+)`")
_WITH = re.compile(r"(?:with|and) `([^`]+)`")
_ONE_OF = re.compile(r"one of ((?:`[^`]+`(?:, | or |, or )?)+)")
_FORM = re.compile(r'in the form "([^"]+)"')
_COPIES = re.compile(r"for each `[^`]+`")
_TICKED = re.compile(r"`([^`]+)`")
_BULLET = re.compile(r"^[-*] +(.+)$", re.MULTILINE)
_ID = re.compile(r"\b[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*-\d+\b")
_NUMBERS: Final = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_WORD = re.compile(r"[A-Za-z][A-Za-z-]{3,}")
_PLAIN: Final = frozenset(
    word
    for line in (
        "that this with from where which their they them have into about what when without input",
        "give gives each other some more than also only been were will would could should very",
    )
    for word in line.split()
)
_SENTENCES: Final = (
    "People who care about {a} lose time over {b} every week.",
    "It keeps {a} and {b} in one place, and nothing else.",
    "What exists handles {a}, but leaves {b} to the user.",
    "The first weeks show whether {a} matters more than {b}.",
    "Most of the work is in {a}; {b} can wait.",
    "Somebody who uses it daily thinks of {a} before {b}.",
)


_ITEMS: Final = (
    "see {a} and {b} on one page",
    "change {a} without losing {b}",
    "be told when {a} needs {b}",
    "find {a} by {b}",
    "share {a} with somebody who has {b}",
    "take back a change of {a} and keep {b}",
    "begin with {a} and add {b} later",
    "keep {a} apart from {b}",
)


class SectionRequest(NamedTuple):
    """A section that a prompt asks for: its heading with its marks, and what is to be in it."""

    heading: str
    brief: str


def wanted_sections(system: str) -> list[SectionRequest]:
    """The sections that a prompt lists; empty if it lists none."""
    return [SectionRequest(*found) for found in _SECTION.findall(system)]


def write_sections(messages: Sequence[ChatMessage], rng: random.Random, traits: Traits) -> str:
    """Every section that the system prompt lists, about what the user's message says."""
    said = messages[-1].content
    words = _topic(said)
    written: list[str] = []
    for section in wanted_sections(messages[0].content):
        told = "\n".join([said, *written])
        written.append(f"{section.heading}\n\n" + "\n".join(_body(section, told, words, rng)))
    return "\n\n".join(written) + "\n"


def _body(
    section: SectionRequest, said: str, words: Sequence[str], rng: random.Random
) -> Iterator[str]:
    brief = section.brief
    if choice := _ONE_OF.search(brief):
        yield pick(rng, tuple(_TICKED.findall(choice[1])))
        yield ""
        yield _sentence(words, rng)
        return
    items = _items(brief, said, words, rng)
    if items is None:
        yield _sentence(words, rng)
        yield _sentence(words, rng) + _asked_for(brief)
        return
    numbered, before = _NUMBERED.search(brief), ""
    for place, item in enumerate(items):
        own = found[0] if (found := _ID.match(_bare(item))) else ""
        label = f"{numbered[1]}{int(numbered[2]) + place}" if numbered else own
        more = _with(brief, item, before, words, rng)
        yield f"- {f'**{label}** ' * bool(label)}{_filled(brief, item, words, rng)}{more}"
        before = own


def _items(brief: str, said: str, words: Sequence[str], rng: random.Random) -> list[str] | None:
    """What there is to be a line for; ``None`` if it is no list."""
    if each := _EACH.search(brief):
        return items_of(each[1], said) or [_item(words, rng)]
    if many := _MANY.search(brief):
        number = _NUMBERS.get(many[1]) or int(many[1])
        return [_item(words, rng) for _ in range(min(number, 30))]
    return None


def items_of(what: str, text: str) -> list[str]:
    """Lines under a heading, or lines that begin with an id of a pattern such as ``CAP-*``."""
    if what.startswith("#"):
        return _BULLET.findall(section_of(text, what))
    pattern = id_pattern(what)
    lines = [line for line in _BULLET.findall(text) if pattern.match(_bare(line))]
    return list({_bare(line).split()[0]: _bare(line) for line in reversed(lines)}.values())[::-1]


def section_of(text: str, heading: str) -> str:
    """What stands under a heading, up to the next one of its level; empty if it is not there."""
    name = re.escape(heading.lstrip("# ").strip())
    found = re.search(rf"(?ims)^#{{1,4}} *{name}\b[^\n]*\n(.*?)(?=^#{{1,4}} |\Z)", text)
    return found[1] if found else ""


def id_pattern(text: str) -> re.Pattern[str]:
    """``CAP-F-*`` as a pattern of ids; a name that goes before it, with a colon, stays."""
    return re.compile(re.escape(text.strip()).replace(r"\*", r"[A-Za-z0-9][A-Za-z0-9-]*"))


def _bare(line: str) -> str:
    return line.replace("*", "").strip()


def _filled(brief: str, item: str, words: Sequence[str], rng: random.Random) -> str:
    """The words of a line: the form that is asked for, else what the item is about."""
    about = _ID.sub("", _bare(item)).split(" implements:")[0].strip(" .:")
    about = re.split(r" \[|; ", about)[0].strip(" .")
    if form := _FORM.search(brief):
        first = (words or ["thing"])[0]
        fills = iter((f"person who needs {first}", about[:1].lower() + about[1:]))
        return re.sub(r"<[^<>]+>", lambda _: next(fills, first), form[1]) + "."
    return (about or _item(words, rng)).rstrip(".") + "."


def _with(brief: str, item: str, before: str, words: Sequence[str], rng: random.Random) -> str:
    """What every line is to have beside its words; ``before`` is the id of the line before."""
    told = []
    for label in _WITH.findall(_NUMBERED.sub("", _COPIES.sub("", brief))):
        name, colon, pattern = label.partition(":")
        if colon and "*" in pattern:
            fits = id_pattern(pattern)
            mine = [one for one in _ID.findall(item) if fits.fullmatch(one)]
            refers = before if name == "after" else mine[0] if mine else ""
            told.append(f"{name}:{refers or 'nothing'}")
        elif " or " in label:
            told.append(pick(rng, tuple(part.strip() for part in label.split(" or "))))
        else:
            told.append(f"{label}: {_sentence(words, rng)[:-1].lower()}")
    return f" [{'; '.join(told)}]" if told else ""


def _asked_for(brief: str) -> str:
    """Words that the brief asks for, where it says with what."""
    asked = brief.partition("with ")[2]
    return f" This is about {asked.rstrip('.')}." if asked and "`" not in asked else ""


def _sentence(words: Sequence[str], rng: random.Random) -> str:
    some = rng.sample(list(words), 2) if len(words) > 1 else ["it", "the rest"]
    return pick(rng, _SENTENCES).format(a=some[0], b=some[1])


def _item(words: Sequence[str], rng: random.Random) -> str:
    some = rng.sample(list(words), 2) if len(words) > 1 else ["it", "the rest"]
    said = pick(rng, _ITEMS).format(a=some[0], b=some[1])
    return said[:1].upper() + said[1:]


def _topic(said: str) -> list[str]:
    """Words of the input that say what it is about."""
    text = section_of(said, "## Input") or said
    words = [word.lower() for word in _WORD.findall(text)]
    return list(dict.fromkeys(word for word in words if word not in _PLAIN))[:12]
