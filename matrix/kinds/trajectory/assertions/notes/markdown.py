"""Reading markdown as people write it: sections, labels, tables, links.

Code, comments and front matter are no prose.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

HEADING = re.compile(r"^(#{1,6})\s++((?:[^\s#]++|[\s#]++(?=[^\s#]))*+)[\s#]*$")
FRONT = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
ITEM = re.compile(r"^[-*+]\s+(?:\[[ xX]\]\s+)?(.*)$|^\d+[.)]\s+(.*)$")
_BEGINS_ITEM = re.compile(r" {0,3}(?:[-*+]\s|\d{1,9}[.)]\s|\[\^)")
LABEL = re.compile(r"^(?:[-*+]\s+)?[*_]{0,3}([A-Za-z][^:*|]{0,60}?)[*_]{0,3}\s*:[*_]{0,3}\s*(.*)$")
_DASHED: Final = re.compile(
    r"^(\s*(?:>\s?)*(?:[-*+]\s+)?)(\*\*|__)([^*_|\n]{1,60})\2\s*[-\u2013\u2014]\s+(?=\S)"
)
"""A bold label, with a dash for its colon."""
_LED: Final = re.compile(
    r"^(\s*(?:>\s?)*(?:[-*+]\s+)?)(\*\*|__)"
    r"((?:(?:current|present|latest|we|to|(?:(?:this|it) )?(?:is |will |can |may )?(?:to )?be) )?"
    r"[^\s*_|:]{1,40}(?: back)?(?: (?:this|it|that))?"
    r"|[^*_|:\n]{1,50}\b(?:if|when|conditions?|criteri(?:on|a)|triggers?))"
    r"[.]?\2(?:[ \t]+|$)(?![:-])",
    re.IGNORECASE,
)
"""A bold label with nothing behind it: ``**Status** demoted``, ``**To be revisited** if fewer``."""
NEXT_LABEL: Final = re.compile(
    r"(?<=\S)[ \t]{0,4}[\u00b7\u2022;,/]?[ \t]{1,4}"
    r"(?=(?:\*\*|__)[A-Za-z][^*_|:\n]{0,60}(?::(?:\*\*|__)|(?:\*\*|__)[ \t]{0,4}:))"
)
"""Where another bold label begins in a line: ``**Confidence:** low, **Status:** active``."""
_BLOCK: Final = re.compile(r"[|>][+-]?\d?[+-]?")
BOLD_LINE = re.compile(r"(?P<marks>\*{2,3}|_{2,3})(?P<text>[^*_\n]+)(?P=marks):?")
"""A line that is bold as a whole, which people write for a heading."""
STRUCK: Final = re.compile(r"~~[^~\n]*~~")
"""What is struck out, which is not said."""
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_NO_PARAGRAPH = re.compile(r" {0,3}(?:#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s|\||>)| {4}|\t")
_FENCE = re.compile(r"^\s*(```|~~~)")
CACHED: Final = 4096
"""Texts of which it is remembered what they say: most files are the same turn after turn."""

_TRAILING = re.compile(r"(?<![\s.\u2013\u2014])[\s.\u2013\u2014]++$")
_MOST_INDENT: Final = 3
_TICKS = re.compile(r"`+")
_CODE_OR_COMMENT = re.compile(
    r"^[ \t]*(?P<fence>```|~~~)|`[^`\n]*`|(?P<comment><!--)", re.MULTILINE
)
_FENCE_ENDS = {mark: re.compile(rf"^[ \t]*{mark}", re.MULTILINE) for mark in ("```", "~~~")}
_LINK = re.compile(
    r"(?<!\\)\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(\s*+(<[^<>\n]*>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)"
    r"(?:\s++[\"'(][^)\n]*)?\s*+\)"
)
_BY_REFERENCE = re.compile(r"\[([^\[\]\n]{1,300})\](?:\[([^\[\]\n]{0,300})\])?(?![(:\[])")
_FOOTNOTE = re.compile(r"\[\^([^\[\]\n]{1,100})\](?!:)")
_NOTED = re.compile(r"^\s{0,3}\[\^([^\[\]\n]{1,100})\]:[ \t]*(.*)$", re.MULTILINE)
_DEFINED = re.compile(r"^\s{0,3}\[(?!\^)([^\]\n]+)\]:\s*(<[^<>\n]*>|\S+)", re.MULTILINE)
_WIKI = re.compile(r"\[\[([^\]|#\n]+)")
_PATHLIKE = re.compile(
    r"(?<![\w.-])[\w.-]{1,200}(?:/[\w .-]{1,100}){1,12}\.\w{1,8}|(?<![\w.-])[\w.-]+(?:/[\w.-]+)+"
)
_ADDRESS = re.compile(r"(?:\b[a-zA-Z][a-zA-Z0-9+.-]{0,30}:)?//[^\s<>\]|]+")
_SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]+:")
_NOTHING: Final = frozenset(
    [
        *("", "-", "--", "...", "?", "n/a", "na", "nil", "null", "~", "empty", "unknown"),
        *("tbd", "todo", "tba"),
        *("none", "none yet", "none so far", "nothing", "nothing yet"),
        *("to be determined", "to be decided", "to be filled", "no evidence", "no evidence yet"),
    ]
)


def lines_of(text: str) -> list[str]:
    """Lines of a note's prose: headings are marked, and every bold label begins a line."""
    return [part for line in with_marked_headings(prose(text)) for part in parts_of(line)]


