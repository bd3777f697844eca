"""From results to the places of a run: which round, which repeat, and what is not there.

A unit of the file becomes a round: what variants are paired on. Where nothing pairs the rows, each
is a round of its own variant, in an order that has nothing to do with the file's; rows of one unit
that only one variant has, such as a user of an A/B test, are its repeats there. Nothing here looks
at a score to place a row.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from matrix.model.errors import BadInput
from matrix.model.seeds import content_hash, derive_seed
from matrix.store.foreign.results import (
    MOST_LEVELS,
    ForeignResults,
    ForeignRow,
    RowFaults,
    groups_something,
    in_several,
    pairs_something,
    shown,
    twice_in,
)
from matrix.store.foreign.tabular.names import is_whose

MOST_PLACES: Final = 20_000_000
"""Units x scenarios x repeats x variants; comparisons lay them out in memory."""
WHOLE: Final = "all"
"""The scenario of results that have none."""


class PlacedRow(NamedTuple):
    """A result in its place."""

    row: ForeignRow
    round: int
    repeat: int
    scenario: str
    session_id: str


class Arranged(NamedTuple):
    """Results in their places.

    Attributes:
        placed: The results.
        rounds: Units, or rows of the variant that has most.
        scenarios: In the order of the file.
        repeats: Of a unit, at most.
        levels: Factor -> its levels, in the order of the file.
        paired: Whether units say which results of several variants belong together.
        grouped: Whether they say it of the rows of each variant alone: no unit is in two.
        units: Hash of what the units are, by which two imports can be paired; empty without any.
        notes: What a verdict on them has to be read with, in sentences.
    """

    placed: Sequence[PlacedRow]
    rounds: int
    scenarios: tuple[str, ...]
    repeats: int
    levels: dict[str, tuple[str, ...]]
    paired: bool
    grouped: bool
    units: str
    notes: tuple[str, ...] = ()


def arrange(results: ForeignResults, source: str, *, must_pair: bool) -> Arranged:
    """Give every result its place.

    Args:
        results: The results.
        source: The file, for messages.
        must_pair: Whether the user has named the unit, so that one that pairs nothing is a mistake.

    Raises:
        BadInput: A unit is twice in a variant, or there is too much.
    """
    rows = [row._replace(scenario=row.scenario or WHOLE) for row in results.rows]
    scenarios = tuple(dict.fromkeys(row.scenario for row in rows))
    levels = {
        factor: tuple(dict.fromkeys(row.levels[place] for row in rows))
        for place, factor in enumerate(results.factors)
    }
    # rounds of a run of ours have numbers; units that it had imported have names
    own = results.exported is not None and not results.exported.unit
    if results.exported is not None:
        paired = results.exported.paired
        grouped = results.exported.grouped and not paired
    else:
        paired = bool(results.unit) and (pairs_something(rows) or _one_variant(rows))
        paired = paired and (must_pair or not _slipped(results.unit, rows))
        grouped = bool(results.unit) and not paired and groups_something(rows)
    faults = RowFaults(source)
    notes: tuple[str, ...] = ()
    if results.unit and not paired and not grouped and must_pair:
        told = f"no {shown(results.unit)} is in two variants, so it pairs nothing; leave --unit out"
        faults.say(None, "--unit", f"{told} (or `--unit none`) for rows that belong to no others")
    if paired and (told := twice_in(rows, results.twice)):
        faults.say(None, "", told)
    if grouped and (told := _topics_within(rows)):
        rows, scenarios, notes = [row._replace(scenario=WHOLE) for row in rows], (WHOLE,), (told,)
    placed, rounds, repeats = _by_unit(rows, own=own) if paired else _alone(rows, grouped=grouped)
    faults.stop_if_any()
    size = rounds * len(scenarios) * repeats * len({row.levels for row in rows})
    if size > MOST_PLACES:
        told = f"has {rounds:,} units x {len(scenarios):,} scenarios x {repeats:,} repeats of each "
        told += f"variant, more than {MOST_PLACES:,} places"
        faults.say(None, "", told)
    if max(len(scenarios), repeats) > MOST_LEVELS:
        faults.say(None, "", f"has more than {MOST_LEVELS} scenarios or repeats of a unit")
    faults.stop_if_any()
    units = sorted({(row.scenario, row.unit) for row in rows})
    return Arranged(
        placed,
        rounds,
        scenarios,
        repeats,
        levels,
        paired,
        grouped,
        content_hash([results.unit, units], length=32) if paired else "",
        notes,
    )


def _slipped(unit: str, rows: Sequence[ForeignRow]) -> bool:
    """Whether whose rows they are is one variant's each, but for a few that somebody let slip.

    Users of an A/B test are no pairs because one in ten, at most, has seen both of its sides.
    """
    several, units = in_several((row.unit, row.levels) for row in rows)
    return is_whose(unit) and several * _FEW <= units and groups_something(rows)


_FEW: Final = 10


def _one_variant(rows: Sequence[ForeignRow]) -> bool:
    return len({row.levels for row in rows}) < 2


def _by_unit(rows: Sequence[ForeignRow], *, own: bool) -> tuple[list[PlacedRow], int, int]:
    """PlacedRow by their units, which are numbered in an order that no file chooses.

    A unit is one round, in however many scenarios it is. Units of a run of our own are its rounds,
    and keep the numbers that they were launched by.
    """
    units = sorted({row.unit for row in rows}, key=lambda unit: (content_hash(unit), unit))
    numbers = {unit: int(unit) if own else number for number, unit in enumerate(units)}
    rounds = max(numbers.values(), default=-1) + 1
    nth = _repeats(rows)
    placed = [
        PlacedRow(
            row,
            numbers[row.unit],
            number,
            row.scenario,
            content_hash([row.scenario, row.unit, row.repeat, *row.levels]),
        )
        for row, number in zip(rows, nth, strict=True)
    ]
    return placed, rounds, max(nth, default=1)


def _repeats(rows: Sequence[ForeignRow]) -> list[int]:
    """Which repeat of its unit each row is, from 1.

    Repeats of the same names in all variants are numbered alike. Other names, such as seeds that
    each variant has its own of, say nothing across variants, so each numbers its own.
    """
    names = defaultdict[tuple[str, str], dict[tuple[str, ...], set[str]]](
        lambda: defaultdict[tuple[str, ...], set[str]](set)
    )
    for row in rows:
        names[row.scenario, row.unit][row.levels].add(row.repeat)
    order = dict[tuple[str, str, tuple[str, ...]], dict[str, int]]()
    for (scenario, unit), by_variant in names.items():
        for levels, own in by_variant.items():
            named = sorted(own, key=_natural)
            order[scenario, unit, levels] = {name: at for at, name in enumerate(named, 1)}
    return [order[row.scenario, row.unit, row.levels][row.repeat] for row in rows]


def _natural(text: str) -> tuple[int, str]:
    return (int(text), "") if text.isdecimal() and len(text) < 10 else (10**10, text)


def _topics_within(rows: Sequence[ForeignRow]) -> str:
    """That units have rows of several topics, in a sentence; empty where none has.

    Topics that weigh alike have samples of their own, which rows of one unit are not.
    """
    topic: dict[tuple[str, tuple[str, ...]], str] = {}
    if all(topic.setdefault((row.unit, row.levels), row.scenario) == row.scenario for row in rows):
        return ""
    return "Units have rows of several scenarios, and are averaged over them: none is told apart."


def _alone(rows: Sequence[ForeignRow], *, grouped: bool) -> tuple[list[PlacedRow], int, int]:
    """PlacedRow in an order drawn for each variant: the same for the same rows, in any order.

    What is ordered are rows, or the units of each variant, with their rows as repeats.
    """
    groups = defaultdict[tuple[str, tuple[str, ...]], list[list[ForeignRow]]](list)
    for unit in _rows_of_units(rows) if grouped else ([row] for row in rows):
        groups[unit[0].scenario, unit[0].levels].append(unit)
    longest = defaultdict[str, int](int)
    for (scenario, _), own in groups.items():
        longest[scenario] = max(longest[scenario], len(own))
    # a scenario's rows have the same numbers in every variant
    first, rounds = dict[str, int](), 0
    for scenario, size in longest.items():
        first[scenario], rounds = rounds, rounds + size
    placed = []
    for (scenario, levels), own in groups.items():
        own.sort(key=lambda unit: unit[0].unit if grouped else _sorting(unit[0]))
        draws = random.Random(derive_seed("import", scenario, *levels))  # noqa: S311  no secret
        draws.shuffle(own)
        placed += [
            PlacedRow(
                row,
                number,
                nth,
                scenario,
                content_hash([scenario, number, *levels, *([str(nth)] if grouped else [])]),
            )
            for number, unit in enumerate(own, first[scenario])
            for nth, row in enumerate(unit, 1)
        ]
    return placed, rounds, max((one.repeat for one in placed), default=1)


def _sorting(row: ForeignRow) -> tuple[bool, float, str, str]:
    return row.score is None, row.score or 0.0, row.unit, row.where


def _rows_of_units(rows: Sequence[ForeignRow]) -> Iterable[list[ForeignRow]]:
    """Rows of each unit and variant together, in an order that is that of no file."""
    units = defaultdict[tuple[str, str, tuple[str, ...]], list[ForeignRow]](list)
    for row in rows:
        units[row.scenario, row.unit, row.levels].append(row)
    for own in units.values():
        own.sort(key=lambda row: (_natural(row.repeat), _sorting(row)))
    return units.values()


def tells_range(rows: Sequence[ForeignRow]) -> tuple[float, float] | None:
    """From 0 to 1 where all scores lie there; ``None`` for any other, which nothing bounds."""
    scores = [row.score for row in rows if row.score is not None]
    return (0.0, 1.0) if scores and min(scores) >= 0 and max(scores) <= 1 else None


def require_scores(results: ForeignResults, source: str) -> None:
    """See that something can be compared at all.

    Raises:
        BadInput: No row has a score.
    """
    if all(row.score is None for row in results.rows):
        faults = RowFaults(source)
        faults.say(None, "", f"none of {len(results.rows):,} rows has a score")
        raise BadInput(faults.mistakes)
