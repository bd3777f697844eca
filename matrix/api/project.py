"""What a project of one's own needs: a folder to start from, and a schema for editors."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from matrix.engine.prepare.registry import load_kind
from matrix.kinds.library import shipped_root
from matrix.model.errors import BadInput, Mistake
from matrix.model.spec.run_spec import RunSpec


def init(folder: str | Path) -> list[Path]:
    """Make a project folder with a commented ``matrix.yaml`` that runs as it is.

    Returns:
        The files that were written.

    Raises:
        BadInput: A file is there already; nothing was overwritten.
    """
    target = Path(folder)
    template = shipped_root() / "scenarios" / "template"
    files = sorted(path for path in template.rglob("*") if path.is_file())
    requested = [(path, target / path.relative_to(template)) for path in files]
    taken = [new for _, new in requested if new.exists()]
    if taken:
        raise BadInput(
            Mistake(str(path), None, "", "exists already; choose another folder") for path in taken
        )
    if target.exists() and not target.is_dir():
        raise BadInput([Mistake(str(target), None, "", "is a file; name a folder")])
    for path, new in requested:
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, new)
    return [new for _, new in requested]


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
