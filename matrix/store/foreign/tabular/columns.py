"""Which column of a table is what, by its usual name or as the user says."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from typing import Final, NamedTuple

from matrix.model.lines import in_line
from matrix.model.metrics import less_is_better
from matrix.store.foreign.results import (
    LONGEST_NAME,
    NONE,
    Wishes,
    shown,
)
from matrix.store.foreign.tabular.currencies import DOLLARS
from matrix.store.foreign.tabular.names import (
    ANSWERED,
    ASKED,
    COST,
    ERROR,
    EXIT,
    FLAG,
    MILLISECONDS,
    REPEAT,
    SCENARIO,
    SCORE,
    SECONDS,
    SOLE_SCORE,
    STATUS,
    TOKENS_IN,
    TOKENS_OUT,
    UNIT,
    VARIANT,
    WENT_WELL,
    plain,
    spoken,
)
from matrix.store.foreign.tabular.numbers import number_of, says_failed, score_of
from matrix.store.foreign.tabular.statuses import meaning_of
from matrix.store.foreign.tabular.table import (
    YES_OR_NO,
    ColumnFinder,
    ForeignTable,
    blanks_in,
    cell_text,
    is_metric,
    is_numeric,
    is_yes_or_no,
    listed,
    why_no_metric,
)
from matrix.store.foreign.tabular.units.belonging import (
    same_topics,
    splits,
)
from matrix.store.foreign.tabular.units.finding import (
    FoundUnit,
    named_unit,
    over_repeats,
    unit_cells,
    usual_unit,
)


class Columns(NamedTuple):
    """Places of columns; -1 for none. ``within`` has what a unit has several of.

    ``alone`` is what a verdict is about alone, such as the units; empty where it is about others
    like them, too.
    """

    unit: int
    variants: tuple[int, ...]
    score: int
    cost: int
    scenario: int
    repeat: int
    error: int
    status: int
    flags: tuple[int, ...]
    tokens: tuple[int, int]
    duration: tuple[int, float]
    said: tuple[tuple[str, int], ...]
    metrics: tuple[int, ...]
    why_left: Mapping[int, str]
    notes: tuple[str, ...] = ()
    no_costs: str = ""
    within: int = -1
    alone: str = ""


FILE: Final = "file"
"""What a file is called where it is a variant."""
FEWEST_UNITS: Final = 10
"""Units of each scenario from which on a column of a usual name is taken for scenarios."""


_OF_RUNS: Final = frozenset({"session_id", "launch_order", "cost_nano", "prelude_id"})
"""Columns that the table of sessions of a run has, as a data set of it does."""


_HTTP_DIGITS: Final = 3


def columns_of(
    table: ForeignTable,
    wishes: Wishes,
    tables: Sequence[ForeignTable],
    *,
    say: Callable[[int | None, str, str], None],
) -> Columns | None:
    """Which column is what; ``None`` where something is missing, which is told."""
    if not table.rows:
        say(None, "", "has no rows")
        return None
    if set(table.headers) >= _OF_RUNS:
        told = "is the table `sessions` of a run, which does not say what the run was; export the "
        say(None, "", f"{told}run itself: `matrix export RUN --to csv` or `--to inspect` come back")
        return None
    finder = ColumnFinder(table, say, tables)

    def numeric(place: int) -> bool:
        return is_numeric(finder.cells(place), words=True)

    def in_dollars(place: int) -> bool:
        return table.currencies.get(place, DOLLARS) == DOLLARS

    def scored(place: int) -> bool:
        cells = (cell for cell in finder.cells(place) if not says_failed(cell, failed))
        return is_numeric(cells, words=True, percent=True)

    failed = frozenset(map(spoken, wishes.failed))
    variants = tuple(finder.named("--variant", one) for one in wishes.variants)
    score = finder.named("--score", wishes.score) if wishes.score else -1
    unit, scenario = (
        finder.named(flag, name) if name and name != NONE else -1
        for flag, name in (("--unit", wishes.unit), ("--scenario", wishes.scenario))
    )
    cost = finder.named("--cost", wishes.cost) if wishes.cost else -1
    if cost >= 0 and not in_dollars(cost):
        if not less_is_better(table.headers[cost]):
            told = f"{wishes.cost!r} is in {table.currencies[cost]}, and money is counted in US "
            say(None, "--cost", f"{told}dollars; leave it out, and say --lower {wishes.cost}")
        finder.taken.discard(cost)
        cost = -1
    repeat = finder.named("--repeat", wishes.repeat) if wishes.repeat else -1
    status = finder.named("--status", wishes.status) if wishes.status else -1
    passed_over = ""
    if not wishes.score:
        # a usual name is no reason to take a text: but what is meant for a number is told as one
        score = finder.usual(SCORE, scored)
        score = score if score >= 0 else _sole_score(finder, scored)
        score = score if score >= 0 else finder.usual(SCORE[:1])
        passed_over = "" if score >= 0 else _passed_over(table, failed)
    why_left, notes = dict[int, str](), list[str]()
    if not wishes.variants and (found := _usual_variant(finder, tables)) >= 0:
        variants = (found,)
        name = listed([table.headers[found]])
        match _told_by_files(tables, table.headers[found]):
            case "none":
                variants = ()
                why_left[found] = " (the same in every file, each of which is a variant)"
            case "some":
                told = f"files have the same values of {name}: say --variant {FILE} where each is a"
                told = f"{told} variant, --variant {name} where they go together, or both"
                say(None, "", told)
                return None
    found_unit, cells = FoundUnit(unit), cache(partial(unit_cells, tables, table, variants, score))
    if wishes.unit is None:
        found_unit = usual_unit(finder, cells, why_left, notes)
    elif wishes.unit == NONE:
        finder.usual(UNIT)  # a number of a row is no metric
    elif unit >= 0:
        found_unit = named_unit(finder, cells, unit, notes)
    unit = found_unit.place
    if not wishes.cost:
        cost = finder.usual(COST[:2], in_dollars)
        if cost < 0:
            cost = finder.usual(COST, lambda place: numeric(place) and in_dollars(place))
    if cost in table.mixed:
        told = f"has amounts in {table.mixed[cost]}; write all of them in one currency"
        say(None, table.headers[cost], told)
        return None
    if wishes.scenario is None:
        scenario = finder.usual(SCENARIO)
    no_costs = ""
    if blank := blanks_in(table, cost):
        no_costs = f"{blank:,} of {len(table.rows):,} rows have no cost"
        why_left[cost] = (
            f" (blank in {blank:,} of {len(table.rows):,} rows: of costs nothing is said)"
        )
        cost = -1
    elif not wishes.cost and cost >= 0 and _is_list_price(table, cost, variants):
        why_left[cost] = (
            " (the same in every row of a variant, as prices of so many tokens are: "
            f"--cost {listed([table.headers[cost]])} where it is what a row cost)"
        )
        cost = -1
    if wishes.scenario is None and scenario >= 0 and _is_thin(table, scenario, unit, variants):
        why_left[scenario] = (
            f" (has fewer than {FEWEST_UNITS} units in some: --scenario "
            f"{listed([table.headers[scenario]])} takes it all the same)"
        )
        scenario = -1
    if not wishes.repeat:
        repeat = finder.usual(REPEAT)
    if repeat >= 0 and unit >= 0:
        found_unit = over_repeats(
            finder, cells, found_unit, repeat, notes, said=bool(wishes.repeat or wishes.unit)
        )
        if found_unit.place == repeat:
            unit, repeat = repeat, -1
    split = _split(table, scenario, unit, (*variants, *([repeat] if repeat >= 0 else [])))
    if split and wishes.scenario is None:
        why_left[scenario] = (
            f" (differs between rows of one unit, so it is no scenario: {split}; --scenario none "
            "where there is none)"
        )
        scenario = -1
    elif split:
        told = f"differs between rows of one unit, which it would tear apart: {split}; write one "
        say(None, "--scenario", f"{told}of each unit, or leave it out: --scenario none")
    missing = []
    if score < 0 and not wishes.score:
        missing.append(("--score", "score"))
    if not variants and len(tables) < YES_OR_NO:
        missing.append(("--variant", "variant"))
    for flag, what in missing:
        told = f"no column of the usual names for the {what}"
        if what == "score" and passed_over:
            told = passed_over
        perhaps = long = ""
        if what == "variant":
            long = "; a row is one result of one variant"
            if score >= 0 and (some := _few_values(table, finder.taken)):
                perhaps = f" perhaps {listed(some)},"
        elif several := [one for one in table.headers if plain(one) in SOLE_SCORE]:
            perhaps = f" perhaps {listed(several)},"
        say(None, "", f"{told}; name it: {flag} COLUMN,{perhaps} of {listed(table.headers)}{long}")
    alone = score < 0 and missing and not variants and len(tables) < YES_OR_NO
    if alone and (told := _wide(table, unit, finder.taken)):
        say(None, "", told)
    if missing or score < 0 or -1 in variants:
        return None
    seconds, ms = finder.usual(SECONDS, numeric), finder.usual(MILLISECONDS, numeric)
    tokens = (finder.usual(TOKENS_IN, numeric), finder.usual(TOKENS_OUT, numeric))
    error = finder.usual(ERROR, lambda place: not numeric(place))
    flags = finder.all(FLAG, lambda place: is_yes_or_no(finder.cells(place)))
    if not wishes.status:
        status = finder.usual(STATUS, lambda place: _tells_ends(table, place, wishes.failed))
    said = (("user", finder.usual(ASKED)), ("assistant", finder.usual(ANSWERED)))
    # a unit that a question is named by is the question
    asked = said if said[0][1] >= 0 or unit < 0 else (("user", unit), said[1])
    counts = Counter(name.strip() for name in table.headers)
    twice = {name for name, count in counts.items() if count > 1}
    used = {unit, score, cost, scenario, repeat, error, status, *variants, *flags, *tokens}
    used |= {seconds, ms}
    for name in sorted({table.headers[place] for place in used if place >= 0} & twice):
        say(None, "", f"has two columns called {shown(name)}; give one of them another name")
    why_left |= {
        place: " (two columns are called so)"
        for place, name in enumerate(table.headers)
        if name.strip() in twice
    }
    free = [place for place in range(len(table.headers)) if place not in finder.taken]
    metrics = list[int]()
    for place in free:
        if (name := table.headers[place].strip()) and name not in twice:
            cells_here = list(finder.cells(place))
            if why := why_no_metric(cells_here):
                why_left.setdefault(place, f" ({why})")
            elif is_metric(cells_here):
                metrics.append(place)
    return Columns(
        unit=unit,
        within=found_unit.within,
        alone=found_unit.alone,
        variants=variants,
        score=score,
        cost=cost,
        scenario=scenario,
        repeat=repeat,
        error=error,
        status=status,
        flags=flags,
        tokens=tokens,
        duration=(seconds, 1.0) if seconds >= 0 else (ms, 0.001),
        said=tuple(one for one in asked if one[1] >= 0),
        metrics=tuple(metrics),
        why_left=why_left,
        notes=tuple(notes),
        no_costs=no_costs,
    )


def _usual_variant(finder: ColumnFinder, tables: Sequence[ForeignTable]) -> int:
    """The first column of a usual name; of one table, one with several values goes before others.

    Of several tables each may be a variant of what is the same in all of them.
    """
    if len(tables) > 1:
        return finder.usual(VARIANT)
    found = finder.usual(VARIANT, lambda place: len(set(map(cell_text, finder.cells(place)))) > 1)
    return found if found >= 0 else finder.usual(VARIANT)


def _told_by_files(tables: Sequence[ForeignTable], header: str) -> str:
    """Whether values of a column tell "all" files apart, "some" of it, or "none" at all."""
    if len(tables) < YES_OR_NO or any(header not in one.headers for one in tables):
        return "all"
    found = [
        {cell_text(cells[one.headers.index(header)]) for _, cells in one.rows} for one in tables
    ]
    whole = set.union(*found)
    if sum(map(len, found)) == len(whole):
        return "all"
    return "none" if len(whole) == 1 else "some"


def _sole_score(finder: ColumnFinder, scored: Callable[[int], bool]) -> int:
    """The only column of a name that scores of several kinds have; -1 where it is not alone."""
    found = finder.all(tuple(SOLE_SCORE), scored)
    if len(found) == 1:
        return found[0]
    finder.taken.difference_update(found)
    return -1


def _passed_over(table: ForeignTable, failed: Collection[str]) -> str:
    """Which column of a usual name for the score has other words than known ones, and which."""
    for place, header in enumerate(table.headers):
        if plain(header) in SCORE:
            cells = (own[place] for _, own in table.rows)
            found = (score_of(cell, failed) for cell in cells)
            why = next((one for one in found if isinstance(one, str)), "has no value")
            return f"{listed([header])} is called as scores are, but no score: {why}"
    return ""


def _few_values(table: ForeignTable, taken: Collection[int]) -> list[str]:
    """Columns that may be what was compared: of a few values, each in several rows."""
    found = []
    for place, header in enumerate(table.headers):
        values = {cell_text(cells[place]) for _, cells in table.rows}
        if place not in taken and header and 1 < len(values) <= min(20, len(table.rows) // 2):
            found.append(header)
    return found


def _wide(table: ForeignTable, unit: int, taken: Collection[int]) -> str:
    """How a table with a column for each variant is made long; empty where it is none."""
    headers = [in_line(header[:LONGEST_NAME]) for header in table.headers]
    numeric = [
        place
        for place, header in enumerate(table.headers)
        if header and place not in taken and plain(header) not in SOLE_SCORE
        if is_numeric((cells[place] for _, cells in table.rows), words=True, percent=True)
    ]
    if len(numeric) < YES_OR_NO:
        return ""
    kept = [headers[unit]] if unit >= 0 else []
    kept += [headers[at] for at in range(len(headers)) if at not in numeric and at != unit]
    columns = [headers[place] for place in numeric]
    source = repr(in_line(table.source)) + table.reading
    melted = f"id_vars={kept}, value_vars={columns}, var_name='variant', value_name='score'"
    return (
        "where a table has a column for each variant, it is made long first: `import pandas; "
        f"pandas.{table.reader}({source}).melt({melted}).to_csv('long.csv', index=False)`; "
        "keep the columns of variants alone in value_vars"
    )


def _split(table: ForeignTable, scenario: int, unit: int, others: Sequence[int]) -> str:
    """Which unit a column of scenarios tears apart, in words."""
    if scenario < 0 or unit < 0:
        return ""
    same = same_topics(cell_text(cells[scenario]) for _, cells in table.rows)
    return splits(
        [
            (
                cell_text(cells[unit]),
                same[cell_text(cells[scenario])],
                tuple(cell_text(cells[one]) for one in others),
            )
            for _, cells in table.rows
        ]
    )


def _is_list_price(table: ForeignTable, cost: int, variants: Sequence[int]) -> bool:
    """Whether a column called price has one of each variant, and one that is no row's cost."""
    if not plain(table.headers[cost]).startswith("price"):
        return False
    prices = defaultdict[tuple[str, ...], set[float | str | None]](set)
    for _, cells in table.rows:
        prices[tuple(cell_text(cells[one]) for one in variants)].add(number_of(cells[cost]))
    found = [price for own in prices.values() for price in own]
    return len(found) == len(prices) and all(
        isinstance(one, float) and one >= _LEAST_LIST_PRICE for one in found
    )


