"""Whether rows go together by more than chance in what a column says of them.

Rows that do are no independent ones, whatever the column is called: those of one clinic, of one day
or of one document. Fisher's analysis of variance (1925, Statistical Methods for Research Workers).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from statistics import fmean
from typing import Final, TypeVar

from matrix.store.foreign.results import fewest_units
from matrix.store.foreign.tabular.units.belonging import UnitCell

ENOUGH: Final = 10
"""Owners from which on they can be a sample: as many as a verdict takes."""
FEWEST_GROUPS: Final = 3
_Key = TypeVar("_Key", bound=Hashable)


def pairs_go_together(own: Sequence[UnitCell], units: Sequence[UnitCell]) -> bool:
    """Whether differences of units that one owner has are alike by more than chance.

    Args:
        own: Who has the unit of each row.
        units: The units that pair variants.
    """
    owner_of = {of_unit.unit: one.unit for one, of_unit in zip(own, units, strict=True)}
    found = _differences((one.unit, one) for one in units)
    return any(
        _alike_within([owner_of[unit] for unit in own_of], list(own_of.values()), tests=len(found))
        for own_of in found
    )


def repeats_go_together(own: Sequence[UnitCell], units: Sequence[UnitCell]) -> bool:
    """Whether what variants differ by in a unit is alike in units of one repeat.

    Repeats of no more than chance are alike in nothing: the third of one variant has nothing to do
    with the third of another. Of an epoch, or of a rater, they may be.

    Args:
        own: Which repeat each row is.
        units: The units that pair variants.
    """
    found = _differences(
        ((of_unit.unit, one.unit), of_unit)
        for one, of_unit in zip(own, units, strict=True)
        if one.unit
    )
    for own_of in found:
        by_unit = defaultdict[str, list[float]](list)
        for (unit, _), difference in own_of.items():
            by_unit[unit].append(difference)
        means = {unit: fmean(values) for unit, values in by_unit.items()}
        if _alike_within(
            [at for _, at in own_of],
            [difference - means[unit] for (unit, _), difference in own_of.items()],
            lost=len(means) - 1,
            tests=len(found),
        ):
            return True
    return False


def _differences(cells: Iterable[tuple[_Key, UnitCell]]) -> list[dict[_Key, float]]:
    """Of each variant but the first, what it differs by from that one, of all that both have."""
    scores = defaultdict[tuple[str, ...], dict[_Key, list[float]]](dict)
    for key, one in cells:
        if one.score is not None:
            scores[one.variant].setdefault(key, []).append(one.score)
    means = [{key: fmean(own) for key, own in of.items()} for of in scores.values()]
    return [
        {key: mean - means[0][key] for key, mean in other.items() if key in means[0]}
        for other in means[1:]
    ]


def beside_units(own: Sequence[UnitCell], units: Sequence[UnitCell]) -> list[UnitCell]:
    """The same with scores from which the mean of their unit over all variants is taken off."""
    scores = defaultdict[str, list[float]](list)
    for one in units:
        if one.score is not None:
            scores[one.unit].append(one.score)
    means = {unit: fmean(values) for unit, values in scores.items()}
    return [
        one if one.score is None else one._replace(score=one.score - means[of_unit.unit])
        for one, of_unit in zip(own, units, strict=True)
    ]


def rows_go_together(own: Sequence[UnitCell], units: Sequence[UnitCell], *, tests: int = 1) -> bool:
    """Whether rows, or units, of one variant and value are alike by more than chance.

    Where values are in several variants, whether these differ by more than chance from one to
    another. None of it without some values in each variant: then nothing can be told apart.

    Args:
        own: What may be common to rows.
        units: What rows belong to in any case; empty for rows of their own.
        tests: How many of its kind are made at once.
    """
    scores = defaultdict[tuple[str, tuple[str, ...]], list[float]](list)
    group_of = dict[tuple[str, tuple[str, ...]], str]()
    for number, one in enumerate(own):
        key = (units[number].unit if units else f"{number}", one.variant)
        if group_of.setdefault(key, one.unit) != one.unit:
            return False
        if one.score is not None:
            scores[key].append(one.score)
    rows = [(group_of[key], key[1], fmean(values)) for key, values in scores.items()]
    groups_of = {(group, variant) for group, variant, _ in rows}
    variants = list(dict.fromkeys(variant for _, variant, _ in rows))
    if len(variants) < 2 or len(groups_of) == len(rows):
        return False
    if len({group for group, _ in groups_of}) == len(groups_of):  # each is in one variant
        means = {one: fmean(v for _, of, v in rows if of == one) for one in variants}
        return fewest_units(groups_of) >= FEWEST_GROUPS and _alike_within(
            [(group, variant) for group, variant, _ in rows],
            [value - means[variant] for _, variant, value in rows],
            centred=len(variants),
            tests=tests,
        )
    first, *others = variants
    several = Counter(group for group, _ in groups_of)
    if sum(count > 1 for count in several.values()) < max(ENOUGH, len(several) / 2):
        return False
    return any(
        _differ_otherwise(
            [group for group, variant, _ in rows if variant in (first, other)],
            [variant == first for _, variant, _ in rows if variant in (first, other)],
            [value for _, variant, value in rows if variant in (first, other)],
            tests=len(others) * tests,
        )
        for other in others
    )


def _alike_within(
    groups: Sequence[Hashable],
    values: Sequence[float],
    *,
    centred: int = 1,
    lost: int = 0,
    tests: int = 1,
) -> bool:
    """Whether values of one group are alike by more than chance makes them.

    Where all of a group are the same it has its name from them, and nothing is shown.

    Args:
        groups: Of each value.
        values: In the units of the score.
        centred: How many means of whole groups were taken off the values; 1 for none, as their
            own mean is free.
        lost: How many more means were, of values of all groups.
        tests: How many of its kind are made at once.
    """
    if not values:
        return False
    own = defaultdict[Hashable, list[float]](list)
    for group, value in zip(groups, values, strict=True):
        own[group].append(value)
    centre = 0.0 if centred > 1 else fmean(values)
    between = sum(len(one) * (fmean(one) - centre) ** 2 for one in own.values())
    within = sum(map(_spread, own.values()))
    return _is_beyond(between, len(own) - centred, within, len(values) - len(own) - lost, tests)


def _differ_otherwise(
    groups: Sequence[Hashable], first: Sequence[bool], values: Sequence[float], *, tests: int = 1
) -> bool:
    """Whether two variants differ otherwise in some groups than in others, in the same sense.

    The interaction of the two ways, of groups that have values of both variants.

    Args:
        groups: Of each value.
        first: Whether it is of the first of the two variants.
        values: In the units of the score.
        tests: How many of its kind are made at once.
    """
    own = defaultdict[tuple[Hashable, bool], list[float]](list)
    for key, value in zip(zip(groups, first, strict=True), values, strict=True):
        own[key].append(value)
    both = [one for one in dict.fromkeys(groups) if own.keys() >= {(one, True), (one, False)}]
    if len(both) < 2:
        return False
    differences, weights = [], []
    for one in both:
        mine, other = own[one, True], own[one, False]
        differences.append(fmean(mine) - fmean(other))
        weights.append(1 / (1 / len(mine) + 1 / len(other)))
    centre = fmean(differences, weights)
    between = sum(w * (d - centre) ** 2 for w, d in zip(weights, differences, strict=True))
    cells = [own[one, side] for one in both for side in (True, False)]
    within = sum(map(_spread, cells))
    free = sum(map(len, cells)) - len(cells)
    return _is_beyond(between, len(both) - 1, within, free, tests)


def _spread(values: Sequence[float]) -> float:
    """Sum of squares about their own mean."""
    mean = fmean(values)
    return sum((value - mean) ** 2 for value in values)


def _is_beyond(between: float, groups: int, within: float, free: int, tests: int) -> bool:
    if groups < 1 or free < 1 or within <= _NOTHING * between:
        return False
    from scipy.stats import f

    level = _OF_MANY if groups + 1 >= ENOUGH else _OF_FEW
    return float(f.sf(between / groups * free / within, groups, free)) < level / tests


_OF_MANY: Final = 0.05
"""How often chance alone makes groups of what is alike in nothing: that costs hardly any power."""
_OF_FEW: Final = 0.01
"""The same of fewer groups than a verdict takes: then it costs the verdict."""
_NOTHING: Final = 1e-9
