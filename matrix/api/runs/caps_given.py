"""Caps that a user gave when a run was resumed: they hold until others are given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from matrix.model.documents.overrides import FLAGS, Override
from matrix.model.documents.yaml_documents import PathKey
from matrix.store.run.run_folder import CapGiven

CAPS: Final[tuple[PathKey, ...]] = (
    FLAGS["max_cost"],
    ("limits", "session_usd"),
    ("limits", "role_usd"),
)
"""What of the spec caps money, whole or in parts."""

FINISH_LAST: Final = "--finish-last"
"""Origin of limits that are those of another run's spec: they hold for one life."""


def with_given(
    earlier: Sequence[CapGiven], overrides: Iterable[Override], now: datetime
) -> tuple[CapGiven, ...]:
    """The caps that hold from now on: those of earlier lives, and over them what is given now.

    Args:
        earlier: What ``run.json`` has of earlier lives, oldest first.
        overrides: What the user gave to this life.
        now: When that was.
    """
    new = [
        CapGiven(path=tuple(map(str, path)), value=value, at=now)
        for path, value, origin in overrides
        if origin != FINISH_LAST and any(path[: len(cap)] == cap for cap in CAPS)
    ]
    kept = [old for old in earlier if not any(old.path[: len(one.path)] == one.path for one in new)]
    return (*kept, *new)


def as_overrides(given: Iterable[CapGiven]) -> list[Override]:
    """What was given, to lie over the run's spec."""
    return [(one.path, one.value, "run.json") for one in given]


def cap_given_at(given: Iterable[CapGiven], overrides: Iterable[Override]) -> datetime | None:
    """When the run's own cap was given; ``None`` where it is that of its spec, or of another."""
    own = FLAGS["max_cost"]
    if any(path == own and origin == FINISH_LAST for path, _, origin in overrides):
        return None
    return next((one.at for one in given if one.path == own), None)
