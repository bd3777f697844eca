"""Installed kinds, found by entry point; loading one costs what that kind imports.

Kinds are other people's code. What one lacks, or raises where it should say what is wrong with the
input, is told in one line with the place in its code, and nothing is started.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from pydantic import BaseModel

from matrix.kinds.protocol import (
    FileOption,
    FileRequest,
    Kind,
    KindFiles,
    ListedPart,
    ListsParts,
    PackLibrary,
    ReadFile,
    ReadsFiles,
    ReadsFolders,
    ScoresByOptions,
    TakesChanges,
    TakesOptions,
    UsesVariables,
)
from matrix.kinds.reporting import OwnsDocument
from matrix.kinds.text_files import real
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.overrides import VARIABLES
from matrix.model.errors import BadInput, KindUnusable, MatrixError, Mistake, did_you_mean
from matrix.model.moments.continuation import FilePart
from matrix.model.records import JSON
from matrix.model.spec.run_spec import RunSpec

T = TypeVar("T")


class ReadingKind(Kind, ReadsFiles, Protocol):
    """A kind with a file format of its own."""


_NEEDED = tuple(name for name in (*Kind.__annotations__, *vars(Kind)) if not name.startswith("_"))
"""What every kind has."""


def kinds() -> dict[str, EntryPoint]:
    """Installed kinds by name, each behind what loads it."""
    return {entry.name: entry for entry in _installed("matrix.kinds", tuple(sys.path))}


@lru_cache
def _installed(group: str, _path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Entry points of a group: each search reads a file of every installed package."""
    return tuple(entry_points(group=group))


class KindFile(NamedTuple):
    """A kind that is a file: ``support.py:support`` in parts, and what ``.py`` files are read by.

    ``name`` is empty where a file has only one kind.
    """

    file: str
    name: str
    entry: EntryPoint


def kind_file(name: str) -> KindFile | None:
    """The file that a kind's name stands for; ``None`` for the name of an installed kind."""
    file, colon, scenario = name.rpartition(":")
    if not colon or not (scenario.isidentifier() or not scenario):
        file, scenario = name, ""
    stem, _, ending = file.rpartition(".")
    if not stem or not ending:
        return None
    endings = _installed("matrix.kind_files", tuple(sys.path))
    entry = next((entry for entry in endings if entry.name == ending), None)
    return None if entry is None else KindFile(file, scenario, entry)


def load_kind(
    name: str, *, project: Path | None = None, kept: Mapping[str, JSON] | None = None
) -> Kind:
    """The kind of this name.

    Args:
        name: That of an installed kind, or a file: ``./support.py`` or ``support.py:support``.
        project: Folder that such a file is in; the working directory, if left out.
        kept: What a run has kept of such a kind; then the file is not looked at.

    Raises:
        KindUnusable: No such kind is installed, or it cannot be imported, or is no kind.
    """
    if (file := kind_file(name)) is not None:
        return _kind_of_file(file, project or Path.cwd(), kept)
    known = kinds()
    if name not in known:
        hint = did_you_mean(name, sorted(known))
        raise KindUnusable(f"found {name!r}; known: {', '.join(sorted(known))}{hint}")
    entry = known[name]
    try:
        kind: Any = entry.load()
    except Exception as error:
        raise KindUnusable(
            f"the kind {name!r} ({entry.value}) cannot be loaded: {defect_of(error)}"
        ) from error
    if lacking := [needed for needed in _NEEDED if not hasattr(kind, needed)]:
        raise KindUnusable(
            f"the kind {name!r} ({entry.value}) lacks {', '.join(lacking)}; "
            "matrix.kinds.protocol.Kind says what a kind has"
        )
    loaded: Kind = kind
    return loaded


def scoring_kind(
    name: str, options: Mapping[str, JSON], *, kept: Mapping[str, JSON] | None = None
) -> Kind:
    """The kind of this name, as it scores in a run with these options; ``kept`` as for it.

    Raises:
        KindUnusable: As :func:`load_kind`.
        BadInput: The options are none of its own.
    """
    kind = load_kind(name, kept=kept)
    return kind.scoring(options) if isinstance(kind, ScoresByOptions) else kind


