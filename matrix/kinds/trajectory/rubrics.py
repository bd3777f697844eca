"""Finding and reading the rubrics of content assertions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from matrix.kinds.text_files import read_text, real
from matrix.model.errors import BadInput, Mistake

MAX_RUBRIC: Final = 100_000
"""Bytes of a rubric."""

_UP: Final = 3
"""How many folders above a scenario rubrics are looked for."""

_TEXTS: Final = (".md", ".markdown", ".txt")
"""How files end that are taken for rubrics: no other is sent to a model."""

_FRONT = re.compile(r"\A---[ \t]*\n.*?^---[ \t]*$\n?", re.DOTALL | re.MULTILINE)


def find_rubric(name: str, scenario: Path, rubrics: Path | None) -> str:
    """The text of a rubric: as it is named below the folder of rubrics, or by its file there.

    Without such a folder, or where it is not in it, it is looked for beside the scenario and above
    it, also in a ``harness`` there.

    Raises:
        BadInput: It is nowhere, or empty, huge or no text.
    """
    for base, path in _candidates(name, scenario, rubrics):
        # a link may lead anywhere, and what it leads to would be sent to a model
        if path.is_file() and real(path).is_relative_to(real(base)):
            text = read_text(path, MAX_RUBRIC)
            body = _FRONT.sub("", text, count=1).strip()
            if not body or "\0" in body:
                told = f"the rubric {name} is {'no text' if body else 'empty'}"
                raise BadInput([Mistake(str(path), None, "", told)])
            return body
    where = f"{rubrics} (rubrics:)" if rubrics is not None else "the scenario and above it"
    told = f"found {name!r}, which is no file in {where}; say where rubrics are, or write it"
    raise BadInput([Mistake(str(scenario), None, "", told)])


def _candidates(name: str, scenario: Path, rubrics: Path | None) -> Iterator[tuple[Path, Path]]:
    """Folder that it has to be in, and file."""
    own = Path(name).name
    names = [own] if Path(name).is_absolute() or ".." in Path(name).parts else [name, own]
    names = [one if one.endswith(_TEXTS) else f"{one}.md" for one in names]
    if rubrics is not None:
        yield from ((rubrics, rubrics / one) for one in names)
    bases = [scenario, *real(scenario).parents[:_UP]]
    for base in bases:
        for folder in (base, base / "harness", base / "judges", base / "rubrics"):
            yield from ((base, folder / one) for one in names)
