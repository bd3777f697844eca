"""Fixed inputs, as people keep them: a list, a list under one key, or a mapping by id."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from pydantic import ValidationError

from matrix.kinds.criteria.settings import TEXT_KEYS, InputEntry, Task
from matrix.kinds.protocol import PackLibrary
from matrix.kinds.text_files import read_text
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.yaml_documents import parse_document
from matrix.model.errors import BadInput, Mistake
from matrix.model.records import JSON

MAX_CHARS: Final = 200_000
"""Longest text of an input."""


def read_inputs(value: JSON, library: PackLibrary, source: str) -> list[Task]:
    """Inputs from the value itself, or from the file that it names.

    Raises:
        BadInput: Every mistake in them.
    """
    if isinstance(value, str):
        path = library.project_file(value)
        document = parse_document(read_text(path), path.name)
        value, source = document.value, path.name
    tasks, mistakes = [], Mistakes()
    for name, entry in _entries(value):
        if (task := mistakes.collect(partial(_task, name, entry, source))) is not None:
            tasks.append(task)
    if not tasks and not mistakes.found:
        mistakes.say(source, "has no input; give a list of them, each with id and text", "inputs")
    ids = [task.id for task in tasks]
    for name in dict.fromkeys(one for one in ids if ids.count(one) > 1):
        mistakes.say(source, f"the id {name!r} is given twice; every input has its own", "inputs")
    mistakes.stop_if_any()
    return tasks


def _entries(value: JSON) -> Iterator[tuple[str, JSON]]:
    """Id, if it is known, and entry."""
    if isinstance(value, dict):
        lists = [item for item in value.values() if isinstance(item, list)]
        if len(lists) == 1:
            value = lists[0]
        else:
            for name, entry in value.items():
                if isinstance(entry, dict | str) and name != "version":
                    yield name, entry
            return
    for number, entry in enumerate(value if isinstance(value, list) else [], 1):
        yield f"T{number}", entry


def _task(name: str, entry: JSON, source: str) -> Task:
    own = entry.get("id") if isinstance(entry, dict) else None
    where = f"inputs.{name if own is None else own}"
    if isinstance(entry, str):
        entry = {"text": entry}
    if not isinstance(entry, dict):
        told = "is no input; write a text, or a mapping with id, category and text"
        raise BadInput([Mistake(source, None, where, told)])
    found = {"id": name, **entry}
    found["id"] = str(found["id"])
    try:
        read = InputEntry.model_validate(found)
    except ValidationError as error:
        raise BadInput(
            Mistake(source, None, f"{where}.{'.'.join(map(str, one['loc']))}", one["msg"])
            for one in error.errors()
        ) from None
    key = next((key for key in TEXT_KEYS if isinstance(entry.get(key), str)), None)
    text = "" if key is None else entry[key].strip()
    if not text:
        told = f"has no text; it is looked for under {', '.join(TEXT_KEYS)}"
        raise BadInput([Mistake(source, None, where, told)])
    if len(text) > MAX_CHARS:
        told = f"has {len(text)} characters; at most {MAX_CHARS} are allowed"
        raise BadInput([Mistake(source, None, where, told)])
    return Task(id=read.id, category=read.category, text=text)
