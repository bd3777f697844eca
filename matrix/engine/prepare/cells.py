"""The matrix itself: every scenario joined with every combination of levels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from matrix.engine.prepare.estimate import with_steps
from matrix.engine.prepare.judges import with_judges
from matrix.engine.prepare.parameters import (
    CellParameters,
    ParameterName,
    cell_parameters,
    check_level,
    expecting,
    parameter_named,
)
from matrix.engine.prepare.registry import ask_kind
from matrix.engine.prepare.spec_parts import SpecParts
from matrix.kinds.library import FolderLibrary
from matrix.kinds.protocol import Binding, ScenarioPack, UsesFolder
from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.yaml_documents import Document, PathKey, check
from matrix.model.errors import FolderRefused, Mistake
from matrix.model.plan import Cell, combinations
from matrix.model.records import JSON
from matrix.model.seeds import content_hash
from matrix.model.spec.run_spec import level_name
from matrix.store.blobs.initial import as_resource, hash_folder, resource_of


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of a run in launch order, each with its binding, and the texts they refer to.

    ``folders`` are those that sessions begin with, by their trees.
    """

    cells: list[Cell] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    resources: dict[str, JSON] = field(default_factory=dict)
    params: list[CellParameters] = field(default_factory=list)
    folders: dict[str, Path] = field(default_factory=dict)


class _Bound(NamedTuple):
    """One cell's options, roles and parameters, and what the kind makes of them."""

    options: BaseModel
    roles: dict[str, str]
    params: CellParameters
    binding: Binding


def bind_cells(parts: SpecParts, library: FolderLibrary, mistakes: Mistakes) -> Cells:
    """Every cell that can be bound; what is wrong with the others is collected.

    That nothing would come of any cell is a mistake, too; of some, their kind notes it.
    """
    result = Cells()
    for pack in parts.packs:
        for levels in combinations(parts.factors):
            values = {
                name: parts.spec.factors[name][parts.factors[name].index(level)]
                for name, level in levels.items()
            }
            bound = _bind(parts, pack, values, library, mistakes)
            if bound is not None and (texts := _texts(parts, pack, bound, result, mistakes)):
                _add(result, parts.kind.name, pack.name, levels, bound, texts[0])
    if not parts.judges and all(one.unchecked for one in result.bindings):
        for cell, binding in zip(result.cells, result.bindings, strict=True):
            mistakes.add([Mistake(cell.scenario, None, "", binding.unchecked)])
    return result


def _texts(
    parts: SpecParts, pack: ScenarioPack, bound: _Bound, result: Cells, mistakes: Mistakes
) -> tuple[dict[str, JSON]] | None:
    """All that sessions of a cell refer to: texts and data, and folders by their trees."""
    texts = dict(bound.binding.resources)
    known = {path: tree for tree, path in result.folders.items()}
    for name, path in bound.binding.folders.items():
        if path not in known:
            tree = _hashed(parts, pack, name, path, mistakes)
            if not tree:
                return None
            known[path] = tree
            result.folders.setdefault(tree, path)
        texts[resource_of(name)] = as_resource(known[path])
    return (texts,)


def _hashed(parts: SpecParts, pack: ScenarioPack, name: str, path: Path, mistakes: Mistakes) -> str:
    try:
        if not isinstance(parts.kind, UsesFolder):
            raise FolderRefused(f"sessions of the {parts.kind.name} kind have no working folder")
        return hash_folder(path, parts.kind.folder_limits)
    except FolderRefused as error:
        told = f"folder {name} of scenario {pack.name!r} cannot be used: {error}"
        mistakes.add([Mistake(str(path), None, "", told)])
        return ""


def _add(
    result: Cells,
    kind: str,
    scenario: str,
    levels: Mapping[str, str],
    bound: _Bound,
    texts: Mapping[str, JSON],
) -> None:
    options, roles, params, binding = bound
    hashes = {name: content_hash(value) for name, value in texts.items()}
    result.resources.update({hashes[name]: value for name, value in texts.items()})
    result.cells.append(
        Cell(
            scenario,
            kind,
            levels,
            options.model_dump(mode="json"),
            roles,
            hashes,
            binding.prelude,
            params=params.own,
            prelude_params=params.shared,
        )
    )
    result.bindings.append(binding)
    result.params.append(params)


def _bind(
    parts: SpecParts,
    pack: ScenarioPack,
    values: Mapping[str, Any],
    library: FolderLibrary,
    mistakes: Mistakes,
) -> _Bound | None:
    roles = dict(parts.roles)
    options = dict(parts.spec.options)
    of_calls: dict[ParameterName, JSON] = {}
    for name, value in values.items():
        if name in roles:
            roles[name] = str(value)
        elif name in parts.kind.options_model.model_fields:
            options[name] = value
        elif (parameter := parameter_named(name, roles)) is not None:
            path = _level(name, values, mistakes)
            level = mistakes.collect(
                partial(check_level, mistakes.document, path, parameter, value)
            )
            of_calls[parameter] = value if level is None else level
    document = _with_options(mistakes.document, options, values)
    checked = mistakes.collect(lambda: check(document, parts.kind.options_model, ("options",)))
    if checked is None:
        return None
    kind, turns = parts.kind, parts.spec.limits.turns
    binding = mistakes.collect(
        lambda: ask_kind(
            kind,
            "join a scenario with these levels",  # the same words for every cell: told once
            lambda: kind.bind(pack, checked, roles, library, turns),
        ),
        lambda mistake: _in_the_spec(mistake, values, mistakes),
    )
    if binding is None:
        return None
    binding = with_steps(binding, kind.roles, parts.spec.agents)
    binding = with_judges(binding, parts.judges, kind, mistakes)
    params = cell_parameters(parts.spec, roles, of_calls)
    of_models = {name: model.params.given for name, model in parts.spec.models.items()}
    return _Bound(checked, roles, params, expecting(binding, params, of_models))


def _with_options(
    document: Document, options: Mapping[str, Any], values: Mapping[str, Any]
) -> Document:
    """A document of options only, in which a level stands on the line of its factor."""
    lines: dict[PathKey, int] = {
        ("options", name): line
        for name in values
        if (line := document.lines.get(("factors", name)))
    }
    return Document(
        document.source, {"options": options}, {**document.lines, **lines}, document.origins
    )


def _in_the_spec(mistake: Mistake, values: Mapping[str, Any], mistakes: Mistakes) -> Mistake:
    """A mistake that a kind found in an option or role, placed where the spec says it."""
    if mistake.line is not None:
        return mistake
    if mistake.path == "kind" and mistake.source == "run spec":
        return mistakes.at(_level_named(mistake.message, values, mistakes), mistake.message)
    if not mistake.path.startswith(("options.", "roles.")):
        return mistake
    section, _, rest = mistake.path.partition(".")
    name, _, index = rest.rstrip("]").partition("[")
    path: PathKey = (section, name, int(index)) if index else (section, name)
    if name in values:
        path = _level(name, values, mistakes)
    return mistakes.at(path, mistake.message)


def _level(name: str, values: Mapping[str, Any], mistakes: Mistakes) -> PathKey:
    return ("factors", name, mistakes.document.value["factors"][name].index(values[name]))


def _level_named(message: str, values: Mapping[str, Any], mistakes: Mistakes) -> PathKey:
    """The level that a defect is about, if it names one and no other; else the kind."""
    _, _, raised = message.partition(": ")
    named = [
        name
        for name, value in values.items()
        if re.search(rf"\b{re.escape(level_name(value))}\b", raised)
    ]
    return _level(named[0], values, mistakes) if len(named) == 1 else ("kind",)