def parts_of(line: str) -> list[str]:
    """A line as a line for each bold label in it, which all have a colon; of a table it is one."""
    (marked,) = with_marked_labels([line])
    marked = _LED.sub(r"\1\2\3\2: ", marked)
    return [marked] if marked.lstrip().startswith("|") else NEXT_LABEL.split(marked)


def front_matter(text: str) -> Iterator[tuple[str, str]]:
    """Keys of front matter with what they say, in one line: of blocks and lists every line."""
    front = FRONT.match(text)
    found: list[tuple[str, list[str]]] = []
    for line in front[1].split("\n") if front else ():
        key, colon, value = line.partition(":")
        if colon and line[:1].strip() and not line.startswith(("- ", "#")):
            found.append((key, [] if _BLOCK.fullmatch(value.strip()) else [_said(value)]))
        elif found:
            found[-1][1].append(line.strip().removeprefix("- "))
    for key, said in found:
        value = " ".join(one.strip().strip("\"'") for one in said if one.strip()).strip()
        yield key, value[1:-1].strip() if value[:1] + value[-1:] == "[]" else value


def _said(value: str) -> str:
    """A plain value without the comment behind it. Source: YAML 1.2.2, 6.6."""
    quoted = re.match(r"""\s*(?:"[^"]*"|'[^']*')""", value)
    at = quoted.end() if quoted else 0
    return value[:at] + re.sub(r"(?:\A|\s)#.*", "", value[at:])


def column_below(lines: Sequence[str], number: int, meant: Callable[[str], bool]) -> str | None:
    """What the newest row says below a head that is meant; ``None`` where there is no such head."""
    line = lines[number]
    heads = cells_of(line) if line.lstrip().startswith("|") else []
    at = next((place for place, head in enumerate(heads) if meant(head)), None)
    if at is None or not is_rule(cells_of("".join(lines[number + 1 : number + 2]))):
        return None
    found = ""
    for row in lines[number + 2 :]:
        cells = cells_of(row) if row.lstrip().startswith("|") else []
        if not cells:
            break
        found = cells[at].strip(" *_`") if at < len(cells) else found
    return found


def is_rule(cells: Sequence[str]) -> bool:
    """Whether it is the line between a table's head and its rows."""
    return any(cells) and all(re.fullmatch(r":?-+:?", cell) for cell in cells if cell)


