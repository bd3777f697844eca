"""Cases: sets of values of parameters, each of which is a scenario of its own."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from matrix.model.documents.complaints import show_found
from matrix.model.documents.json_objects import FieldTwice, each_once
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.yaml_documents import parse_document
from matrix.model.errors import BadInput, Mistake
from matrix.model.files import MOST_TEXT_BYTES, read_plain
from matrix.model.lines import delimiter_of, is_plain_name
from matrix.model.records import JSON

NAME: Final = "name"
GROUPING: Final = ("title", "category", "tags")
"""What a case may have beside parameters: what reports call it, and group it by."""

MOST_CASES: Final = 10_000
_TEXTS: Final = (".txt", ".md")
_VALUES: Final = (".json", ".yaml", ".yml")
_KNOWN: Final = "a .csv, .json or .jsonl file, or a folder"


class ScenarioCase(NamedTuple):
    """One case: its name, its values, and where it is written."""

    name: str
    values: Mapping[str, JSON]
    source: str
    line: int | None = None


class _Read(NamedTuple):
    values: Any
    source: str
    line: int | None = None
    name: str = ""


def read_cases(
    cases: str | Sequence[Mapping[str, Any]], folder: Path, file: str
) -> list[ScenarioCase]:
    """The cases of a kind.

    Args:
        cases: They, or the name of the file or folder that has them.
        folder: Where the kind's own file is.
        file: What that is called, for mistakes.

    Raises:
        BadInput: All that is wrong with them.
    """
    mistakes = Mistakes()
    if isinstance(cases, str):
        read = list(_in_place(folder / cases, cases, mistakes))
    else:
        read = [_Read(one, f"{file}: cases[{number}]") for number, one in enumerate(cases)]
    if not read and not mistakes.found:
        mistakes.say(cases if isinstance(cases, str) else file, "has no cases; write at least one")
    if len(read) > MOST_CASES:
        mistakes.say(file, f"has {len(read):,} cases; at most {MOST_CASES:,}")
    width, found = len(str(len(read))), dict[str, ScenarioCase]()
    for number, one in enumerate(read, 1):
        if not isinstance(one.values, Mapping):
            told = f"{show_found(one.values)}; a case has a value for each name"
            mistakes.add([Mistake(one.source, one.line, "", told)])
            continue
        values = {str(key): value for key, value in one.values.items()}
        name = str(values.get(NAME) or one.name or f"case-{number:0{width}}")
        if not is_plain_name(name) or any(sign in name for sign in "*?["):
            told = f"found {name!r}; a case's name is one line without / * ? ["
            mistakes.add([Mistake(one.source, one.line, NAME, told)])
        elif name in found:
            told = f"{name!r} is the name of an earlier case; give it another"
            mistakes.add([Mistake(one.source, one.line, NAME, told)])
        else:
            found[name] = ScenarioCase(name, values, one.source, one.line)
    mistakes.stop_if_any()
    return list(found.values())


def _in_place(path: Path, source: str, mistakes: Mistakes) -> Iterator[_Read]:
    if path.is_dir():
        yield from _in_folder(path, source, mistakes)
        return
    ending = path.suffix.lower()
    if ending == ".csv":
        yield from _in_csv(_text(path, source), source, mistakes)
    elif ending == ".jsonl":
        for number, line in enumerate(_text(path, source).splitlines(), 1):
            found = mistakes.collect(partial(_row, line, source, number)) if line.strip() else None
            if found is not None:
                yield found
    elif ending == ".json":
        values = _json(_text(path, source), source)
        if not isinstance(values, list):
            raise BadInput([Mistake(source, None, "", "holds no list; write [{...}, {...}]")])
        yield from (_Read(one, f"{source}[{number}]") for number, one in enumerate(values))
    else:
        told = f"no such cases: {_KNOWN} beside the file that names them"
        raise BadInput([Mistake(source, None, "", told)])


def _in_csv(text: str, source: str, mistakes: Mistakes) -> Iterator[_Read]:
    """Rows of a table, separated as its first line is; an empty field is a value not given."""
    delimiter = delimiter_of(text.split("\n", 1)[0])
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        if wrong := [name for name in header if not name or header.count(name) > 1]:
            told = f"the first line names its columns; found {wrong[0]!r} empty or twice"
            raise BadInput([Mistake(source, 1, "", told)])
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                told = f"has {len(row)} fields, and the first line {len(header)} columns"
                mistakes.add([Mistake(source, reader.line_num, "", told)])
                continue
            values = {name: value for name, value in zip(header, row, strict=True) if value}
            yield _Read(values, source, reader.line_num)
    except csv.Error as error:
        raise BadInput([Mistake(source, reader.line_num, "", f"is no CSV: {error}")]) from None


def _in_folder(folder: Path, source: str, mistakes: Mistakes) -> Iterator[_Read]:
    """Each file of values is a case, and each folder, whose files are its values."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if (
            found := mistakes.collect(partial(_case_at, path, f"{source}/{path.name}"))
        ) is not None:
            yield found


def _case_at(path: Path, source: str) -> _Read:
    """The case that a file or folder is.

    Raises:
        BadInput: It is none; every mistake in it.
    """
    if path.is_dir():
        mistakes, values = Mistakes(), dict[str, JSON]()
        for one in sorted(path.iterdir()):
            if not one.name.startswith("."):
                values[one.stem] = mistakes.collect(partial(_value, one, f"{source}/{one.name}"))
        mistakes.stop_if_any()
        return _Read(values, source, None, path.name)
    if path.suffix.lower() in _VALUES:
        return _Read(_value(path, source), source, None, path.stem)
    known = f"a case is a folder, or a file ending in {' '.join(_VALUES)}"
    raise BadInput([Mistake(source, None, "", f"is no case; {known}")])


def _row(text: str, source: str, line: int) -> _Read:
    return _Read(_json(text, source, line), source, line)


def _value(path: Path, source: str) -> JSON:
    ending = path.suffix.lower()
    if ending in _TEXTS:
        return _text(path, source).rstrip("\n")
    if ending == ".json":
        return _json(_text(path, source), source)
    if ending in _VALUES:
        return parse_document(_text(path, source), source).value
    told = f"is no value; one is a file ending in {' '.join((*_TEXTS, *_VALUES))}"
    raise BadInput([Mistake(source, None, "", told)])


def _text(path: Path, source: str) -> str:
    try:
        return read_plain(path, MOST_TEXT_BYTES).decode("utf-8-sig")
    except OSError as error:
        told = f"cannot be read: {error.strerror}; cases are {_KNOWN}"
        raise BadInput([Mistake(source, None, "", told)]) from None
    except UnicodeDecodeError:
        raise BadInput([Mistake(source, None, "", "is not UTF-8 text; save it as UTF-8")]) from None


def _json(text: str, source: str, line: int | None = None) -> JSON:
    try:
        value = orjson.loads(text)
        # read again for the keys alone: the last of two would be taken without a word
        json.loads(text, object_pairs_hook=each_once)
    except orjson.JSONDecodeError as error:
        raise BadInput([Mistake(source, line, "", f"is no JSON: {error}")]) from None
    except RecursionError:
        raise BadInput([Mistake(source, line, "", "is nested too deep")]) from None
    except FieldTwice as twice:
        told = f"{twice.name!r} is there twice in one object; write it once"
        raise BadInput([Mistake(source, line, "", told)]) from None
    return value
