"""Finding a run spec on the disk, and reading it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from matrix.engine.prepare.registry import (
    KindFile,
    claim_folder,
    file_names,
    kind_file,
    read_by_kind,
    refuse_options,
)
from matrix.kinds.library import shipped_root
from matrix.kinds.protocol import FileRequest, ScenarioPack
from matrix.model.documents.overrides import VARIABLES, Override
from matrix.model.documents.yaml_documents import Document, overlay, parse_document
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.files import MOST_TEXT_BYTES, read_plain

SPEC_NAME = "matrix.yaml"
OTHER_NAME = "matrix.yml"
"""What people call it who are used to the other ending."""

RUNS = Path("scenarios") / "runs"
"""Where specs lie that are known by their names, in a project and among what ships."""

EXAMPLES: Final = "examples"
"""Where projects lie that ship with matrix."""

CONFIG: Final = "config"
"""Where else a project may have them."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class SpecFile(NamedTuple):
    """A file that says what to run.

    Attributes:
        path: The file.
        project: Folder whose packs and files it means.
        folder: The folder of a kind's own form that was named, for which this file stands.
        kind: The kind that claims that folder.
        code: Of a file that is a kind itself: its name as a kind of the project.
    """

    path: Path
    project: Path
    folder: Path | None = None
    kind: str = ""
    code: str = ""


def locate_spec(path: Path | None, here: Path) -> SpecFile:
    """The spec to use, as :func:`find_spec`, or the file that stands for a folder of a kind's form.

    Raises:
        BadInput: There is none.
    """
    if path is not None and (code := kind_file(str(path))) is not None:
        return _of_kind(code, here)
    claimed = None
    if path is not None and path.is_dir() and not _has_spec(path):
        claimed = claim_folder(path)
    if path is not None and claimed is not None:
        kind, file = claimed
        inside = path.resolve() in (file.resolve().parent, *file.resolve().parents)
        return SpecFile(file, here if inside else project_of(file, here), path, kind)
    found = find_spec(path, here)
    return SpecFile(found, project_of(found, here))


def _of_kind(file: KindFile, here: Path) -> SpecFile:
    """What stands for a run spec where only a file that is a kind was named."""
    path = find_spec(Path(file.file), here)
    project = project_of(path, here)
    inside = Path(os.path.realpath(path)).relative_to(os.path.realpath(project)).as_posix()
    return SpecFile(path, project, code=f"{inside}:{file.name}" if file.name else inside)


def _has_spec(folder: Path) -> bool:
    return any(os.path.lexists(folder / name) for name in (SPEC_NAME, *file_names()))


def find_spec(path: Path | None, folder: Path) -> Path:
    """The spec to use.

    Args:
        path: A file, a folder with a ``matrix.yaml`` (or the file of a kind), or a plain name: that
            of a spec in ``folder``, its ``config/`` or its ``scenarios/runs/``, or else of one that
            ships with matrix. ``None`` is ``matrix.yaml`` in ``folder``, or the built-in one.
        folder: The working directory.

    Raises:
        BadInput: There is none; for a name, the message says which there are.
    """
    if path is None:
        if is_built_in(None, folder):
            return _shipped_runs() / "builtin.yaml"
        if not os.path.lexists(folder / SPEC_NAME):
            told = f"would be passed over; call it {SPEC_NAME}, or name it as the spec"
            raise BadInput([Mistake(OTHER_NAME, None, "", told)])
        return folder / SPEC_NAME
    if _NAME.fullmatch(str(path)) and not os.path.lexists(folder / path):
        return _named(str(path), folder)
    if path.is_dir():
        path = _in_folder(path)
    if not (path.is_file() or path.is_symlink()):  # a broken link is there, and cannot be read
        raise BadInput([Mistake(str(path), None, "", "no such file; `matrix init` makes one")])
    return path


def _in_folder(folder: Path) -> Path:
    """The run spec of a folder, or the file of a kind if it has none."""
    spec = folder / SPEC_NAME
    if not os.path.lexists(spec):
        return next((p for name in file_names() if (p := folder / name).is_file()), spec)
    return spec