_LEAST_LIST_PRICE: Final = 0.5


def _is_thin(table: ForeignTable, scenario: int, unit: int, variants: Sequence[int]) -> bool:
    """Whether some scenario has too few units to weigh as much as the others.

    Without a column of units it is rows of a variant that count.
    """
    units = defaultdict[str, set[str]](set)
    same = same_topics(cell_text(cells[scenario]) for _, cells in table.rows)
    for line, cells in table.rows:
        own = cell_text(cells[unit]) if unit >= 0 else f"{line}"
        units[same[cell_text(cells[scenario])]].add(own)
    shares = (
        1 if unit >= 0 else max(1, len({cell_text(c[v]) for v in variants for _, c in table.rows}))
    )
    return min(map(len, units.values())) < FEWEST_UNITS * shares


def _tells_ends(table: ForeignTable, place: int, failed: Sequence[str]) -> bool:
    """Whether a column has words for how results ended: any that are no numbers, or one of a wreck.

    ``ok`` and ``error`` are words for a score, too. Numbers are those of HTTP, or of programs.
    """
    header = table.headers[place]
    texts = {cell_text(cells[place]) for _, cells in table.rows}
    failed = [spoken(word) for word in failed]
    meanings = {meaning_of(text, header, failed) for text in texts}
    if meanings & {"broke", "fell short", "no result"} or not is_numeric(texts, words=True):
        return True
    if texts and {spoken(text) for text in texts} <= WENT_WELL:
        return True
    numbers = {text for text in texts if text.isdecimal()}
    told = plain(header) in EXIT or all(len(text) == _HTTP_DIGITS for text in numbers)
    return bool(numbers) and told and meanings == {"fine"}
