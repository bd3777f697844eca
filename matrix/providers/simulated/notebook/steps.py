"""What the agent does next: look around, read, write, and say what it did."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import orjson

from matrix.model.records import Call, ChatMessage, ToolCall
from matrix.model.seeds import content_hash
from matrix.providers.simulated.notebook.items import folder_of, item_of, read_item
from matrix.providers.simulated.notebook.notebook import Notebook
from matrix.providers.simulated.notebook.rules import instructions_among, read_rules

_NEEDED: Final = frozenset(("list", "read", "write"))
_READS_AT_ONCE: Final = 100
_WRITTEN_AT_ONCE: Final = 8_000
"""Characters of files in one answer, which has to fit a model's longest."""
_KEPT: Final = ("hypotheses/", "decisions/", "people/", "personas/", "reviews/")


class NotebookStep(NamedTuple):
    """Tools to be called, or the last words."""

    calls: tuple[ToolCall, ...]
    text: str


class _Seen(NamedTuple):
    """What tools have given so far."""

    listed: list[str] | None
    read: dict[str, str]
    written: set[str]


def keeps_a_notebook(call: Call) -> bool:
    """Whether an agent with tools for files is asked to work on a notebook, or by a command."""
    if not call.params.tools:
        return False
    names = {str(tool["name"]) for tool in orjson.loads(call.params.tools)}
    asked = _asked(call.messages)
    return names >= _NEEDED and ("notebook in this folder" in asked or asked.startswith("/"))


def next_step(call: Call) -> NotebookStep:
    """What the agent does next; it depends on the request and what tools have given alone."""
    seen, asked = _seen(call.messages), _asked(call.messages)
    if seen.listed is None:
        return NotebookStep((_call(call, 0, "list", {}),), "")
    requested = [path for path in _needed(seen.listed, asked) if path not in seen.read]
    if requested:
        chosen = requested[:_READS_AT_ONCE]
        return NotebookStep(
            tuple(_call(call, n, "read", {"path": p}) for n, p in enumerate(chosen)), ""
        )
    book = _worked(seen, asked)
    left = {path: text for path, text in book.changed.items() if path not in seen.written}
    if left:
        return NotebookStep(tuple(_writes(call, left)), "")
    return NotebookStep((), "\n".join(book.did) or "There was nothing to change.")


def _worked(seen: _Seen, asked: str) -> Notebook:
    """The notebook with all of the request worked in."""
    instructions = instructions_among(seen.listed or ())
    files = {path: text for path, text in seen.read.items() if _is_kept(path)}
    book = Notebook(files, read_rules(seen.read.get(instructions, "")))
    folder, day = folder_of(asked)
    if folder:
        for path, text in sorted(seen.read.items()):
            if path.startswith(f"{folder}/"):
                book.work_in(read_item(path, text, day))
    elif asked.startswith("/"):
        found = re.search(r"\d{4}-\d{2}-\d{2}", asked)
        newest = max(re.findall(r"\d{4}-\d{2}-\d{2}", "\n".join(files.values())), default="")
        book.review(found[0] if found else newest or "undated")
    else:
        book.work_in(item_of(asked))
    return book


def _is_kept(path: str) -> bool:
    return path.startswith(_KEPT) or path == "INDEX.md"


def _needed(listed: Sequence[str], asked: str) -> list[str]:
    folder, _ = folder_of(asked)
    own = [path for path in listed if _is_kept(path) and path.endswith(".md")]
    new = [path for path in listed if folder and path.startswith(f"{folder}/")]
    instructions = instructions_among(listed)
    return [*([instructions] if instructions else []), *own, *new]


def _writes(call: Call, files: Mapping[str, str]) -> Iterable[ToolCall]:
    room = _WRITTEN_AT_ONCE
    for number, (path, text) in enumerate(files.items()):
        if number and len(text) > room:
            return
        room -= len(text)
        yield _call(call, number, "write", {"path": path, "text": text})


def _asked(messages: Sequence[ChatMessage]) -> str:
    return next((one.content for one in reversed(messages) if one.role == "user"), "")


def _seen(messages: Sequence[ChatMessage]) -> _Seen:
    asked = {call.id: call for message in messages for call in message.tool_calls}
    seen = _Seen(None, {}, set())
    for message in messages:
        call = asked.get(message.tool_call_id or "")
        if message.role != "tool" or call is None:
            continue
        path = str(orjson.loads(call.arguments or "{}").get("path", ""))
        if call.name == "list":
            listed = [line for line in message.content.splitlines() if line != "No files."]
            seen = seen._replace(listed=listed)
        elif call.name == "read":
            seen.read[path] = message.content
        elif call.name == "write":
            seen.written.add(path)
    return seen


def _call(call: Call, number: int, name: str, arguments: Mapping[str, str]) -> ToolCall:
    text = orjson.dumps(dict(arguments)).decode()
    made = content_hash([call.seed, number, name, text], length=24)
    return ToolCall(f"call_{made}", name, text)
