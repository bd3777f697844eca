"""What comes in: an item with its sender, its date, and the sentences that can matter."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from matrix.providers.simulated.notebook.wording import sentences, slug

_NAMED = re.compile(r"notebook in this folder: (.+?), ((?:\d{4}-\d{2}-\d{2})|item \d+ of \d+)\.\n")
_BULK = re.compile(r"all files in (\S+) \(.+?\), ((?:\d{4}-\d{2}-\d{2})|item \d+ of \d+)\.\n")
_FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_TURN = re.compile(r"^(?:turn[-_ ]?\d+[-_ ]?)?(?:\d{4}-\d{2}-\d{2}[-_ ]?)?", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_BELIEF: Final = re.compile(
    r"\b(?:[Ii]|[Ww]e|she|he|they|[A-Z][a-z]+)(?: \w+)? (?:thinks?|believes?|suspects?|bets?|"
    r"guess(?:es)?|assumes?|am sure|is sure|are sure)(?: that)? (.+)",
)
_HUNCH: Final = re.compile(r"\b(?:hunch|theory|hypothesis|idea) is(?: that)? (.+)", re.IGNORECASE)
_DECISION: Final = re.compile(r"\b(?:we|they)(?: have)? decided (?:to |that )?(.+)", re.IGNORECASE)
_BACK: Final = re.compile(
    r"\b(?:go back|take (?:it|that) back|reverse|undo|stop (?:it|again))\b", re.IGNORECASE
)
_HABIT: Final = re.compile(r"\b(?:usually|always|every (?:night|morning|evening|week|day))\b", re.I)


class NotebookItem(NamedTuple):
    """One item: where it comes from, and what it says."""

    name: str
    kind: str
    date: str
    text: str
    who: str
    role: str
    influence: str

    @property
    def slug(self) -> str:
        """Its name without number, date and ending."""
        return _TURN.sub("", self.name.rpartition("/")[2].rpartition(".")[0] or self.name)

    @property
    def said(self) -> list[str]:
        """Its sentences."""
        return sentences(self.text)

    @property
    def beliefs(self) -> list[str]:
        """What somebody holds to be true without saying how they know."""
        found = [hit[1] for one in self.said if (hit := _BELIEF.search(one) or _HUNCH.search(one))]
        return [one.rstrip(".!? ") for one in found if len(one.split()) > 3]

    @property
    def decision(self) -> str:
        """What was decided; empty if nothing was."""
        hit = next((hit for one in self.said if (hit := _DECISION.search(one))), None)
        return hit[1].rstrip(". ") if hit else ""

    @property
    def way_back(self) -> str:
        """When a decision is to be taken back, as the item says it."""
        return next((one for one in self.said if _BACK.search(one)), "")

    @property
    def habit(self) -> str:
        """What its sender usually does."""
        return next((one for one in self.said if _HABIT.search(one)), "")


def read_item(name: str, text: str, date: str = "") -> NotebookItem:
    """An item from its text; front matter says who sent it and when."""
    front = _FRONT.match(text)
    said: dict[str, str] = {}
    for line in front[1].splitlines() if front else ():
        key, colon, value = line.partition(":")
        if colon:
            said[key.strip().casefold()] = value.strip().strip("\"'")
    date = said.get("date") or date or next(iter(_DATE.findall(name)), "")
    bare = _TURN.sub("", name.rpartition("/")[2])
    kind = re.split(r"[-_. ]", bare)[0] or "note"
    who = said.get("from") or said.get("who", "")
    return NotebookItem(
        name, kind, date, text, who, said.get("role", ""), said.get("influence", "")
    )


def item_of(prompt: str) -> NotebookItem:
    """The one item of a request; the whole request where it does not say where the item begins."""
    if (found := _NAMED.search(prompt)) is None:
        return read_item("item", prompt)
    _, _, rest = prompt[found.end() :].partition("\n\n")
    date = found[2] if _DATE.fullmatch(found[2]) else ""
    return read_item(found[1], rest.strip() + "\n", date)


def folder_of(prompt: str) -> tuple[str, str]:
    """Folder and date of a request that brings many items; empty if it brings one."""
    found = _BULK.search(prompt)
    if found is None:
        return "", ""
    return found[1].rstrip("/"), found[2] if _DATE.fullmatch(found[2]) else ""


def file_slug(text: str) -> str:
    """A file's name for a belief or a decision."""
    return slug(text)
