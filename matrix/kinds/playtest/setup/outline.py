"""Beats and ending of a guide without headings for them: numbered lines, tables, tags, prose."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

FEWEST: Final = 3
"""Beats that make a list; fewer may be anything."""

_NUMBERED: Final = re.compile(
    r"^[\s>#*+-]{0,9}(?:(?:beat|pulse|scene|act|chapter|part|step)\s{1,3})?[(*]{0,3}"
    r"(?P<number>\d{1,2}|[a-h])(?P<mark>[.):*]{1,3}|\s[-\u2013\u2014:]|\s(?=[a-z]))[\s*:.-]{0,9}"
    r"(?P<text>\S.*)$",
    re.IGNORECASE,
)
_BEATS: Final = re.compile(
    r"^\W{0,6}(?:story |the )?(?:beats?|pulses?|scenes?|acts|what happens|the story goes|plot)\b"
    r"[^.!?|]{0,40}$",
    re.IGNORECASE,
)
_BULLET: Final = re.compile(r"^\s{0,9}[-*+\u2022]\s+(?P<text>\S.*)$")
_ROW: Final = re.compile(r"^\s{0,9}\|(?P<cells>.+)\|\s*$")
_IN_PROSE: Final = re.compile(
    r"^(?:(?:The|Our|This) (?:session|story|game|evening|tale) (?:opens|begins|starts)|It (?:opens"
    r"|begins|starts)|First(?:ly)?|Then|After (?:that|this)|Next|Later|From there|Meanwhile"
    r"|Finally|At last|Eventually|Second|Third|Last(?:ly)?)\b"
)
_ENDING: Final = re.compile(
    r"^\W{0,6}(?:<ending>\s*|(?:possible |the )?(?:endings?|finale|closing (?:picture|image|scene))"
    r"\W{0,4}[:.]\W{0,4}|how it (?:ends|closes)\W{0,6}|(?=(?:in the end|it (?:all )?ends|ends "
    r"(?:with|at|in|on|when)|the (?:story|session|game) (?:ends|closes))\b))(?P<text>.*)$",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r"[^.!?]+[.!?]*")


def loose_beats(markdown: str) -> list[str]:
    """Beats in order, as the texts of their lines; empty if nothing looks like a list of them."""
    lines = markdown.splitlines()
    for found in (_numbered(lines), _tabled(lines), _under_a_label(lines), _in_prose(lines)):
        if len(found) >= FEWEST:
            return found
    return []


def loose_ending(markdown: str) -> str:
    """How a guide says that it ends; empty if it does not."""
    lines = markdown.splitlines()
    for index, line in enumerate(lines):
        if match := _ENDING.match(line):
            told = match["text"].strip(" *#>")
            after = " ".join(line.strip() for line in lines[index + 1 : index + 3])
            return re.sub(r"</?\w{1,20}>?", " ", told or after).strip()
    return ""


def _numbered(lines: Sequence[str]) -> list[str]:
    """The longest run of lines that count up from one."""
    best: list[str] = []
    run: list[str] = []
    goes_on = False
    for line in lines:
        match = _NUMBERED.match(line)
        if match is None:
            goes_on = goes_on and bool(line.strip()) and line.lstrip()[0] not in "#<|*-"
            if goes_on:
                run[-1] += f" {line.strip()}"
            continue
        goes_on = True
        number = match["number"].lower()
        place = int(number) if number.isdigit() else ord(number) - ord("a") + 1
        if place == len(run) + 1:
            run.append(match["text"])
        elif place == 1:
            run = [match["text"]]
        else:
            goes_on = False
        if len(run) > len(best):
            best = run
    return best


def _tabled(lines: Sequence[str]) -> list[str]:
    """Rows of a table whose head says that they are beats."""
    found: list[str] = []
    inside = False
    for line in lines:
        match = _ROW.match(line)
        if match is None:
            inside = False
            continue
        cells = [cell.strip(" *") for cell in match["cells"].split("|")]
        if re.match(r"(?:beat|pulse|scene|act|#|what happens)\b", cells[0], re.IGNORECASE):
            inside = True
        elif inside and not set(line) <= set("|-: "):
            found.append(": ".join((cells[0], " ".join(cells[1:]))))
    return found


def _under_a_label(lines: Sequence[str]) -> list[str]:
    """Bullets, or plain lines, below a line that announces beats."""
    found: list[str] = []
    inside = False
    for line in lines:
        text = line.strip()
        if _BEATS.match(text):
            inside, found = True, found if len(found) >= FEWEST else []
        elif inside and (match := _BULLET.match(line)):
            found.append(match["text"])
        elif inside and text and not text.startswith("<"):
            inside = False
    return found


def _in_prose(lines: Sequence[str]) -> list[str]:
    """Sentences that say what comes first, then, and at last."""
    found: list[str] = []
    marked = 0
    for sentence in _SENTENCE.findall(" ".join(line.strip() for line in lines)):
        told = sentence.strip()
        if _IN_PROSE.match(told):
            found.append(told)
            marked += 1
    return found if marked >= FEWEST else []
