"""Installed kinds, found by entry point; loading one costs what that kind imports."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points

from matrix.kinds.protocol import Kind


def kinds() -> dict[str, Callable[[], Kind]]:
    """Installed kinds by name, each behind a function that loads it."""
    return {entry.name: entry.load for entry in entry_points(group="matrix.kinds")}


def load_kind(name: str) -> Kind:
    """The kind of this name.

    Raises:
        KeyError: No such kind is installed.
    """
    return kinds()[name]()