@lru_cache(maxsize=CACHED)
def links_in(text: str) -> tuple[str, ...]:
    """Targets of relative markdown links, without fragments; none of code and comments."""
    if "](" not in text and "]:" not in text:
        return ()
    return tuple(_links("\n".join(map(_without_code, prose(text)))))


def _links(text: str) -> Iterator[str]:
    found = []
    for match in _LINK.finditer(text):
        label = text[match.start() + 1 : match.start(1)]  # a picture may stand in it
        inner = _LINK.finditer(label) if label.count("](") > 1 else ()
        found += [match[1], *(one[1] for one in inner)]
    if "]:" in text:
        found += [match[2] for match in _DEFINED.finditer(text)]
    targets = (one.strip().removeprefix("<").removesuffix(">") for one in found)
    for target in targets:
        path = target.partition("#")[0].partition("?")[0]
        if path and not _SCHEME.match(target) and not target.startswith("//"):
            yield unquote(path)


def _without_code(line: str) -> str:
    """A line without what stands in backticks: between as many as open it.

    Source: CommonMark 0.31, 6.1; here it ends with its line.
    """
    if "`" not in line:
        return line
    runs = [(one.start(), one.end()) for one in _TICKS.finditer(line)]
    closing: dict[int, int] = {}
    closed_by = [0] * len(runs)
    for place in reversed(range(len(runs))):
        start, end = runs[place]
        closed_by[place] = closing.get(end - start, 0)
        closing[end - start] = place
    said, at, place = "", 0, 0
    while place < len(runs):
        if closed := closed_by[place]:
            said += f"{line[at : runs[place][0]]} "
            at, place = runs[closed][1], closed
        place += 1
    return said + line[at:]


@lru_cache(maxsize=4 * CACHED)
def places_in(text: str) -> tuple[str, ...]:
    """Everything in a row that may be a path: links, wiki links, and plain paths; no addresses."""
    plain = _ADDRESS.sub(" ", text) if "//" in text else text
    wiki = _WIKI.findall(plain) if "[[" in plain else ()
    return (*_links(_without_code(text)), *wiki, *_PATHLIKE.findall(plain))


def referred_in(text: str, note: str) -> tuple[str, ...]:
    """Where links by reference (``[words][name]``, ``[name]``) and footnotes of a row lead.

    Source: CommonMark 0.31, 6.3; the first definition of a name counts, in any case.
    """
    if "[" not in text:
        return ()
    noted, defined = _definitions(note)
    notes = [place for name in _FOOTNOTE.findall(text) for place in places_in(noted.get(name, ""))]
    used = (other or words for words, other in _BY_REFERENCE.findall(_without_code(text)))
    found = (defined.get(_name_of(name), "") for name in used)
    targets = (unquote(one.partition("#")[0]) for one in found if one and not _SCHEME.match(one))
    return (*notes, *targets)


@lru_cache(maxsize=CACHED)
def _definitions(note: str) -> tuple[dict[str, str], dict[str, str]]:
    """Footnotes and link definitions of a note by name, read once for all its rows."""
    if "]:" not in note:
        return {}, {}
    said = "\n".join(prose(note))
    defined: dict[str, str] = {}
    for name, target in _DEFINED.findall(said):
        defined.setdefault(_name_of(name), target.strip().removeprefix("<").removesuffix(">"))
    return dict(_NOTED.findall(said)), defined


def _name_of(label: str) -> str:
    return " ".join(label.casefold().split())


def without_paths(text: str) -> str:
    """What a row says, without where its links lead, in small letters."""
    return " ".join(_PATHLIKE.sub(" ", _LINK.sub(" ", text)).casefold().split())


def target_of(link: str, path: str) -> str | None:
    """The path inside the folder that a link of a file leads to; ``None`` if it leads out."""
    parts = [] if link.startswith("/") else path.split("/")[:-1]
    for part in link.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def with_marked_labels(lines: Iterable[str]) -> Iterator[str]:
    """Lines in which a bold label with a dash has a colon: ``**Status** - demoted``."""
    return (_DASHED.sub(r"\1\2\3\2: ", line) for line in lines)