def _kind_of_file(file: KindFile, project: Path, kept: Mapping[str, JSON] | None) -> Kind:
    try:
        files: KindFiles = file.entry.load()
        if kept is not None:
            return files.again(kept)
        inside = real(project / file.file)
        named = inside.relative_to(real(project)).as_posix()
    except ValueError:
        raise KindUnusable(
            f"{file.file} is not in {project}, so it cannot go with the run; put it there"
        ) from None
    except ImportError as error:
        told = f"kinds in files ({file.entry.value}) cannot be loaded: {defect_of(error)}"
        raise KindUnusable(told) from error
    return files.read(project, named, file.name)


def file_options() -> dict[str, list[tuple[str, FileOption]]]:
    """Flag -> (kind, option) of every installed kind that has an option of this name."""
    return _by_flag((kind.name, kind.file_options) for kind in _readers())


def change_options() -> dict[str, list[tuple[str, FileOption]]]:
    """The same of options that ``matrix replay`` takes."""
    return _by_flag((name, kind.change_options) for name, kind in _changing())


def changes_given(given: Mapping[str, str]) -> dict[str, JSON]:
    """Flag -> value of :func:`change_options`, as changes of what the first such kind calls so."""
    found: dict[str, JSON] = {}
    left = dict(given)
    for _, kind in _changing():
        own = [option.flag for option in kind.change_options if option.flag in left]
        found |= kind.changes_given({flag: left.pop(flag) for flag in own})
    return found


def _by_flag(
    options: Iterable[tuple[str, Iterable[FileOption]]],
) -> dict[str, list[tuple[str, FileOption]]]:
    found: dict[str, list[tuple[str, FileOption]]] = {}
    for name, own in options:
        for option in own:
            found.setdefault(option.flag, []).append((name, option))
    return found


def parts() -> list[str]:
    """What installed kinds have to list, each name once."""
    return list(dict.fromkeys(part for kind in _listing() for part in kind.parts))


def list_part(part: str, library: PackLibrary) -> list[ListedPart]:
    """All that there is of a part, of every installed kind that has one of this name.

    Raises:
        BadInput: There is no such part, or a file of it has mistakes.
    """
    having = [kind for kind in _listing() if part in kind.parts]
    if not having:
        known = parts()
        told = f"found {part!r}; can be {', '.join(['runs', *known])}{did_you_mean(part, known)}"
        raise BadInput([Mistake("matrix list", None, "", told)])
    return [one for kind in having for one in kind.list_part(part, library)]


def file_names() -> list[str]:
    """What files of installed kinds are called in a folder that has no run spec."""
    return list(dict.fromkeys(name for kind in _readers() for name in kind.file_names))


def claim_folder(folder: Path) -> tuple[str, Path] | None:
    """The kind of whose form a folder is, and the file that is read for it; ``None`` for none."""
    for kind in _readers():
        if isinstance(kind, ReadsFolders):
            find = partial(kind.file_of, folder)
            if (file := ask_kind(kind, "look at this folder", find, str(folder))) is not None:
                return kind.name, file
    return None


def read_by_kind(request: FileRequest, named: str = "") -> ReadFile | None:
    """A file that a kind reads itself: of its own form, or a run spec of a kind with options.

    Of the form of any installed kind, or of the one that the file names. ``None`` for other run
    specs.

    Args:
        request: The file.
        named: The kind that it is for, where that is known.

    Raises:
        BadInput: Every mistake in it.
    """
    document, value = request.document, request.document.value
    if named:
        reader = _reader(named)
        assert reader is not None, named  # it has claimed the file's folder
        return _read(reader, request)
    if isinstance(value, dict):
        # the one that is named alone, as loading every installed one takes a while
        own = _reader(value.get("kind", RunSpec.model_fields["kind"].default))
        rest = {key: part for key, part in value.items() if key != "kind"}
        for kind in filter(None, [own]) if "kind" in value else _readers():
            claims = partial(kind.claims, rest)
            if ask_kind(kind, "look at this file", claims, document.source):
                return _read(kind, request._replace(document=replace(document, value=rest)))
        if isinstance(own, TakesOptions):
            _refuse_others_options(request, own)
            take = partial(own.with_options, request)
            return ask_kind(own, "take these options", take, document.source)
    _refuse_others_options(request, None)
    return None


