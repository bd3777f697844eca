"""What goes over the run spec: environment variables, ``--set a.b=c``, flags; lowest first.

Each gives (path, value, origin) triples for :func:`matrix.model.documents.overlay`, so that a
mistake in a flag is reported as a mistake in that flag.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from matrix.model.documents import PathKey
from matrix.model.errors import BadInput, Mistake

Override = tuple[PathKey, Any, str]

FLAGS: Mapping[str, PathKey] = {
    "name": ("name",),
    "sessions": ("sessions",),
    "per_cell": ("per_cell",),
    "seed": ("seed",),
    "max_cost": ("limits", "cost_usd"),
    "max_turns": ("limits", "turns"),
    "time_limit": ("limits", "run_minutes"),
    "open_sessions": ("limits", "open_sessions"),
    "at_cap": ("at_cap",),
}
"""Flag (and ``MATRIX_<FLAG>`` variable) -> the field it sets."""

_COUNTS: Mapping[str, str] = {"sessions": "per_cell", "per_cell": "sessions"}


def from_flags(flags: Mapping[str, Any], origin: str = "--{}") -> list[Override]:
    """Overrides of the flags that were given; ``None`` means not given.

    Saying how many sessions one way takes back what a lower layer said the other way.
    """
    result: list[Override] = []
    for flag, value in flags.items():
        if value is None or flag not in FLAGS:
            continue
        name = origin.format(flag.replace("_", "-") if "{" in origin else flag)
        if flag in _COUNTS:
            result.append((FLAGS[_COUNTS[flag]], None, name))
        result.append((FLAGS[flag], value, name))
    return result


def from_environment(environment: Mapping[str, str] | None = None) -> list[Override]:
    """Overrides of every ``MATRIX_<FLAG>`` variable that is set and not empty."""
    variables = os.environ if environment is None else environment
    result: list[Override] = []
    for flag in FLAGS:
        variable = f"MATRIX_{flag.upper()}"
        if text := variables.get(variable, ""):
            result += [
                (path, value, variable) for path, value, _ in from_flags({flag: _scalar(text)})
            ]
    return result


def from_settings(settings: Iterable[str]) -> list[Override]:
    """Overrides of ``--set a.b=c``; the value is read as YAML.

    Raises:
        BadInput: A setting without ``=`` or with a value that is not YAML.
    """
    result: list[Override] = []
    mistakes = []
    for setting in settings:
        path, equals, text = setting.partition("=")
        origin = f"--set {path}"
        if not equals or not path:
            mistakes.append(
                Mistake("--set", None, "", f"found {setting!r}; write it as PATH=VALUE")
            )
            continue
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError:
            mistakes.append(Mistake(origin, None, "", f"cannot read {text!r} as YAML"))
            continue
        result.append((tuple(path.split(".")), value, origin))
    if mistakes:
        raise BadInput(mistakes)
    return result


def from_models(assignments: Iterable[str]) -> list[Override]:
    """Overrides of ``--model ROLE=MODEL`` (``all=MODEL`` for every role).

    Raises:
        BadInput: An assignment of another form.
    """
    result: list[Override] = []
    mistakes = []
    for assignment in assignments:
        role, equals, model = assignment.partition("=")
        if not (role and equals and model):
            mistakes.append(
                Mistake("--model", None, "", f"found {assignment!r}; write it as ROLE=MODEL")
            )
            continue
        result.append((("roles", role), model, f"--model {role}"))
    if mistakes:
        raise BadInput(mistakes)
    return result


def _scalar(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text