def is_built_in(path: Path | None, folder: Path) -> bool:
    """Whether the built-in matrix is played because nobody named a spec and none is here."""
    return path is None and not any(map(os.path.lexists, (folder / SPEC_NAME, folder / OTHER_NAME)))


def spec_names(folder: Path) -> dict[str, Path]:
    """Names that stand for a spec: those of the project in ``folder`` first, then the shipped."""
    found: dict[str, Path] = {}
    for runs in (folder / RUNS, _shipped_runs()):
        for path in sorted(runs.glob("*.yaml")):
            found.setdefault(path.stem, path)
    return found


def project_of(spec: Path, folder: Path) -> Path:
    """The folder whose packs and files a spec means.

    It is the spec's own folder, also of an example; for a spec in ``config/`` or
    ``scenarios/runs/`` the folder around that; and the working directory for one that ships with
    matrix.
    """
    full = Path(os.path.realpath(spec))  # Path.resolve() raises for links in circles
    shipped = shipped_root()
    if shipped in full.parents and EXAMPLES not in full.relative_to(shipped).parts:
        return folder
    if full.parent.parts[-2:] == RUNS.parts:
        return full.parents[2]
    return full.parents[1] if full.parent.name == CONFIG else full.parent


def _named(name: str, folder: Path) -> Path:
    for own in (folder / f"{name}.yaml", folder / CONFIG / f"{name}.yaml"):
        if own.is_file() or own.is_symlink():
            return own
    known = spec_names(folder)
    if name not in known:
        message = (
            f"no such file, and no run spec of this name; there are: {', '.join(sorted(known))}"
            f"{did_you_mean(name, sorted(known))}"
        )
        raise BadInput([Mistake(name, None, "", message)])
    return known[name]


def own_spec(kind: str) -> Path:
    """The run spec that ships with a kind which has a command of its own."""
    return shipped_root() / "scenarios" / kind / "spec.yaml"


def _shipped_runs() -> Path:
    return shipped_root() / RUNS


class LoadedSpec(NamedTuple):
    """A run spec with what goes over it, and the scenarios that its own file holds, by name."""

    document: Document
    packs: Mapping[str, ScenarioPack]


def load_spec(
    file: SpecFile,
    overrides: Iterable[Override] = (),
    *,
    given: Mapping[str, str | bool] | None = None,
    allow_outside: bool = False,
) -> LoadedSpec:
    """Read a run spec, or a file that a kind reads as one, and put overrides over it.

    Args:
        file: The file.
        overrides: What goes over the run spec, lowest first.
        given: Flag -> value of options that kinds bring for their own files.
        allow_outside: Whether such a file may name what is not of the project.

    Raises:
        BadInput: It cannot be read.
    """
    if file.code:
        refuse_options(list(given or ()), file.path.name)
        name = re.sub(r"[^A-Za-z0-9_-]", "-", file.path.stem).strip("-_") or "run"
        stands_for = {"name": name[:50], "kind": file.code}
        return LoadedSpec(overlay(Document(file.path.name, stands_for, {}, {}), overrides), {})
    document = _read(file.path)
    own = (name for name in os.environ if name.startswith("MATRIX_") and name not in VARIABLES)
    variables = {name: text for name in own if (text := os.environ[name])}
    request = FileRequest(
        document, file.project, given or {}, file.path, file.folder, variables, allow_outside
    )
    read = read_by_kind(request, file.kind)
    if read is None:
        return LoadedSpec(overlay(document, overrides), {})
    spec = Document(document.source, read.spec, document.lines, document.origins)
    return LoadedSpec(overlay(spec, overrides), read.packs)


def _read(path: Path) -> Document:
    try:
        raw = read_plain(path, MOST_TEXT_BYTES)
    except OSError as error:
        told = f"cannot be read: {error.strerror}"
        raise BadInput([Mistake(str(path), None, "", told)]) from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        told = "is not UTF-8 text; save it as UTF-8"
        raise BadInput([Mistake(str(path), line, "", told)]) from None
    if all(not line.strip() or line.lstrip().startswith("#") for line in text.splitlines()):
        told = "is empty: a file that was cut off? `matrix init FOLDER` writes one that works"
        raise BadInput([Mistake(str(path), None, "", told)])
    return parse_document(text, path.name)
