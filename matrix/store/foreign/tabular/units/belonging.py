"""Which rows belong together: units that pair something, topics that split none, and repeats."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import lgamma, log
from operator import attrgetter
from typing import Final, NamedTuple

from matrix.store.foreign.results import shown

Key = tuple[str, str, tuple[str, ...]]


def pairs(rows: Iterable[tuple[str, tuple[str, ...]]]) -> bool:
    """Whether a value is in two variants, or there is but one of these: of each row, both."""
    seen: dict[str, tuple[str, ...]] = {}
    variants = set[tuple[str, ...]]()
    for unit, variant in rows:
        variants.add(variant)
        if unit and seen.setdefault(unit, variant) != variant:
            return True
    return len(variants) < 2


def spelt_otherwise(rows: Iterable[tuple[str, tuple[str, ...]]]) -> str:
    """That most units of two variants would be the same ones but for case and zeros, in words."""
    written = defaultdict[str, dict[tuple[str, ...], str]](dict[tuple[str, ...], str])
    for unit, variant in rows:
        written[re.sub(r"(?<!\d)0+(?=\d)", "", " ".join(unit.casefold().split()))][variant] = unit
    several = [list(own.values()) for own in written.values() if len(own) > 1]
    if len(several) * 2 < len(written) or not several or not written:
        return ""
    first, second = several[0][:2]
    return (
        f"{shown(first)} and {shown(second)}, in two variants, differ in nothing but case, blanks "
        "or zeros in front; write units alike, so that they pair, or say --unit none"
    )


class UnitCell(NamedTuple):
    """What a column has for the unit of a row, and what row that is."""

    source: str
    variant: tuple[str, ...]
    unit: str
    score: float | None


def counts_rows(cells: Sequence[UnitCell]) -> bool:
    """Whether units only count rows, from 0 or 1: of each file or of each variant, in its order."""
    for key in (attrgetter("source"), attrgetter("source", "variant"), attrgetter("variant")):
        found = defaultdict[object, list[str]](list)
        for one in cells:
            found[key(one)].append(one.unit)
        if all(_counts(own) for own in found.values()):
            return bool(cells)
    return False


def _counts(units: Sequence[str]) -> bool:
    return any(all(unit == str(at) for at, unit in enumerate(units, first)) for first in (0, 1))


def numbers_scores(cells: Sequence[UnitCell]) -> bool:
    """Whether units are numbers by which the scores of every variant are sorted.

    Not where that may well be chance: of all orders that the scores of the variants could have
    had, fewer than one in 10,000 are sorted.
    """
    if not all(one.unit.isdecimal() for one in cells):
        return False
    surprise = 0.0
    for own in numbered_scores(cells).values():
        scores = [score for _, score in sorted(own, key=lambda pair: pair[0])]
        steps = list(pairwise(scores))
        if any(one > two for one, two in steps) and any(one < two for one, two in steps):
            return False
        orders = lgamma(len(scores) + 1) - sum(lgamma(n + 1) for n in Counter(scores).values())
        surprise += max(0.0, orders - log(2))
    return surprise > log(_CHANCE)


_CHANCE: Final = 10_000


def numbered_scores(
    cells: Iterable[UnitCell],
) -> Mapping[tuple[str, ...], Sequence[tuple[int, float]]]:
    """Variant -> number and score of each row that has one, of units that are numbers."""
    found = defaultdict[tuple[str, ...], list[tuple[int, float]]](list)
    for one in cells:
        if one.score is not None:
            found[one.variant].append((int(one.unit), one.score))
    return found


def same_topics(topics: Iterable[str]) -> Mapping[str, str]:
    """Topic -> how the first that differs in nothing but case or blanks is written."""
    first: dict[str, str] = {}
    return {
        one: first.setdefault(" ".join(one.casefold().split()), one)
        for one in dict.fromkeys(topics)
    }


def splits(rows: Sequence[tuple[str, str, tuple[str, ...]]]) -> str:
    """Which unit has two topics, in words; empty where none has, or where topics number their own.

    Each row is its unit, its topic, and what else tells it apart. Where units are there twice but
    for their topics, each topic counts its units from 1, and none of them is split.
    """
    whole = Counter((unit, rest) for unit, _, rest in rows)
    within = Counter(rows)
    if max(whole.values(), default=0) > 1 and max(within.values()) == 1:
        return ""
    topic_of: dict[str, str] = {}
    for unit, topic, _ in rows:
        if (other := topic_of.setdefault(unit, topic)) != topic:
            return f"{shown(unit)} has {shown(other)} and {shown(topic)}"
    return ""
