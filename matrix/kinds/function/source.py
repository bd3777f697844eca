"""The code of a kind that is one file: read, and run from its text, wherever a session is played.

The text goes with the run and is run as it was when the run began: without the file, its folder,
or a place on the path of Python, and so without ``__file__`` and without modules beside it.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from matrix.kinds.function.declaring import Declared, declared_of
from matrix.model.errors import KindUnusable, did_you_mean
from matrix.model.files import read_plain
from matrix.model.seeds import content_hash

MOST_SOURCE: Final = 1_000_000
"""Bytes that such a file may have."""


_GIVE_NOTHING: Final = ("score", "say", "event", "end")
"""Methods of the context that a function may end with, as ``return ctx.end("failed")``."""


class Source(NamedTuple):
    """A file's name, as the run knows it, and its text."""

    file: str
    text: str


class Scenario(NamedTuple):
    """A function or class that is a kind, and what was declared of it."""

    name: str
    target: Any
    declared: Declared


def read_source(path: Path, file: str) -> Source:
    """The code in a file.

    Raises:
        KindUnusable: It cannot be read.
    """
    try:
        return Source(file, read_plain(path, MOST_SOURCE).decode("utf-8-sig"))
    except OSError as error:
        told = f"{path} cannot be read: {error.strerror}"
        raise KindUnusable(f"{told}; `matrix init --kind NAME` writes one that works") from None
    except UnicodeDecodeError:
        raise KindUnusable(f"{path} is not UTF-8 text; save it as UTF-8") from None


