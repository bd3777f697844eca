"""What the built-in agent can do in a session's folder, and nowhere else.

Every tool gives back text, also when it refuses: the model reads why, and goes on. What it writes
gets times that depend on the turn only, so that the same answers leave the very same folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from matrix.model.records import Tool, ToolCall

MOST_READ: Final = 64 * 1024
MOST_WRITTEN: Final = 1024 * 1024
MOST_LISTED: Final = 500
MOST_FOUND: Final = 100
_LONGEST_LINE: Final = 400
_DEEPEST: Final = 32


def _schema(**fields: str) -> dict[str, Any]:
    """An object of texts; a description that ends with ``?`` is of a field that may be absent."""
    return {
        "type": "object",
        "properties": {
            name: {"type": "string", "description": told.rstrip("?")}
            for name, told in fields.items()
        },
        "required": [name for name, told in fields.items() if not told.endswith("?")],
        "additionalProperties": False,
    }


_PATH: Final = "Path inside the folder, e.g. notes/plan.md."
TOOLS: Final[Mapping[str, Tool]] = {
    "read": Tool("read", "Read a text file.", _schema(path=_PATH)),
    "write": Tool(
        "write",
        "Write a text file; folders on the way are made, and a file that is there is replaced.",
        _schema(path=_PATH, text="All of its text."),
    ),
    "edit": Tool(
        "edit",
        "Replace a piece of a text file that occurs exactly once.",
        _schema(path=_PATH, old="The piece as it is.", new="What stands there afterwards."),
    ),
    "list": Tool("list", "List the files below a folder.", _schema(path="Folder; the whole?")),
    "search": Tool(
        "search",
        "Find the lines that contain a text, in all files.",
        _schema(text="What to look for, letter by letter."),
    ),
}


class ToolRefused(Exception):
    """A tool does not do this; the message says why."""


class FolderTools:
    """The tools of one turn."""

    def __init__(self, folder: Path, names: Iterable[str], turn: int) -> None:
        """Act in ``folder``, with the tools of these names, in turn number ``turn``."""
        self._root, self._stamp_ns = folder.resolve(), turn * 1_000_000_000
        self.tools = tuple(TOOLS[name] for name in names)
        self._acts: Mapping[str, Callable[..., str]] = {
            "read": self._read,
            "write": self._write,
            "edit": self._edit,
            "list": self._list,
            "search": self._search,
        }

    def use(self, call: ToolCall) -> str:
        """Do what a model asks for, and say what came of it."""
        tool = next((tool for tool in self.tools if tool.name == call.name), None)
        if tool is None:
            return f"Error: there is no tool {call.name!r}."
        try:
            return self._acts[tool.name](**_arguments(call, tool))
        except ToolRefused as refused:
            return f"Error: {refused}"
        except OSError as error:
            return f"Error: {error.strerror or error}"

    def _read(self, path: str) -> str:
        text = self._text(self._inside(path))
        if len(text) > MOST_READ:
            return f"{text[:MOST_READ]}\n[cut here: the file has {len(text)} characters]"
        return text

    def _write(self, path: str, text: str) -> str:
        data = text.encode(errors="replace")
        if len(data) > MOST_WRITTEN:
            raise ToolRefused(f"{len(data)} bytes; at most {MOST_WRITTEN} are written at once.")
        place = self._inside(path)
        if place == self._root or place.is_dir():
            raise ToolRefused(f"{path!r} is a folder.")
        if len(place.relative_to(self._root).parts) > _DEEPEST:
            raise ToolRefused("the path is too deep.")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        self._stamp(place)
        return f"Wrote {len(data)} bytes to {path}."

    def _edit(self, path: str, old: str, new: str) -> str:
        text = self._text(self._inside(path))
        count = text.count(old) if old else 0
        if count != 1:
            raise ToolRefused(f"the piece occurs {count} times in {path!r}; it must occur once.")
        self._write(path, text.replace(old, new))
        return f"Edited {path}."

    def _list(self, path: str = "") -> str:
        base = self._inside(path)
        if not base.is_dir():
            raise ToolRefused(f"{path!r} is no folder.")
        found = [str(file.relative_to(self._root)) for file in _files(base)]
        more = f"\n[and {len(found) - MOST_LISTED} more]" if len(found) > MOST_LISTED else ""
        return ("\n".join(found[:MOST_LISTED]) or "No files.") + more

    def _search(self, text: str) -> str:
        if not text:
            raise ToolRefused("an empty text is everywhere.")
        found = list(self._lines_with(text))
        more = "\n[and more]" if len(found) > MOST_FOUND else ""
        return ("\n".join(found[:MOST_FOUND]) or "Not found.") + more

    def _lines_with(self, text: str) -> Iterator[str]:
        count = 0
        for file in _files(self._root):
            if file.stat().st_size > MOST_WRITTEN:
                continue
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                if text in line:
                    yield f"{file.relative_to(self._root)}:{number}: {line[:_LONGEST_LINE]}"
                    count += 1
                    if count > MOST_FOUND:
                        return

    def _text(self, place: Path) -> str:
        if not place.is_file():
            raise ToolRefused(f"there is no file {str(place.relative_to(self._root))!r}.")
        if place.stat().st_size > MOST_WRITTEN:
            raise ToolRefused(f"the file has {place.stat().st_size} bytes, which is too large.")
        return place.read_bytes().decode(errors="replace")

    def _inside(self, path: str) -> Path:
        """The place of a path; through links it may lead anywhere, so it is followed first."""
        if "\0" in path:
            raise ToolRefused("a path holds no zero byte.")
        place = (self._root / path).resolve()
        if not place.is_relative_to(self._root):
            raise ToolRefused(f"{path!r} is outside the folder.")
        return place

    def _stamp(self, place: Path) -> None:
        for one in (place, *place.parents):
            os.utime(one, ns=(self._stamp_ns, self._stamp_ns))
            if one == self._root:
                return


def _files(base: Path) -> Iterator[Path]:
    """Plain files below a folder, in order; links are not followed."""
    for folder, names, files in os.walk(base):
        names.sort()
        for name in sorted(files):
            file = Path(folder, name)
            if not file.is_symlink() and file.is_file():
                yield file


def _arguments(call: ToolCall, tool: Tool) -> dict[str, str]:
    try:
        given = orjson.loads(call.arguments or "{}")
    except orjson.JSONDecodeError:
        raise ToolRefused("the arguments are no JSON object.") from None
    known, needed = tool.parameters["properties"], tool.parameters["required"]
    if not isinstance(given, dict) or not all(isinstance(text, str) for text in given.values()):
        raise ToolRefused("the arguments are no object of texts.")
    unknown, missing = given.keys() - known.keys(), set(needed) - given.keys()
    if unknown or missing:
        raise ToolRefused(f"arguments of {tool.name}: {', '.join(known)}.")
    return given
