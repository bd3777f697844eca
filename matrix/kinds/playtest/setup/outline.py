"""Beats and ending of a guide without headings for them: numbered lines, tables, tags, prose."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

FEWEST: Final = 3
"""Beats that make a list; fewer may be anything."""

_SHORTEST: Final = 4
"""Characters; less between two marks is no beat."""

NUMBER_WORDS: Final = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve",
)  # fmt: skip

_NUMBERED: Final = re.compile(
    r"^[\s>#*+-]{0,9}(?:(?:beat|pulse|scene|act|chapter|part|step)\s{1,3})?[(*]{0,3}"
    r"(?P<number>\d{1,2}|[a-h]|"
    + "|".join(NUMBER_WORDS)
    + r")(?P<mark>[.):*]{1,3}|\s[-\u2013\u2014:]|\s(?=[a-z]))[\s*:.-]{0,9}"
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
    r"^\W{0,6}(?:\d{1,2}[.)]\s{1,3})?(?:<(?:the[ _-])?end(?:ing)?>\s*"
    r"|(?:possible |the )?(?:endings?|finale|closing (?:picture|image|scene))\W{0,4}[:.]\W{0,4}"
    r"|(?:the )?end\W{0,3}:\W{0,4}|how it (?:ends|closes)\W{0,6}"
    r"|(?=(?:in the end|it (?:all )?ends|ends (?:with|at|in|on|when)"
    r"|the (?:story|session|game) (?:ends|closes))\b))(?P<text>.*)$",
    re.IGNORECASE,
)
_ENDS_SO: Final = re.compile(
    r"(?:^|[.;!?:]\s{1,3})(?P<text>(?:(?:It|Everything"
    r"|The (?:story|session|game|tale|evening)) (?:all )?(?:ends|closes|finishes)|Ends?)"
    r" (?:with|at|in|on|when|as)\b[^\n]*|End(?:ing)?: [^\n]*)",
    re.MULTILINE,
)
_INLINE: Final = re.compile(
    r"^\W{0,6}(?:story |the |clues )?(?:beats?|pulses?|scenes?|acts|plot|in order|clues in order)"
    r"\b[^:\n]{0,40}:\W{0,4}(?P<text>[^\n]{20,})$",
    re.IGNORECASE,
)
_BETWEEN: Final = (
    re.compile(r"[;,.]? ?\(\d{1,2}\) ?"),
    re.compile(r" (?:->|\u2192|/|\u2013|\u2014|-|>|\|) "),
    re.compile(r" ?; ?"),
)
_COUNTED: Final = re.compile(r"(?:^|\s[/;|,]\s|[;,]\s)\W{0,3}\d{1,2}[.):]?\s(?=[a-zA-Z])")
_ARROW: Final = re.compile(r"^\s{0,9}(?:->|\u2192|=>|>>)\s*(?P<text>\S.*)$")
_BOLD: Final = re.compile(r"\*\*(?P<text>[^*\n]{3,60}\*\*[^*\n]{12,})")
_SENTENCE: Final = re.compile(r"[^.!?]+[.!?]*")


def loose_beats(markdown: str) -> list[str]:
    """Beats in order, as the texts of their lines; empty if nothing looks like a list of them."""
    lines = markdown.splitlines()
    for read in (_numbered, _tabled, _under_a_label, _arrows, _inline, _in_prose, _bold):
        found = read(lines)
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
    found = list(_ENDS_SO.finditer(markdown))
    return found[-1]["text"].strip(" *") if found else ""


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
        place = _place(number)
        if place == len(run) + 1:
            run.append(match["text"])
        elif place == 1:
            run = [match["text"]]
        else:
            goes_on = False
        if len(run) > len(best):
            best = run
    return best


def _place(number: str) -> int:
    if number in NUMBER_WORDS:
        return NUMBER_WORDS.index(number) + 1
    return int(number) if number.isdigit() else ord(number) - ord("a") + 1


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


def _arrows(lines: Sequence[str]) -> list[str]:
    """Lines that begin with an arrow."""
    return [match["text"] for line in lines if (match := _ARROW.match(line))]


def _inline(lines: Sequence[str]) -> list[str]:
    """Beats in one line behind a label, with numbers, arrows, dashes or semicolons between them."""
    for line in lines:
        if len(counted := _COUNTED.split(line)) > FEWEST and not counted[0].strip():
            return [piece.strip(" .*/;,") for piece in counted[1:]]
        if match := _INLINE.match(line):
            for between in _BETWEEN:
                found = [
                    piece.strip(" .*") for piece in between.split(" ".join(match["text"].split()))
                ]
                if len(told := [piece for piece in found if len(piece) > _SHORTEST]) >= FEWEST:
                    return told
    return []


def _bold(lines: Sequence[str]) -> list[str]:
    """Bold titles with what happens, in running text."""
    for line in lines:
        found = [match["text"].replace("**", "") for match in _BOLD.finditer(line)]
        if len(found) >= FEWEST + 1:
            return found
    return []


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
