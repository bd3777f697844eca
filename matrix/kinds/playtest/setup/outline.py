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
    + r")(?P<mark>[.):*]{1,3}|\s[-\u2013\u2014:]|\s{1,3}(?=[a-z]))[\s*:.-]{0,9}"
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
_MIDLINE: Final = re.compile(
    r"\b(?:(?:beats|pulses|scenes|plot)\W{0,3}:|(?:in (?:this|that|the following) order"
    r"|(?:this|the|that)"
    r" (?:sequence|order|course)|as follows|(?:the )?run of (?:the |this )?[a-z]{3,12}"
    r"|(?:the way|how)"
    r" (?:it|the \w{3,12}) (?:runs|goes|unfolds))\b\W{0,3}[:.])\W{0,5}"
    r"(?P<text>[^.!?\n]{20,})",
    re.IGNORECASE,
)
"""What announces beats in the middle of a line, up to the end of its sentence."""

_TAGGED: Final = re.compile(
    r"<(?P<tag>[a-z]{0,12}\d{0,2})(?: [^>\n]{0,40})?>(?P<text>[^<\n]{8,400})</"
)
_NO_BEATS: Final = (
    "p", "li", "item", "name", "person", "people", "who", "cast", "hero", "character", "place",
    "prop", "clue", "note",
)  # fmt: skip
"""Tags of a list that may be of anything."""

_IN_BRACKETS: Final = re.compile(r"\((?P<number>\d{1,2}|[ivx]{1,4}|[a-h])\)[\s:*]{1,3}")
_ROMAN: Final = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")
_FIELD: Final = re.compile(r"^[*_]{0,3}[\w' -]{2,24}[*_]{0,3}:[*_]{0,3}\s")
_NAMES_WHOM: Final = re.compile(
    r"\b(?:people|npcs?|cast|characters?|places?|locations?|settings?|objects?|props?|clues?|rules?"
    r"|tone|style|notes?|secrets?|motifs?|devices?|obstacles?|questions?)\b",
    re.IGNORECASE,
)
_MANY: Final = 4
"""Bullets in a row, without a word on what they are, from which on they are beats."""
_BETWEEN: Final = (
    re.compile(r"[;,.]? ?\(\d{1,2}\) ?"),
    re.compile(r" (?:->|\u2192|/|\u2013|\u2014|-|>|\|) "),
    re.compile(r" ?; ?"),
)
_COUNTED: Final = re.compile(r"(?:^|\s[/;|,]\s|[;,]\s)\W{0,3}\d{1,2}[.):]?\s(?=[a-zA-Z])")
_ARROW: Final = re.compile(r"^(?:\s{0,9}(?:->|\u2192|=>|>>)\s*|\s{1,9}>\s+)(?P<text>\S.*)$")
_BOLD: Final = re.compile(r"\*\*(?P<text>[^*\n]{3,60}\*\*[^*\n]{12,})")
_SENTENCE: Final = re.compile(r"[^.!?]+[.!?]*")


def loose_beats(markdown: str) -> list[str]:
    """Beats in order, as the texts of their lines; empty if nothing looks like a list of them."""
    lines = markdown.splitlines()
    for read in _READERS:
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
        if re.match(r"(?:(?:beat|pulse|scene|act|what happens)\b|#\W*\Z)", cells[0], re.IGNORECASE):
            inside = True
        elif inside and not set(line) <= set("|-: "):
            told = cells[1:] if cells[0].isdigit() and len(cells) > 1 else cells
            found.append(": ".join((told[0], " ".join(told[1:]))))
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


def _midline(lines: Sequence[str]) -> list[str]:
    """Clauses behind words that announce an order, in running text."""
    for match in filter(None, map(_MIDLINE.search, lines)):
        for between in _BETWEEN[1:]:
            parts = between.split(" ".join(match["text"].split()))
            told = [piece.strip(" .*") for piece in parts if len(piece.strip(" .*")) > _SHORTEST]
            if len(told) > FEWEST:
                return told
    return []


def _in_brackets(lines: Sequence[str]) -> list[str]:
    """Beats in running text, each behind its number, numeral or letter in brackets."""
    for line in lines:
        marks = list(_IN_BRACKETS.finditer(line))
        for count in (
            list(map(str, range(1, len(marks) + 1))),
            list(_ROMAN[: len(marks)]),
            list("abcdefgh"[: len(marks)]),
        ):
            if len(marks) >= FEWEST and [mark["number"] for mark in marks] == count:
                ends = [*(mark.start() for mark in marks[1:]), len(line)]
                return [
                    line[mark.end() : end].strip(" .*;,")
                    for mark, end in zip(marks, ends, strict=True)
                ]
    return []


def _tagged(lines: Sequence[str]) -> list[str]:
    """The longest list of lines in tags of one name, numbers in it left out."""
    lists: dict[str, list[str]] = {}
    for line in lines:
        match = _TAGGED.match(line.strip())
        if match and (name := match["tag"].rstrip("0123456789")) not in _NO_BEATS:
            lists.setdefault(name, []).append(re.sub(r"^\d{1,2}[:.)] ", "", match["text"]))
    return max(lists.values(), key=len, default=[])


def _bullets(lines: Sequence[str]) -> list[str]:
    """The longest run of bullets that nothing says to be of something else."""
    best: list[str] = []
    run: list[str] = []
    above = ""
    for line in [*lines, ""]:
        match = _BULLET.match(line)
        if match:
            run.append(match["text"])
            continue
        fields = sum(_FIELD.match(text) is not None for text in run)
        if len(run) >= _MANY and 2 * fields < len(run) and not _NAMES_WHOM.search(above):
            best = max(best, run, key=len)
        run = []
        if line.strip():
            above = line if len(line) < _LABEL else ""
    return best


_LABEL: Final = 60
"""Characters of a line below which it may be the label of what follows."""


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


_READERS: Final = (
    _numbered,
    _tabled,
    _under_a_label,
    _tagged,
    _arrows,
    _inline,
    _in_brackets,
    _midline,
    _in_prose,
    _bold,
    _bullets,
)
"""Shapes of a list of beats, the surest first."""
