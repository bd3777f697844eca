"""Which rows belong together: units that pair something, topics that split none, and repeats."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from math import gcd, inf, isfinite, lgamma, log
from operator import attrgetter
from typing import Final, NamedTuple

from matrix.model.lines import in_line
from matrix.store.foreign.results import LONGEST_NAME, ForeignRow, groups, pairs_something, shown
from matrix.store.foreign.tabular.names import is_whose, plain

Key = tuple[str, str, tuple[str, ...]]

FEWEST_DOUBLED: Final = 8
"""Different rows from which on it is no chance that all are there a multiple of some times."""


def pairs(rows: Iterable[tuple[str, tuple[str, ...]]]) -> bool:
    """Whether a value is in two variants, or there is but one of these: of each row, both."""
    seen: dict[str, tuple[str, ...]] = {}
    variants = set[tuple[str, ...]]()
    for unit, variant in rows:
        variants.add(variant)
        if unit and seen.setdefault(unit, variant) != variant:
            return True
    return len(variants) < 2


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
    scored = defaultdict[tuple[str, ...], list[tuple[int, float]]](list)
    for one in cells:
        if one.score is not None:
            scored[one.variant].append((int(one.unit), one.score))
    surprise = 0.0
    for own in scored.values():
        scores = [score for _, score in sorted(own, key=lambda pair: pair[0])]
        steps = list(pairwise(scores))
        if any(one > two for one, two in steps) and any(one < two for one, two in steps):
            return False
        orders = lgamma(len(scores) + 1) - sum(lgamma(n + 1) for n in Counter(scores).values())
        surprise += max(0.0, orders - log(2))
    return surprise > log(_CHANCE)


_CHANCE: Final = 10_000


def belonging(
    columns: Iterable[tuple[str, Sequence[str]]], variants: Sequence[tuple[str, ...]]
) -> str:
    """Which column looks as if it said whose rows are whose, as a clause; empty for none.

    Args:
        columns: The name and the text of each row of columns that are taken for no unit.
        variants: Of each row.
    """
    for name, texts in columns:
        if not is_whose(name) and not plain(name).endswith("_id"):
            continue
        rows = [(text, variant) for text, variant in zip(texts, variants, strict=True) if text]
        if 2 * len(rows) < len(texts) or not groups(rows):
            continue
        whole = Counter(variant for _, variant in rows)
        values = Counter(variant for _, variant in set(rows))
        variant = max(whole, key=lambda one: whole[one] - values[one])
        column = in_line(name.strip()[:LONGEST_NAME])
        return (
            f"though {column} has {values[variant]:,} values for {whole[variant]:,} rows of "
            f"{', '.join(variant)}: if rows of one {column} belong together, nothing that is said "
            f"here of a winner holds until --unit {column} is said"
        )
    return ""


def doubled(rows: Sequence[tuple[str, ...]], columns: Iterable[Sequence[str]]) -> str:
    """How many rows are there again and are no chance, in a sentence; empty for none.

    Rows of few different scores are alike by themselves: but then not all equally often, nor where
    a column has numbers of many decimals, or long texts, that are alike in whole rows alone.

    Args:
        rows: All cells of each row.
        columns: The cells of each column.
    """
    counts = Counter(rows)
    again = len(rows) - len(counts)
    if not again:
        return ""
    told = f"{again:,} of {len(rows):,} rows are identical to an earlier one in every column"
    counted = "all of them are counted, as nothing says that they are copies; take out what is."
    times = gcd(*counts.values())
    if times > 1 and len(counts) >= FEWEST_DOUBLED:
        return f"{told}, and each is there {times:,} times or a multiple of it: {counted}"
    if again < _FEWEST_AGAIN:
        return ""
    chance = min((_by_chance(own, len(counts)) for own in columns), default=inf)
    if again <= _TIMES_CHANCE * chance:
        return ""
    return f"{told}, which chance does not make of such numbers and texts: {counted}"


_FEWEST_AGAIN: Final = 3
_TIMES_CHANCE: Final = 5
_LONG_TEXT: Final = 40


def _by_chance(cells: Sequence[str], different: int) -> float:
    """How many rows of a column would be as an earlier one by chance, roughly, and not less.

    Numbers are taken as spread over their middle half as evenly as over the rest, in steps of their
    last decimal. As many as are alike in rows that differ elsewhere are chance, too.
    """
    shared = float(different - len(set(cells)))
    numbers = [_number(cell) for cell in cells]
    if all(one is None for one in numbers):
        long = sum(map(len, cells)) >= _LONG_TEXT * len(cells)
        return max(shared, 0.0) if long else inf
    if any(one is None for one in numbers):
        return inf
    found = sorted(float(one) for one in numbers if one is not None)
    low, high = found[len(found) // 4], found[3 * len(found) // 4]
    if not high > low:
        return inf
    step = 10.0 ** -max(_decimals(cell) for cell in cells)
    pairs_of_rows = len(cells) * (len(cells) - 1) / 2
    return max(shared, pairs_of_rows * step * _DENSITY / (high - low))


_DENSITY: Final = 0.5
"""The integral of a density squared, in units of its middle half: .38 for a normal, .5 if even."""


def _number(cell: str) -> float | None:
    try:
        found = float(cell)
    except ValueError:
        return None
    return found if isfinite(found) else None


def _decimals(cell: str) -> int:
    mantissa, _, exponent = cell.casefold().partition("e")
    return max(0, len(mantissa.partition(".")[2]) - int(exponent or 0))


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
    rows: Sequence[ForeignRow], telling: Callable[[Sequence[Sequence[int]]], str]
) -> tuple[list[ForeignRow], str, str]:
    """Rows of one unit and variant as its repeats, in the order of the file.

    Args:
        rows: The results, none with a repeat.
        telling: Which column tells apart the rows of each group of places; empty for none.

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
    if column := telling(list(several.values())):
        return list(rows), "", _not_said(rows, next(iter(several.values())), units, column)
    found = list(rows)
    for own in several.values():
        for number, place in enumerate(own, 1):
            found[place] = rows[place]._replace(repeat=str(number))
    total = len({(row.scenario, row.unit) for row in rows})
    most = max(map(len, several.values()))
    told = (
        f"{units:,} of {total:,} units have several rows for a variant (up to {most:,}), and no "
        "column tells them apart: they are taken as repeats of the unit in the order of the file, "
        "which are averaged and never counted as units."
    )
    return found, told, ""


def _not_said(rows: Sequence[ForeignRow], own: Sequence[int], units: int, column: str) -> str:
    """That a column tells rows of a unit apart, and what of it nobody has said."""
    first, second = rows[own[0]], rows[own[1]]
    more = f" ({units:,} units are)" if units > 1 else ""
    return (
        f"the unit {shown(first.unit)} is there twice for {', '.join(first.levels)}: at "
        f"{first.where} and {second.where}{more}; {column} tells these rows apart: say --repeat "
        f"{column} where they are repeats, or --variant {column}, beside the others, where it was "
        "compared"
    )
