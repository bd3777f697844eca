"""What is to be other in continuations: names with values, and every combination of them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import orjson

from matrix.model.records import JSON
from matrix.model.spec.run_spec import level_name

SCENARIO = "scenario"
"""The change that is another scenario pack: its texts in place of the session's."""

Variant = Mapping[str, JSON]
"""Name of an option, role or text, or ``scenario`` -> the value it is to have."""


@dataclass(frozen=True)
class ContinuationRequest:
    """What continuations are wanted.

    Attributes:
        changes: What may be other -> the values it is to have; every combination is a variant.
        times: How often each variant is played from each moment.
        own_seed: The first time keeps the parent's seed, so that nothing else is other.
        word: ``replay``, ``branch``, ``rejudge`` or ``interview``.
        flag: Where changes come from, for mistakes.
        judges: Judges to list in place of those that the parent's spec lists; ``None``: the same.
        again: The sessions are over, and only judged again: each stays in its round, and what the
            parent compared is compared.
        own_records: The parent was made here, so that what its judges answered is a model's word
            and no stranger's.
        missing: Only sessions that lack a score: of what their judges said nothing is expected.
        parents_factor: What the parent compared.
        parents_factors: Its factors, each with its levels in order.
        opponents: Session -> whom it is compared with, as sessions find it among their texts; one
            that is not in it has nobody beside it.
        asked: The change that has somebody asked in place of playing on, if there is one.
        scored: Scores that the sessions keep, so that no judge may give one of the name.
    """

    changes: Mapping[str, tuple[JSON, ...]]
    times: int
    own_seed: bool
    word: str
    flag: str
    judges: tuple[JSON, ...] | None = None
    again: bool = False
    own_records: bool = False
    missing: bool = False
    parents_factor: str | None = None
    parents_factors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    opponents: Mapping[str, JSON] | None = None
    asked: str = ""
    scored: frozenset[str] = frozenset()

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """Every combination of values, the first change varying slowest."""
        return tuple(
            dict(zip(self.changes, values, strict=True))
            for values in itertools.product(*self.changes.values())
        )

    @property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """The changes as factors with levels, as text."""
        return {name: tuple(map(as_level, values)) for name, values in self.changes.items()}

    @property
    def compared(self) -> str | None:
        """What the verdict is about: the change that has several values, if there is one."""
        if self.again:
            return self.parents_factor
        return next((name for name, values in self.changes.items() if len(values) > 1), None)

    def origin(self, name: str) -> str:
        """Where a change was given, for a mistake in it."""
        return "--ask" if name == self.asked else f"{self.flag} {name}"


def as_level(value: JSON) -> str:
    """A value as text, as tables show it."""
    if isinstance(value, (str, int, float, bool)):
        return level_name(value)
    return orjson.dumps(value).decode()
