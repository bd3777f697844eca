"""Kinds of ``.py`` files: made of a file, or of what a run has kept of one."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from matrix.kinds.function.cases import read_cases
from matrix.kinds.function.declaring import Cases
from matrix.kinds.function.facts import KindFacts, RoleFacts
from matrix.kinds.function.kind import FunctionKind
from matrix.kinds.function.options import Parameter, parameters_of
from matrix.kinds.function.source import Scenario, Source, read_source, scenario_in
from matrix.model.errors import BadInput, KindUnusable
from matrix.model.records import JSON


def kind_of(scenario: Scenario, source: Source, folder: Path | None = None) -> FunctionKind:
    """The kind that a function or class is.

    Raises:
        KindUnusable: It cannot be one.
    """
    target, declared = scenario.target, scenario.declared
    if wrong := _not_async(scenario):
        raise KindUnusable(f"{source.file}: {scenario.name} {wrong}")
    facts = KindFacts(
        file=source.file,
        name=scenario.name,
        roles={
            name: RoleFacts(model=model, judges=name in declared.judges)
            for name, model in declared.roles.items()
        },
        scores=declared.scores,
        score_range=declared.score_range,
        lower_is_better=declared.lower_is_better,
        source=source.text,
    )
    parameters = parameters_of(target, source.file)
    if taken := parameters.keys() & declared.roles.keys():
        raise KindUnusable(
            f"{source.file}: {min(taken)!r} is both a role and a parameter; rename one"
        )
    if declared.cases is None:
        return FunctionKind(facts, folder, scenario)
    of_cases = _of_cases(declared.cases, parameters, folder, source.file)
    facts = facts.model_copy(update={"of_cases": of_cases or ()})
    return FunctionKind(facts, folder, scenario, cases_unread=of_cases is None)


def _not_async(scenario: Scenario) -> str:
    """Why a function or class cannot be played; empty if it can."""
    target, name = scenario.target, scenario.name
    if not isinstance(target, type):
        good = inspect.iscoroutinefunction(target)
        return "" if good else f"is no async function; write `async def {name}(ctx, ...)`"
    methods = [one for one in ("start", "turn", "finish") if hasattr(target, one)]
    if "turn" not in methods:
        return "has no turn; write `async def turn(self, ctx, state)`"
    plain = [one for one in methods if not inspect.iscoroutinefunction(getattr(target, one))]
    return f"has a {plain[0]} that is no async function" if plain else ""


def _of_cases(
    cases: Cases, parameters: Mapping[str, Parameter], folder: Path | None, file: str
) -> tuple[str, ...] | None:
    """Parameters that some case has a value for; ``None`` where cases cannot be read.

    What is wrong with them is told by whoever asks for the scenarios.
    """
    try:
        read = read_cases(cases or (), folder or Path(), file)
    except BadInput:
        return None
    named = {name for one in read for name in one.values}
    return tuple(name for name in parameters if name in named)


class PythonFiles:
    """Makes kinds of ``.py`` files; implements :class:`matrix.kinds.protocol.KindFiles`."""

    def read(self, project: Path, file: str, name: str) -> FunctionKind:
        source = read_source(project / file, file)
        return kind_of(scenario_in(source, name), source, (project / file).parent)

    def again(self, kept: Mapping[str, JSON]) -> FunctionKind:
        try:
            return FunctionKind(KindFacts.model_validate(kept))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise KindUnusable(
                f"the kind that was kept cannot be read: {place}: {first['msg']}"
            ) from None


FILES: Final = PythonFiles()
