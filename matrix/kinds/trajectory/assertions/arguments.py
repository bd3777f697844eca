"""Arguments of structural assertions: why one can mean nothing, said when a scenario is read."""

from __future__ import annotations

from typing import Any

from matrix.kinds.trajectory.assertions.notes.paths import alternatives, loose_or, never_matches
from matrix.model.records import JSON


def texts_of(argument: Any) -> list[Any]:
    """What a text or a list of them has."""
    return list(argument) if isinstance(argument, list | tuple) else [argument]


def path_fault(argument: JSON) -> str:
    """Of paths and patterns."""
    texts = texts_of(argument)
    if not texts or not all(isinstance(one, str) for one in texts):
        return f"found {argument!r}; it is a path, or several with OR between them"
    for text in texts:
        parts = alternatives(text)
        if not parts:
            return "names no path"
        for part in parts:
            if why := never_matches(part):
                return f"{part!r} can never match: {why}"
    return ""


def count_fault(argument: JSON) -> str:
    """Of a number."""
    if isinstance(argument, bool) or not isinstance(argument, int) or argument < 0:
        return f"found {argument!r}; it is a whole number from 0 on"
    return ""


def name_fault(argument: JSON) -> str:
    """Of a hypothesis."""
    texts = texts_of(argument)
    if not texts or not all(isinstance(one, str) and one.strip() for one in texts):
        return f"found {argument!r}; it is the id of a hypothesis, such as H-V1, or its slug"
    return ""


def switch_fault(argument: JSON) -> str:
    """Of what has none but ``true``."""
    if argument is True or argument is None:
        return ""
    return f"found {argument!r}; it is true, or the line is left out"


def contains_fault(argument: JSON) -> str:
    """Of ``paths ; texts``."""
    texts = texts_of(argument)
    if not texts or not all(isinstance(one, str) for one in texts):
        return f"found {argument!r}; it is `paths ; texts`"
    for text in texts:
        paths, semicolon, requested = str(text).partition(";")
        if not semicolon or not alternatives(requested):
            return f"found {text!r}; it is `paths ; texts`, such as `decisions/*.md ; because`"
        if any(loose_or(one) for one in alternatives(requested)):
            return f"found {text!r}; nothing stands on one side of OR"
        if why := path_fault(paths):
            return why
    return ""
