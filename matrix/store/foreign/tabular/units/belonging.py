"""Which rows belong together: units that pair something, topics that split none, and repeats."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from math import lgamma, log
from operator import attrgetter
from typing import Final, Literal, NamedTuple

from matrix.store.foreign.results import ForeignRow, pairs_something, shown
from matrix.store.foreign.tabular.names import is_whose, plain

Key = tuple[str, str, tuple[str, ...]]
Telling = Literal["column", "its end", "what it has several of", "file", "nothing"]
"""What tells rows apart: a column, one that says how results ended, one of which the unit is known
to have several, or their files."""


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


def numbered(
    rows: Sequence[ForeignRow],
    unit: str,
    telling: Callable[[Sequence[Sequence[int]]], tuple[str, Telling]],
) -> tuple[list[ForeignRow], str, str]:
    """Rows of one unit and variant as its repeats, in the order of the file.

    Args:
        rows: The results, none with a repeat.
        unit: What units are called.
        telling: Which column tells apart the rows of each group of places, empty for none, and
            what it is that does.

    Returns:
        The rows, what there is to say of it, and what is a mistake about it; one of them is empty.
    """
    groups = defaultdict[Key, list[int]](list)
    for place, row in enumerate(rows):
        groups[row.scenario, row.unit, row.levels].append(place)
    several = {key: own for key, own in groups.items() if len(own) > 1}
    one_variant = len({row.levels for row in rows}) < 2
    if not several or not (pairs_something(rows) or one_variant):
        return list(rows), "", ""
    units = len({(scenario, unit) for scenario, unit, _ in several})
    column, how = telling(list(several.values()))
    apart = {"file": "only their files tell"}.get(how, "no column tells")
    if how == "what it has several of":
        apart = f"{column} tells"
    elif column:
        own = next(iter(several.values()))
        return list(rows), "", _not_said(rows, own, units, (unit, column), ends=how == "its end")
    found = list(rows)
    for own in several.values():
        for number, place in enumerate(own, 1):
            found[place] = rows[place]._replace(repeat=str(number))
    total = len({(row.scenario, row.unit) for row in rows})
    most = max(map(len, several.values()))
    told = (
        f"{units:,} of {total:,} units have several rows for a variant (up to {most:,}), and "
        f"{apart} them apart: they are taken as repeats of the unit in the order of the file, "
        "which are averaged and never counted as units."
    )
    return found, told, ""


def _not_said(
    rows: Sequence[ForeignRow],
    own: Sequence[int],
    units: int,
    columns: tuple[str, str],
    *,
    ends: bool,
) -> str:
    """That a column tells rows of a unit apart, and what of it nobody has said."""
    unit, column = columns
    first, second = rows[own[0]], rows[own[1]]
    more = f" ({units:,} units are)" if units > 1 else ""
    twice = (
        f"the unit {shown(first.unit)} is there twice for {', '.join(first.levels)}: at "
        f"{first.where} and {second.where}{more}; {column} tells these rows apart"
    )
    if ends:
        return (
            f"{twice}, and how they ended: where later rows are further tries, keep the last of "
            "each (pandas: drop_duplicates([...], keep='last'))"
        )
    if is_whose(column) or plain(column) in _PLAYED:
        return (
            f"{twice}, and whose they are: --unit {column} --repeat {unit} is for a verdict about "
            f"such a {column}, each of which counts once, --repeat {column} for one about these "
            "alone"
        )
    if plain(column) in _MEASURES:
        return (
            f"{twice}, and what was measured: keep the rows of one, or make a column of each "
            f"(pandas: pivot_table(index=[...], columns={column!r}, values=...).reset_index())"
        )
    return (
        f"{twice}: say --repeat "
        f"{column} where they are repeats, or --variant {column}, beside the others, where it was "
        "compared"
    )


_PLAYED: Final = frozenset({"run", "run_id", "run_name", "seed", "checkpoint", "fold"})
"""What a column is called that says in which of several runs a result came to be."""
_MEASURES: Final = frozenset(
    {"metric", "metrics", "metric_name", "measure", "scorer", "criterion", "kpi", "kennzahl"}
)
"""What a column of names of scores is called, in tables with a row for each score."""