def with_marked_headings(lines: Iterable[str]) -> Iterator[str]:
    """Lines in which a heading that is underlined (``Title`` over ``---``) has its marks before it.

    Source: CommonMark 0.31, 4.3.
    """
    before: str | None = None
    for line in lines:
        depth = _UNDERLINE.fullmatch(line)
        if depth and before is not None and before.strip() and not _NO_PARAGRAPH.match(before):
            yield f"{'#' if depth[1][0] == '=' else '##'} {before.strip()}"
            before = None
            continue
        if before is not None:
            yield before
        before = line
    if before is not None:
        yield before


@lru_cache(maxsize=CACHED)
def prose(text: str) -> tuple[str, ...]:
    """Lines that are neither front matter nor code nor comments."""
    return tuple(_prose(text))


def _begins_line(text: str, at: int) -> bool:
    """Whether nothing but an indent of a paragraph stands before a place in its line."""
    before = text[max(0, at - _MOST_INDENT - 1) : at]
    indent = before.rpartition("\n")[2]
    return not indent.strip(" ") and len(indent) <= _MOST_INDENT


def _without_comments(text: str) -> str:
    """Text without comments, in one pass.

    What is code may have their marks. One that is never closed ends with the note if it begins a
    line, as it does where notes are shown, and is no comment elsewhere.
    """
    kept, copied, at, closes = list[str](), 0, 0, True
    while found := _CODE_OR_COMMENT.search(text, at):
        at = found.end()
        if found["fence"]:
            ends = _FENCE_ENDS[found["fence"]].search(text, at)
            at = ends.end() if ends else len(text)
        elif found["comment"]:
            begin, end = found.start(), text.find("-->", at) if closes else -1
            closes = end >= 0
            if closes or _begins_line(text, begin):
                kept.append(text[copied:begin])
                copied = at = end + 3 if closes else len(text)
    return "".join([*kept, text[copied:]])


def _prose(text: str) -> Iterator[str]:
    front = FRONT.match(text)
    text = text[front.end() if front else 0 :]
    if "<!--" in text:
        text = _without_comments(text)
    fenced, indented = "", _IndentedCode()
    for line in text.split("\n"):
        if mark := _FENCE.match(line):
            if not fenced:
                fenced = mark[1]
            elif fenced == mark[1]:
                fenced = ""
            continue
        if not fenced and not indented.has(line):
            yield line


class _IndentedCode:
    """Which lines are code by their indentation: four columns, no paragraph before, and no list.

    Source: CommonMark 0.31, 4.4. What is indented after an item of a list, or after a footnote, is
    taken for its continuation, however far.
    """

    def __init__(self) -> None:
        self._code = self._listed = False
        self._apart = True

    def has(self, line: str) -> bool:
        """Whether the next line is."""
        if not line or line.isspace():
            self._apart = True
            return False
        if line.startswith(("    ", "\t")):
            self._code = not self._listed and (self._apart or self._code)
        else:
            self._code = False
            if _BEGINS_ITEM.match(line):
                self._listed = True
            elif self._apart or HEADING.match(line):
                self._listed = False
        self._apart = False
        return self._code


def bare(text: str) -> str:
    """A name without marks, in small letters: ``**Evidence_For:**`` is ``evidence for``."""
    return re.sub(r"[\s_-]+", " ", text.strip(" *_`:#").casefold())


def is_nothing(text: str) -> bool:
    """Whether words say that there is nothing: ``(none yet)``, a dash."""
    low = text.strip(" *_`()[]<>|").casefold()
    bare = _TRAILING.sub("", low)
    return bare.strip("-\u2013\u2014 ") in _NOTHING or bare in _NOTHING


def cells_of(line: str) -> list[str]:
    """The cells of a row of a table."""
    inside = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inside)]
