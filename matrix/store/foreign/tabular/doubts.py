"""What makes results doubtful by their look: copies, marks for nothing, scales, sorted numbers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import gcd, inf, sqrt
from statistics import median
from typing import Final

from matrix.store.foreign.results import ForeignRow
from matrix.store.foreign.tabular.numbers import number_of
from matrix.store.foreign.tabular.units.belonging import UnitCell, counts_rows, numbered_scores

_FEWEST_DOUBLED: Final = 8
"""Different rows from which on it is no chance that all are there a multiple of some times."""
_NOTHING: Final = (-9.0, -99.0, -999.0, -9999.0)
_MARKS: Final = (-1.0, 99.0, 999.0, 9999.0)
"""What programs and people write where there is no score."""
_FAR: Final = 5.0
_SURE: Final = 3.3
_FEWEST: Final = 20
_MOST_TOPICS: Final = 12


def marks_of_nothing(rows: Sequence[ForeignRow]) -> str:
    """That some scores are what programs write for none, in words; empty where none are."""
    counts = Counter(row.score for row in rows if row.score is not None)
    low = min((score for score in counts if score not in _NOTHING), default=-1.0)
    found = [mark for mark in _NOTHING if counts[mark]]
    if low < 0 or not found:
        return ""
    count = sum(counts[mark] for mark in found)
    scores = "1 score is" if count == 1 else f"{count:,} scores are"
    return (
        f"{scores} {found[0]:g}, and no other is below {low:g}; leave cells without a score empty, "
        "or, if these are scores, add a number to all of them"
    )


def score_doubts(rows: Sequence[ForeignRow]) -> list[str]:
    """Scores that may be marks for none, and variants on scales of their own, in sentences."""
    scores = [row.score for row in rows if row.score is not None]
    if not scores:
        return []
    told, counts = [], Counter(scores)
    for mark in _MARKS:
        others = [score for score in counts if score != mark]
        if not counts[mark] or not others:
            continue
        low, high = min(others), max(others)
        if low >= 0 and (mark < 0 or 0 < _FAR * high < mark):
            scored = "1 score is" if counts[mark] == 1 else f"{counts[mark]:,} scores are"
            told.append(
                f"{scored} {mark:g}, all others are from {low:g} to {high:g}: if it stands for no "
                "score, leave these cells empty; it is counted as one."
            )
    return told + _scales(rows)


def share_beside_percent(rows: Sequence[ForeignRow]) -> str:
    """That a variant has shares where another has percentages, in words; empty where none has.

    All from 0 to 1 in one, and a hundred times as large, up to 100, in the other.
    """
    by_variant = _by_variant(rows)
    shares = {one: own for one, own in by_variant.items() if min(own) >= 0 and max(own) <= 1}
    for small, of_one in shares.items():
        for large, of_other in by_variant.items():
            low, high = median(of_one), median(of_other)
            if {0.0, 1.0}.issuperset(of_one) or not 0 <= min(of_other) <= max(of_other) <= _HUNDRED:
                continue
            if low > 0 and _HUNDRED / 2 < high / low < _HUNDRED * 2:
                return (
                    f"scores of {', '.join(small)} are from 0 to 1 and those of {', '.join(large)} "
                    f"about a hundred times as large, up to {max(of_other):g}, as percentages are; "
                    "write all of them alike"
                )
    return ""


def _by_variant(rows: Sequence[ForeignRow]) -> dict[tuple[str, ...], list[float]]:
    found = defaultdict[tuple[str, ...], list[float]](list)
    for row in rows:
        if row.score is not None:
            found[row.levels].append(row.score)
    return found


_HUNDRED: Final = 100.0


def _scales(rows: Sequence[ForeignRow]) -> list[str]:
    by_variant = _by_variant(rows)
    known = {one: own for one, own in by_variant.items() if min(own) >= 0}
    small = [one for one, own in known.items() if max(own) <= 1 and not {0.0, 1.0}.issuperset(own)]
    large = [one for one, own in known.items() if max(own) > _NO_SHARE]
    if not small or not large:
        return []
    return [
        f"scores of {', '.join(small[0])} are from 0 to 1, those of {', '.join(large[0])} up to "
        f"{max(known[large[0]]):g}: see that both are on one scale."
    ]


_NO_SHARE: Final = 10


def sorted_doubt(name: str, cells: Sequence[UnitCell]) -> str:
    """That scores rise, or fall, with a number of the row in every variant; empty where not.

    Then pairs by it may be of the best with the best. Spearman's rank correlation (1904, Am J
    Psychol 15:72) of each variant, all of one sign.
    """
    if not counts_rows(cells):
        return ""
    from scipy.stats import spearmanr  # takes a while to load, and few files need it

    found = []
    for pairs_of in numbered_scores(cells).values():
        numbers, scores = zip(*pairs_of, strict=True)
        if len(pairs_of) < _FEWEST or len(set(scores)) < 2:
            return ""
        found.append(float(spearmanr(numbers, scores).statistic) * sqrt(len(pairs_of) - 1))
    if len(found) < 2 or min(map(abs, found)) < _SURE or len({one > 0 for one in found}) > 1:
        return ""
    way = "rise" if found[0] > 0 else "fall"
    return (
        f"scores {way} with {name} in every variant: if it only counts the rows of sorted files, "
        "what is paired by it belongs to nothing in common, and what is said here of a winner does "
        "not hold; --unit none takes them for rows of their own."
    )


def divided_otherwise(
    columns: Mapping[str, Sequence[str]], variants: Sequence[tuple[str, ...]]
) -> list[str]:
    """Which topics are not divided alike among variants that nothing pairs, in sentences.

    Pearson's chi-square (1900, Phil Mag 50:157) beyond one in 10,000, of columns of a few words.
    """
    from scipy.stats import chi2_contingency

    told = []
    for name, texts in columns.items():
        values = sorted(set(texts))
        sides = sorted(set(variants))
        if not 1 < len(values) <= _MOST_TOPICS or len(texts) < 10 * len(values) * len(sides):
            continue
        if len(sides) < 2 or any(isinstance(number_of(one), float) for one in values):
            continue
        counts = Counter(zip(variants, texts, strict=True))
        table = [[counts[side, value] for value in values] for side in sides]
        if min(map(sum, zip(*table, strict=True))) < 5:
            continue
        if all(sum(map(bool, own)) == 1 for own in zip(*table, strict=True)):
            told.append(
                f"each {name} is in one variant: what is of the variants and what of these nobody "
                f"can tell; --unit {name} counts each once."
            )
        elif float(chi2_contingency(table).pvalue) < _UNLIKELY:
            told.append(
                f"{name} is not divided alike among the variants: a difference of their means may "
                f"be that. --scenario {name} weighs each alike."
            )
    return told


_UNLIKELY: Final = 1e-4


def doubled(rows: Sequence[tuple[str, ...]], columns: Iterable[Sequence[str]]) -> tuple[str, bool]:
    """How many rows are there again and are no chance, in a sentence, and whether they are many.

    Empty for none. They are many if all are there several times, or a tenth of them again. Rows of
    few different scores are alike by themselves: but then not all equally often, nor where a column
    has numbers of many decimals, or long texts, that are alike in whole rows alone.

    Args:
        rows: All cells of each row.
        columns: The cells of each column.
    """
    counts = Counter(rows)
    again = len(rows) - len(counts)
    if not again:
        return "", False
    told = f"{again:,} of {len(rows):,} rows are identical to an earlier one in every column"
    times = gcd(*counts.values())
    if times > 1 and len(counts) >= _FEWEST_DOUBLED:
        return f"{told}, and each is there {times:,} times or a multiple of it", True
    if again < _FEWEST_AGAIN:
        return "", False
    chance = min((_by_chance(own, len(counts)) for own in columns), default=inf)
    if again <= _TIMES_CHANCE * chance:
        return "", False
    many = again * _MANY > len(rows)
    return f"{told}, which chance does not make of such numbers and texts", many


_FEWEST_AGAIN: Final = 3
_TIMES_CHANCE: Final = 5
_MANY: Final = 10
_LONG_TEXT: Final = 40


def _by_chance(cells: Sequence[str], different: int) -> float:
    """How many rows of a column would be as an earlier one by chance, roughly, and not less.

    Numbers are taken as spread over their middle half as evenly as over the rest, in steps of their
    last decimal. As many as are alike in rows that differ elsewhere are chance, too.
    """
    shared = float(different - len(set(cells)))
    found = sorted(one for one in map(number_of, cells) if isinstance(one, float))
    if not found:
        return shared if sum(map(len, cells)) >= _LONG_TEXT * len(cells) else inf
    if len(found) < len(cells):
        return inf
    low, high = found[len(found) // 4], found[3 * len(found) // 4]
    if not high > low:
        return inf
    step = 10.0 ** -max(_decimals(cell) for cell in cells)
    pairs_of_rows = len(cells) * (len(cells) - 1) / 2
    return max(shared, pairs_of_rows * step * _DENSITY / (high - low))


_DENSITY: Final = 0.5
"""The integral of a density squared, in units of its middle half: .38 for a normal, .5 if even."""


def _decimals(cell: str) -> int:
    mantissa, _, exponent = cell.casefold().partition("e")
    return max(0, len(mantissa.partition(".")[2]) - int(exponent or 0))