def _read(kind: ReadingKind, request: FileRequest) -> ReadFile:
    _refuse_others_options(request, kind)
    read = partial(kind.read_file, request)
    return ask_kind(kind, "read this file", read, request.document.source)


def _refuse_others_options(request: FileRequest, kind: ReadingKind | None) -> None:
    own = set() if kind is None else {option.flag for option in kind.file_options}
    refuse_options(request.given.keys() - own, request.document.source)


def refuse_options(flags: Collection[str], source: str) -> None:
    """An option that means nothing for a file is a mistake, not passed over.

    Args:
        flags: Options of kinds that were given, and are none of this file's.
        source: The file.

    Raises:
        BadInput: There are any.
    """
    mistakes, known = Mistakes(), file_options() if flags else {}
    for flag in sorted(flags):
        whose = " or ".join(name for name, _ in known.get(flag, ()))
        mistakes.say(flag, f"is an option of a {whose} file, and {source} is none")
    mistakes.stop_if_any()


def _changing() -> Iterator[tuple[str, TakesChanges]]:
    for name in kinds():
        kind = kind_if_usable(name)
        if isinstance(kind, TakesChanges):
            yield name, kind


def _listing() -> Iterator[ListsParts]:
    for name in kinds():
        kind = kind_if_usable(name)
        if isinstance(kind, ListsParts):
            yield kind


def _readers() -> Iterator[ReadingKind]:
    return filter(None, map(_reader, kinds()))


def _reader(name: object) -> ReadingKind | None:
    """The installed kind of this name, if it can be had and reads files."""
    if not isinstance(name, str) or name not in kinds():
        return None
    kind = kind_if_usable(name)  # what is wrong is told by whoever wants to play it
    return cast(ReadingKind, kind) if isinstance(kind, ReadsFiles) else None


def kind_if_usable(name: str, kept: Mapping[str, JSON] | None = None) -> Kind | None:
    """The kind of this name, or ``None`` where it cannot be had; see :func:`load_kind`."""
    try:
        return load_kind(name, kept=kept)
    except KindUnusable:
        return None


def document_of(name: str) -> type[BaseModel] | None:
    """The fields of a kind's own document in exported checkpoints, as reading them asks for."""
    kind = kind_if_usable(name)
    if kind is None:
        return None
    return kind.document_model if isinstance(kind, OwnsDocument) else FilePart


def known_variables() -> dict[str, str]:
    """Every ``MATRIX_*`` variable and what it sets, those of installed kinds among them."""
    found = dict(VARIABLES)
    for name in kinds():
        kind = kind_if_usable(name)  # what is wrong is told by whoever wants to play it
        if isinstance(kind, UsesVariables):
            found |= kind.variables
    return found


def ask_kind(kind: Kind, doing: str, call: Callable[[], T], source: str = "run spec") -> T:
    """What a call of a kind's own code gives, before anything starts.

    Args:
        kind: The kind.
        doing: What it was to do, e.g. ``"read the pack"``.
        call: The call.
        source: File that a defect is told of; ``run spec`` stands for the spec.

    Raises:
        BadInput: What the kind found wrong, or one line about a defect of its own.
    """
    try:
        return call()
    except MatrixError:
        raise
    except Exception as error:
        message = f"the {kind.name} kind cannot {doing}: {defect_of(error)}"
        path = "kind" if source == "run spec" else ""
        raise BadInput([Mistake(source, None, path, message)]) from error


def defect_of(error: Exception) -> str:
    """An exception in one line, with the place it was raised at."""
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, SyntaxError) and error.filename:
        return " ".join(f"{type(error).__name__}: {error}".split())
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<")
    ]
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return " ".join(f"{said}{place}".split())
