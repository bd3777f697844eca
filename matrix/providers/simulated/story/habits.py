"""Guides in other people's habits, put under headings: tags in angle brackets, lists in lists.

What has headings already is left as it is. Nothing is lost that could be told: what belongs to no
known part stands before them all, as a premise does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_PARTS: Final = (
    ("Ending", ("ending", "finale", "how it ends", "how it can end", "how it closes", "the end")),
    ("Pulses", ("beat", "pulse", "scene", "plot", "act", "event", "what happens", "in order")),
    ("Private moments", ("secret", "aside", "private", "whisper")),
    ("People", ("npc", "people", "person", "character", "cast", "who", "figures")),
    ("Devices", ("prop", "object", "item", "clue", "device", "thing", "motif")),
    ("Places", ("place", "location", "setting", "where", "map", "site")),
    ("Tone", ("tone", "mood", "style", "atmosphere", "voice", "rules", "notes", "advice")),
    ("Premise", ("premise", "background", "intro", "summary", "situation", "start")),
)
_HEADING = re.compile(r"^#{1,6}\s+\S", re.MULTILINE)
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]{0,30})((?:\s[^<>]{0,200})?)>")
_NAMED = re.compile(r"""\b(?:name|title|id)\s?=\s?["']([^"'<>]{1,60})["']""")
_FEWEST_TAGS: Final = 4
_BULLET = re.compile(r"^(\s*)(?:[-*+\u2022]|\d{1,2}[.)])\s+(\S.*)$")
_DEEPER = re.compile(r"\A\s{2,}[-*+]\s+\S")
_FEWEST_PARTS: Final = 2
"""Bullets that are known parts; a single one may be a beat that is called so."""
_MOST_TITLE_WORDS: Final = 8


class _Node(NamedTuple):
    """A tag or bullet: what it is called, its own text, and what is inside of it."""

    name: str
    text: str
    inside: list[_Node]


def under_headings(markdown: str) -> str:
    """``markdown`` as a guide with headings and one list below each, if it has other habits."""
    if len(re.findall(r"</[A-Za-z]", markdown)) >= _FEWEST_TAGS:
        return "\n".join(_written(_tagged(markdown)))
    if _HEADING.search(markdown) is None:
        return "\n".join(_written(nodes)) if (nodes := _nested(markdown)) else markdown
    return "\n".join(_folded(markdown)) if _goes_deeper(markdown) else markdown


def _goes_deeper(markdown: str) -> bool:
    """Whether a bullet has bullets of its own below it."""
    below = False
    for line in markdown.splitlines():
        if below and _DEEPER.match(line):
            return True
        below = _BULLET.match(line) is not None if line.strip() else below
    return False


def told_after(heading: str) -> bool:
    """Whether what stands below such a heading is told as the story goes."""
    return part_of(heading) in ("", "Pulses", "Premise")


def part_of(name: str) -> str:
    """Which part of a guide goes by this name; empty if none does."""
    low = name.lower().replace("_", " ").replace("-", " ").strip(" :.")
    for part, words in _PARTS:
        if any(re.match(rf"(?:the |possible )?{word}s?\b", low) for word in words):
            return part
    return ""


def _tagged(markdown: str) -> list[_Node]:
    """The tree of the tags; one that is never closed ends where what is around it ends."""
    root = _Node("", "", [])
    open_nodes, at = [root], 0
    for match in _TAG.finditer(markdown):
        _text(open_nodes[-1], markdown[at : match.start()])
        at = match.end()
        closes, name = bool(match[1]), match[2].lower()
        if not closes:
            called = _NAMED.search(match[3])
            node = _Node(name, called[1] if called else "", [])
            open_nodes[-1].inside.append(node)
            if not match[3].endswith("/"):
                open_nodes.append(node)
        elif any(node.name == name for node in open_nodes[1:]):
            while open_nodes.pop().name != name:
                pass
    _text(open_nodes[-1], markdown[at:])
    found = root.inside
    while len(found) == 1 and not part_of(found[0].name) and found[0].inside:
        found = found[0].inside
    return found


def _text(node: _Node, text: str) -> None:
    if told := " ".join(text.split()):
        node.inside.append(_Node("", told, []))


def _nested(markdown: str) -> list[_Node]:
    """The tree of a list, if two of its first bullets are known parts; else nothing."""
    root = _tree(markdown.splitlines())
    known = [node for node in root.inside if node.inside and part_of(node.text)]
    if len(known) < _FEWEST_PARTS:
        return []
    return [
        _Node(node.text, "", node.inside) if part_of(node.text) and node.inside else node
        for node in root.inside
    ]


def _folded(markdown: str) -> Iterator[str]:
    """A guide with headings whose lists have no lists inside: these are told with their entry."""
    gathered: list[str] = []
    for line in [*markdown.splitlines(), ""]:
        if _BULLET.match(line) or (gathered and line[:1].isspace() and line.strip()):
            gathered.append(line)
            continue
        yield from (_item(node) for node in _tree(gathered).inside)
        gathered = []
        yield line


def _tree(lines: Sequence[str]) -> _Node:
    """Bullets with what is deeper than they inside of them, and other lines where they stand."""
    root = _Node("", "", [])
    open_nodes: list[tuple[int, _Node]] = [(-1, root)]
    for line in lines:
        if match := _BULLET.match(line):
            depth = len(match[1].expandtabs(4))
            while open_nodes[-1][0] >= depth:
                open_nodes.pop()
            node = _Node("", match[2].strip(), [])
            open_nodes[-1][1].inside.append(node)
            open_nodes.append((depth, node))
        elif line.strip():
            inside = line[:1].isspace() and len(open_nodes) > 1
            _text(open_nodes[-1][1] if inside else root, line)
    return root


def _written(nodes: list[_Node]) -> Iterator[str]:
    """The guide with headings: title and premise first, then the parts as they come."""
    title = next((node for node in nodes if node.name == "title"), None)
    loose = [node for node in nodes if node is not title and not part_of(node.name)]
    if title:
        yield f"# {_all_of(title)}\n"
    elif loose and not loose[0].inside and len(loose[0].text.split()) <= _MOST_TITLE_WORDS:
        yield f"# {loose.pop(0).text}\n"
    premise = [node for node in nodes if part_of(node.name) == "Premise"]
    yield from (f"{_ended(_all_of(node))}" for node in premise or loose)
    for node in nodes:
        part = part_of(node.name)
        if not part or part == "Premise":
            continue
        yield f"\n## {part}\n"
        if part in ("Tone", "Ending"):
            yield _all_of(node)
        else:
            yield from (_item(one) for one in node.inside)


def _item(node: _Node) -> str:
    """A line of a list: its name in bold, if it has one, and all that is told of it."""
    name, rest = node.text, [_all_of(one) for one in node.inside]
    if not rest:
        name, mark, after = node.text.partition(": ")
        if not mark or len(name.split()) > _MOST_TITLE_WORDS:
            name, mark, after = node.text.partition(" - ")
        if not mark or len(name.split()) > _MOST_TITLE_WORDS:
            return f"- {node.text}"
        rest = [after]
    if not name:
        whole = _Node("", " ".join(rest), [])
        return _item(whole)
    if len(name.split()) > _MOST_TITLE_WORDS:
        return f"- {' '.join(_ended(text) for text in (name, *rest))}"
    return f"- **{name.strip(' .:')}** \u2014 {' '.join(_ended(text) for text in rest)}"


def _all_of(node: _Node) -> str:
    texts = ([node.text] if node.text else []) + [_all_of(one) for one in node.inside]
    return " ".join(_ended(text) if len(texts) > 1 else text for text in texts if text)


def _ended(text: str) -> str:
    text = text.strip()
    text = text[:1].upper() + text[1:] if text.endswith((".", "!", "?")) else text
    return text if not text or text[-1] in ".!?:;\"'" else f"{text}."
