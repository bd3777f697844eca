"""Options of the command line over a run spec of this kind, such as the shipped suite's."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from matrix.kinds.library import FolderLibrary
from matrix.kinds.protocol import FileRequest, ReadFile
from matrix.kinds.trajectory.file import (
    BINARY,
    CODE,
    EACH,
    JUDGE_MODEL,
    JUDGE_TIMEOUT,
    KEEP,
    ONLY,
    RUNS,
    SKIP,
    STOP,
    TURN_MODEL,
    TURN_TIMEOUT,
    given_to,
    numbers_in,
    picked,
)
from matrix.kinds.trajectory.settings import AGENT, JUDGE, TRAJECTORY
from matrix.model.documents.yaml_documents import section
from matrix.model.errors import BadInput, Mistake
from matrix.model.records import JSON

_SWITCHES: Final = {
    SKIP: "skip_content",
    CODE: "allow_code",
    KEEP: "keep_workdir",
    EACH: "json_results",
}
_TIMES: Final = {TURN_TIMEOUT: AGENT, JUDGE_TIMEOUT: JUDGE}
_MODELS: Final = {TURN_MODEL: AGENT, JUDGE_MODEL: JUDGE}


def with_given(request: FileRequest) -> ReadFile:
    """A run spec of this kind, with what was given over it.

    Raises:
        BadInput: Every mistake in what was given, or that it means nothing for a run spec.
    """
    given, value = given_to(request), request.document.value
    assert isinstance(value, dict)
    if BINARY in request.given:
        told = f"is of the agent `claude` of an adapter; {request.document.source} is a run spec"
        raise BadInput([Mistake(BINARY, None, "", told)])
    numbers = numbers_in(given)
    spec: dict[str, JSON] = {**value}
    if RUNS in numbers:
        spec = {name: item for name, item in spec.items() if name != "sessions"}
        spec["per_cell"] = int(numbers[RUNS])
    if ONLY in given:
        spec["scenarios"] = list(picked(given, _scenarios(request.project, value)))
    options: dict[str, JSON] = {own: True for flag, own in _SWITCHES.items() if flag in given}
    options |= {"stop_after_turn": int(numbers[STOP])} if STOP in numbers else {}
    roles: dict[str, JSON] = {role: given[flag] for flag, role in _MODELS.items() if flag in given}
    params = {
        role: {**section(section(value, "params"), role), "timeout_s": numbers[flag]}
        for flag, role in _TIMES.items()
        if flag in numbers
    }
    over: tuple[tuple[str, Mapping[str, JSON]], ...] = (
        ("options", options),
        ("roles", roles),
        ("params", params),
    )
    for name, own in over:
        if own:
            spec[name] = {**section(value, name), **own}
    return ReadFile(spec, {})


def _scenarios(project: Path, value: Mapping[str, Any]) -> dict[str, Path]:
    """Those that the spec means, by name."""
    library, said = FolderLibrary(project), value.get("scenarios")
    patterns = [said] if isinstance(said, str) else said if isinstance(said, list) else ["*"]
    return {
        name: project / name
        for name in library.scenarios(TRAJECTORY)
        if any(fnmatchcase(name, str(one)) for one in patterns)
    }