@lru_cache(maxsize=64)
def run_source(source: Source) -> ModuleType:
    """The module that the code makes, run once in each process.

    Raises:
        KindUnusable: It raises, or is no Python.
    """
    name = f"matrix_kind_{content_hash(list(source))[:16]}"
    shown = f"{name}/{Path(source.file).name}"  # a name of its own, by which its lines are found
    module = ModuleType(name)
    linecache.cache[shown] = (len(source.text), None, source.text.splitlines(True), shown)
    sys.modules[name] = module  # dataclasses and annotations look their module up there
    try:
        code = compile(source.text, shown, "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102 - of its user's own, or trusted by them
    except (Exception, SystemExit) as error:
        sys.modules.pop(name, None)
        raise KindUnusable(f"{source.file} cannot be loaded: {_told(error)}") from error
    return module


def scenarios_in(source: Source) -> dict[str, Scenario]:
    """All that a file declares to be a kind, by name.

    Raises:
        KindUnusable: There is nothing, or the file cannot be loaded.
    """
    module = run_source(source)
    found: dict[str, Scenario] = {}
    for key, value in vars(module).items():
        declared = declared_of(value)
        if declared is not None and getattr(value, "__module__", "") == module.__name__:
            found.setdefault(key, Scenario(key, value, declared))
    if not found:
        raise KindUnusable(
            f"{source.file} declares no scenario; write @matrix.scenario over an async function"
        )
    for name in found:
        lines = _lines_of(source, name)
        if len(lines) > 1:
            told = " and ".join(map(str, lines))
            raise KindUnusable(
                f"{source.file}: lines {told} each define {name!r}, of which Python keeps the last"
                "; give every scenario a name of its own"
            )
    return found


def scenario_in(source: Source, name: str) -> Scenario:
    """What a file declares to be a kind.

    Args:
        source: The file.
        name: The function or class; empty where there is only one.

    Raises:
        KindUnusable: There is none of this name, or several and no name.
    """
    found = scenarios_in(source)
    if name and name not in found:
        hint = did_you_mean(name, list(found))
        raise KindUnusable(
            f"{source.file} has no scenario {name!r}; it has: {', '.join(found)}{hint}"
        )
    if not name and len(found) > 1:
        which = f"{source.file}:{next(iter(found))}"
        raise KindUnusable(
            f"{source.file} has several scenarios ({', '.join(found)}); name one, as {which}"
        )
    return found[name] if name else next(iter(found.values()))


def scores_named_in(source: Source, scenario: str) -> tuple[str, ...]:
    """Scores that the code gives by a name that stands in it, as ``ctx.score("exact", ...)``.

    They are in the order of its lines, the scenario's own before those of what it calls. It is
    read, not run. What other scenarios of the file do is left out; names that are put together
    while it runs are in none of this.
    """
    own = _own_code(source, scenario)
    own.sort(key=lambda one: getattr(one, "name", "") != scenario)
    found: dict[str, None] = {}
    for one in own:
        calls = [node for node in ast.walk(one) if isinstance(node, ast.Call)]
        calls.sort(key=lambda call: (call.lineno, call.col_offset))
        found |= {name: None for call in calls if (name := _score_named(call)) is not None}
    return tuple(found)


def gives_a_number(source: Source, scenario: str) -> bool:
    """Whether a function gives anything back but ``None``, somewhere: its ``score``."""
    for one in _own_code(source, scenario):
        if isinstance(one, ast.AsyncFunctionDef) and one.name == scenario:
            return any(_gives(node) for node in _without_inner(one))
    return False


def may_score(source: Source, scenario: str) -> bool:
    """Whether anything in the code may give a score, whatever it is called."""
    return ".score" in source.text or gives_a_number(source, scenario)


def place_of(source: Source, scenario: str) -> str:
    """Where a function or class begins: the file's name, and the line where it can be found."""
    return ":".join([Path(source.file).name, *map(str, _lines_of(source, scenario)[-1:])])


def _lines_of(source: Source, scenario: str) -> list[int]:
    """Where the module itself defines a function or class of this name."""
    code = _own_code(source, scenario)
    return [one.lineno for one in code if getattr(one, "name", "") == scenario]


def _own_code(source: Source, scenario: str) -> list[ast.stmt]:
    """The statements of the file without its other scenarios; none if it cannot be read."""
    return [
        one
        for one in _statements(source)
        if not (_declares(one) and getattr(one, "name", "") != scenario)
    ]


@lru_cache(maxsize=64)
def _statements(source: Source) -> tuple[ast.stmt, ...]:
    try:
        return tuple(ast.parse(source.text).body)
    except (SyntaxError, ValueError, RecursionError):
        return ()  # whoever runs it says so


def _without_inner(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions inside it."""
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield node
            yield from _without_inner(node)


def _gives(node: ast.AST) -> bool:
    if not isinstance(node, ast.Return) or node.value is None:
        return False
    if isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        return node.value.func.attr not in _GIVE_NOTHING
    return not (isinstance(node.value, ast.Constant) and node.value.value is None)


def _declares(node: ast.stmt) -> bool:
    """Whether it is a function or class under ``@matrix.scenario``."""
    for one in getattr(node, "decorator_list", ()):
        called = one.func if isinstance(one, ast.Call) else one
        if "scenario" in (getattr(called, "attr", ""), getattr(called, "id", "")):
            return True
    return False


def _score_named(call: ast.Call) -> str | None:
    """The name of the score that a call like ``ctx.score("exact", ...)`` gives."""
    of = call.func
    if not (isinstance(of, ast.Attribute) and of.attr == "score"):
        return None
    if not isinstance(of.value, ast.Name):
        return None
    named = [*call.args[:1], *(one.value for one in call.keywords if one.arg == "name")]
    first = named[0] if named else None
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return first.value
    return None


def _told(error: BaseException) -> str:
    """An exception in one line, with the line of the file that it came from."""
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith("matrix_kind_"):
            line = trace.tb_lineno
        trace = trace.tb_next
    if isinstance(error, ModuleNotFoundError):
        said += " (a kind in one file finds installed packages only, nothing beside it)"
    where = f" (line {line})" if line and not isinstance(error, SyntaxError) else ""
    return " ".join(f"{said}{where}".split())
