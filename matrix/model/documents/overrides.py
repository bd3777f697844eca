"""What goes over the run spec: environment variables, ``--set a.b=c``, flags; lowest first.

Each gives (path, value, origin) triples for
:func:`matrix.model.documents.yaml_documents.overlay`, so that a mistake in a flag is reported as a
mistake in that flag.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from matrix.model.documents.mistakes import Mistakes
from matrix.model.documents.yaml_documents import PathKey, parse_document, show_path
from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.lines import LOG_LEVELS

Override = tuple[PathKey, Any, str]

FLAGS: Mapping[str, PathKey] = {
    "name": ("name",),
    "sessions": ("sessions",),
    "per_cell": ("per_cell",),
    "seed": ("seed",),
    "max_cost": ("limits", "cost_usd"),
    "budget": ("limits", "budget"),
    "max_turns": ("limits", "turns"),
    "time_limit": ("limits", "run_minutes"),
    "open_sessions": ("limits", "open_sessions"),
    "at_cap": ("at_cap",),
    "stop_early": ("stop",),
    "cache": ("cache",),
}
"""Flag (and ``MATRIX_<FLAG>`` variable) -> the field it sets."""

OUTSIDE: Final = "MATRIX_ALLOW_OUTSIDE"

VARIABLES: Mapping[str, str] = {
    **{f"MATRIX_{flag.upper()}": show_path(path) for flag, path in FLAGS.items()},
    "MATRIX_RESULTS": "the folder of runs",
    "MATRIX_QUIET": "print only the verdict",
    "MATRIX_REPORT": "whether runs write `report.html` (1 or 0)",
    "MATRIX_YES": "do not ask before spending",
    "MATRIX_LOG": "the least that the log has: debug, info, warning or error",
    "MATRIX_RAY_ADDRESS": "a Ray cluster to join, as `--address`",
    "MATRIX_SERVE_KEY": "the key that `matrix serve-sim` asks for",
    OUTSIDE: "let file:// and links lead out of the project",
}
"""Every variable of this project's own, and what it sets."""

_SAID: Mapping[str, Mapping[str, str]] = {
    "stop_early": {
        **dict.fromkeys(("true", "1", "yes"), "when-decided"),
        **dict.fromkeys(("false", "0", "no"), "never"),
    }
}
"""Flag -> what its words are called in the spec."""

_COUNTS: Mapping[PathKey, PathKey] = {
    FLAGS["sessions"]: FLAGS["per_cell"],
    FLAGS["per_cell"]: FLAGS["sessions"],
}


def from_flags(flags: Mapping[str, Any], origin: str = "--{}") -> list[Override]:
    """Overrides of the flags that were given; ``None`` means not given."""
    return _layer(
        (
            FLAGS[flag],
            _SAID.get(flag, {}).get(str(value).lower(), value),
            origin.format(flag.replace("_", "-") if origin.startswith("--") else flag),
        )
        for flag, value in flags.items()
        if value is not None and flag in FLAGS
    )


def from_environment(environment: Mapping[str, str] | None = None) -> list[Override]:
    """Overrides of every ``MATRIX_<FLAG>`` variable that is set and not empty."""
    variables = os.environ if environment is None else environment
    names = {flag: f"MATRIX_{flag.upper()}" for flag in FLAGS}
    return _layer(
        (FLAGS[flag], _SAID.get(flag, {}).get(text.lower(), text), name)
        for flag, name in names.items()
        if (text := variables.get(name))
    )


def check_variables(
    known: Callable[[], Iterable[str]], environment: Mapping[str, str] | None = None
) -> None:
    """Refuse ``MATRIX_*`` variables that set nothing: a misspelt one would be a cap that is not.

    Args:
        known: Gives the variables there are; asked only if one is set that is not this project's.
        environment: The variables; those of the process if left out.

    Raises:
        BadInput: Each variable that is set, not empty, and known to nobody; or the log's level.
    """
    variables = os.environ if environment is None else environment
    if (level := variables.get("MATRIX_LOG", "").strip().lower()) and level not in LOG_LEVELS:
        told = f"found {level[:40]!r}; allowed: {', '.join(LOG_LEVELS)}"
        raise BadInput([Mistake("MATRIX_LOG", None, "", told)])
    given = [name for name, text in variables.items() if name.startswith("MATRIX_") and text]
    if all(name in VARIABLES for name in given):
        return
    names, mistakes = sorted(known()), Mistakes()
    for name in given:
        if name not in names:
            told = f"no such variable; known: {', '.join(names)}{did_you_mean(name, names)}"
            mistakes.say(name, told)
    mistakes.stop_if_any()


def from_settings(settings: Iterable[str]) -> list[Override]:
    """Overrides of ``--set a.b=c``; the value is read as YAML.

    Raises:
        BadInput: A setting without ``=`` or with a value that is not YAML.
    """
    result: list[Override] = []
    mistakes = Mistakes()
    for setting in settings:
        path, equals, text = setting.partition("=")
        origin = f"--set {path}"
        if not equals or not path:
            mistakes.say("--set", f"found {setting!r}; write it as PATH=VALUE")
            continue
        read = mistakes.collect(partial(parse_document, text, origin), _without_line)
        if read is not None:
            value = read.value if text.strip() else None
            result.append((_place(path), value, origin))
    mistakes.stop_if_any()
    return _layer(result)


def _place(path: str) -> PathKey:
    """``a.b.c`` -> the keys of a place; a factor may be called ``judge.effort``."""
    first, *rest = path.split(".")
    return (first, ".".join(rest)) if first == "factors" and rest else (first, *rest)


def _without_line(mistake: Mistake) -> Mistake:
    """A flag has no lines."""
    return replace(mistake, line=None)


def from_models(assignments: Iterable[str]) -> list[Override]:
    """Overrides of ``--model ROLE=MODEL`` (``all=MODEL`` for every role).

    Raises:
        BadInput: An assignment of another form.
    """
    result: list[Override] = []
    mistakes = Mistakes()
    for assignment in assignments:
        role, equals, model = assignment.partition("=")
        if not (role and equals and model):
            mistakes.say("--model", f"found {assignment!r}; write it as ROLE=MODEL")
            continue
        origin = f"--model {role}"
        if role == "all":  # over whatever lower layers say of single roles, under these here
            result.insert(0, (("roles",), {"all": model}, origin))
        else:
            result.append((("roles", role), model, origin))
    mistakes.stop_if_any()
    return result


def _layer(overrides: Iterable[Override]) -> list[Override]:
    """One layer, in which saying how many sessions takes back what lower ones said the other way.

    Within a layer nothing is taken back, so that saying it both ways is a mistake.
    """
    layer = list(overrides)
    back = [
        (other, None, origin)
        for path, _, origin in layer
        if (other := _COUNTS.get(path)) is not None
    ]
    return [*back, *layer]
