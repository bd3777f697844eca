"""What a project of one's own needs: a folder to start from, and a schema for editors."""

from __future__ import annotations

import keyword
import sys
from pathlib import Path
from typing import Any, Final

from matrix.engine.prepare.registry import list_part as _list_part
from matrix.engine.prepare.registry import load_kind
from matrix.kinds.library import FolderLibrary, shipped_root
from matrix.kinds.protocol import ListedPart
from matrix.model.errors import BadInput, Mistake
from matrix.model.spec.run_spec import RunSpec

_TAKEN: Final = ("matrix", "pytest", "conftest", "NAME")
_NAME: Final = "NAME"
"""What stands for the name of a kind in its template."""


def init(folder: str | Path, *, kind: str | None = None) -> list[Path]:
    """Make a project folder with a commented ``matrix.yaml`` that runs as it is.

    Args:
        folder: The folder.
        kind: Name of a kind of one's own, if that is wanted: a function in a file, with cases, a
            test, a rubric and the spec.

    Returns:
        The files that were written.

    Raises:
        BadInput: A file is there already, or no kind can have this name; nothing was written.
    """
    target = Path(folder)
    template = shipped_root() / "scenarios" / ("template" if kind is None else "kind")
    if kind is not None and (told := _no_name(kind)):
        raise BadInput([Mistake("--kind", None, "", told)])
    files = sorted(  # an installer compiles what ends in .py
        path for path in template.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )
    requested = [
        (path, target / str(path.relative_to(template)).replace(_NAME, kind or _NAME))
        for path in files
    ]
    taken = [new for _, new in requested if new.exists() or new.is_symlink()]
    if taken:
        raise BadInput(
            Mistake(str(path), None, "", "exists already; choose another folder") for path in taken
        )
    inside = {above for _, new in requested for above in _between(target, new)}
    if links := sorted(path for path in inside if path.is_symlink()):
        told = "is a link, which would lead what is written elsewhere; choose another folder"
        raise BadInput(Mistake(str(path), None, "", told) for path in links)
    if target.exists() and not target.is_dir():
        raise BadInput([Mistake(str(target), None, "", "is a file; name a folder")])
    for path, new in requested:
        new.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8")
        new.write_text(text.replace(_NAME, kind) if kind else text, encoding="utf-8")
    return [new for _, new in requested]


def _between(target: Path, file: Path) -> list[Path]:
    """The folders inside of ``target`` that a file in it is in."""
    return [above for above in file.parents if above.is_relative_to(target) and above != target]


def _no_name(kind: str) -> str:
    """Why nothing can be called so; empty if a function, its file and its module can."""
    allowed = "a function is called so, and its file: letters from a to z, digits and _, as in"
    if not kind.isascii() or not kind.isidentifier() or keyword.iskeyword(kind):
        return f"found {kind!r}; {allowed} support_chat"
    if kind in {*sys.stdlib_module_names, *_TAKEN}:
        told = f"found {kind!r}, which is a module already, so tests would import that one"
        return f"{told}; choose another name, as in {kind}_chat"
    return ""


def list_part(part: str, *, project: str | Path = ".") -> list[ListedPart]:
    """What run specs can name: ``archetypes``, ``stories`` or ``prompts`` of play-tests.

    Args:
        part: One of these, or what another installed kind has to list.
        project: Folder whose own come first.

    Raises:
        BadInput: There is no such part, or a file of it has mistakes.
    """
    return _list_part(part, FolderLibrary(Path(project)))


def schema(kind: str = "playtest") -> dict[str, Any]:
    """JSON Schema of the run spec, with the options of a kind and the simulation settings."""
    from matrix.providers.simulated.settings import SimulationSettings

    document = RunSpec.model_json_schema()
    definitions = document.setdefault("$defs", {})
    for field, model in (
        ("options", load_kind(kind).options_model),
        ("simulation", SimulationSettings),
    ):
        part = model.model_json_schema()
        definitions.update(part.pop("$defs", {}))
        part["description"] = RunSpec.model_fields[field].description
        document["properties"][field] = part
    document["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    document["title"] = "matrix run spec"
    return document
