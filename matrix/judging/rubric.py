"""What is judged: named criteria on one scale, their weights, and one number made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from matrix.model.seeds import content_hash


class Scale(NamedTuple):
    """The numbers that a criterion can get, both ends included; ``high`` is best."""

    low: float = 1.0
    high: float = 5.0

    def holds(self, value: float) -> bool:
        """Whether ``value`` is on the scale; NaN is not."""
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}"


FIVE_POINTS = Scale()


class Criterion(NamedTuple):
    """One thing to be judged: its name, the question it answers, and how much it counts."""

    name: str
    question: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Rubric:
    """What is judged and how it is put together.

    Attributes:
        title: What the judge is given and whom it is to judge.
        criteria: In the order in which they are asked.
        scale: The scale of every criterion.

    Raises:
        ValueError: No criterion, a name that comes twice or is ``reason``, a weight below 0, or
            none above 0, or a scale without room. A mistake of the kind, not of a user.
    """

    title: str
    criteria: tuple[Criterion, ...]
    scale: Scale = FIVE_POINTS

    def __post_init__(self) -> None:
        names, weights = self.names, [each.weight for each in self.criteria]
        if len({*names, "reason"}) <= len(names) or not names:
            raise ValueError(f"criteria need names of their own other than 'reason': {names}")
        if not (min(weights) >= 0 and sum(weights) > 0):
            raise ValueError(f"weights must be 0 or more, and one above 0: {weights}")
        if not self.scale.low < self.scale.high:
            raise ValueError(f"a scale from {self.scale} has no room")

    @property
    def names(self) -> tuple[str, ...]:
        """The criteria's names, in order."""
        return tuple(each.name for each in self.criteria)

    @property
    def hash(self) -> str:
        """Content hash of all that a score depends on: scores of different rubrics do not mix."""
        parts: list[object] = [self.title, *([each.name, each.question] for each in self.criteria)]
        weights = [each.weight for each in self.criteria]
        if self.scale != FIVE_POINTS or set(weights) != {1.0}:
            parts.append([list(self.scale), weights])
        return content_hash(parts)

    def composed(self, scores: Mapping[str, float]) -> float | None:
        """One number from 0 to 1: the weighted mean of all criteria that count.

        ``None`` if one of them has no score: the mean of the others would be one of another rubric.
        """
        counting = [each for each in self.criteria if each.weight > 0]
        if any(each.name not in scores for each in counting):
            return None
        there = [(each.weight, scores[each.name]) for each in counting]
        total = sum(weight for weight, _ in there)
        low, high = self.scale
        return (sum(weight * score for weight, score in there) / total - low) / (high - low)
