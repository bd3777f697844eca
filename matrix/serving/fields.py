"""Fields of a request body: read one by one, mistakes worded as the API words them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matrix.serving.api_errors import ApiError, bad_request


def wrong(name: str, value: object, requested: str) -> ApiError:
    """400 for one field."""
    shown = repr(value)
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    return bad_request(
        f"Invalid '{name}': found {shown}, expected {requested}.", name, "invalid_type"
    )


def text(data: Mapping[str, Any], name: str) -> str:
    """A text that must be there."""
    value = data.get(name)
    if not isinstance(value, str) or not value:
        if value is None:
            raise bad_request(f"you must provide a {name} parameter", name)
        raise wrong(name, value, "a name")
    return value


def flag(data: Mapping[str, Any], name: str) -> bool:
    """True or false; false where it is missing."""
    value = data.get(name)
    if value is not None and not isinstance(value, bool):
        raise wrong(name, value, "true or false")
    return bool(value)


def integer(data: Mapping[str, Any], name: str, low: int, high: int) -> int | None:
    """An integer in a range, if it is there."""
    value = data.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise wrong(name, value, f"an integer from {low} to {high}")
    return value


def number(data: Mapping[str, Any], name: str, low: float, high: float) -> float | None:
    """A number in a range, if it is there."""
    value = data.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise wrong(name, value, f"a number from {low:g} to {high:g}")
    return float(value)


def mapping(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object; empty where it is missing."""
    value = data.get(name)
    if value is not None and not isinstance(value, dict):
        raise wrong(name, value, "an object")
    return value or {}
