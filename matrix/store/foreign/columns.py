"""Tables of results: which column is what, by its usual name or as the user says."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from matrix.model.errors import BadInput, did_you_mean
from matrix.model.lines import in_line
from matrix.store.foreign.currencies import DOLLARS, Cell, amounts_in
from matrix.store.foreign.names import (
    ANSWERED,
    ASKED,
    COST,
    ERROR,
    EXIT,
    FLAG,
    MAY_BE_SCORE,
    MILLISECONDS,
    REPEAT,
    SCENARIO,
    SCORE,
    SECONDS,
    STATUS,
    TOKENS_IN,
    TOKENS_OUT,
    UNIT,
    VARIANT,
    less_is_better,
    plain,
)
from matrix.store.foreign.numbers import is_percent, metric_of, number_of
from matrix.store.foreign.results import (
    LONGEST_NAME,
    LONGEST_TEXT,
    MOST_LEVELS,
    NONE,
    ForeignResults,
    ForeignRow,
    RowFaults,
    Wishes,
    shown,
)
from matrix.store.foreign.statuses import Meaning, Statuses, meaning_of
from matrix.store.foreign.units import numbered, pairs, same_topics, splits


class ForeignTable(NamedTuple):
    """A table as a file has it.

    Attributes:
        source: The file.
        stem: Its name without folder and ending.
        form: What it is, in words.
        headers: Names of its columns.
        rows: Line (or number) of each row, and its cells, one for each header.
        currencies: Place of a column -> what its amounts are in, where that is told.
        mixed: Place of a column -> the several currencies of its amounts.
    """

    source: str
    stem: str
    form: str
    headers: tuple[str, ...]
    rows: Sequence[tuple[int, Sequence[Cell]]]
    currencies: Mapping[int, str] = {}
    mixed: Mapping[int, str] = {}


FEWEST_UNITS: Final = 4
"""Units of each scenario from which on a column of a usual name is taken for scenarios."""

_OF_RUNS: Final = frozenset({"session_id", "launch_order", "cost_nano", "prelude_id"})
"""Columns that the table of sessions of a run has, as a data set of it does."""

RESERVED: Final = frozenset(
    {"score", "failed", "cost_usd", "turns", "calls", "duration_s", "tokens_in", "tokens_out"}
)
"""Names that a run's own metrics have."""


class _Roles(NamedTuple):
    """Places of columns; -1 for none."""

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


def read_tables(tables: Sequence[ForeignTable], wishes: Wishes) -> ForeignResults:
    """The results of tables, of one file each.

    Without a column of variants, each of several files is a variant.

    Raises:
        BadInput: Every mistake in all of them.
    """
    mistakes, rows, roles = [], list[ForeignRow](), list[_Roles]()
    tells, notes = False, list[str]()
    tables = [table._replace(**_amounts(table)) for table in tables]
    for table in tables:
        faults = RowFaults(table.source)
        found = _roles_of(table, wishes, tables, say=faults.say)
        if found is not None:
            roles.append(found)
            ends = _Ends(table, found)
            rows += _rows_of(table, found, faults, ends)
            tells = tells or found.error >= 0 or ends.tells
            notes += [*ends.notes, *_other_money(table, found)]
        mistakes += faults.mistakes
    factors = [_factors(table, one) for table, one in zip(tables, roles, strict=False)]
    if not mistakes and len(set(factors)) > 1:
        faults = RowFaults(tables[-1].source)
        told = " and ".join(sorted({", ".join(one) for one in factors}))
        faults.say(None, "", f"files have other columns of variants: {told}; say with --variant")
        mistakes += faults.mistakes
    if mistakes:
        raise BadInput(mistakes)
    first, own = tables[0], roles[0]
    notes += _one_topic(rows, own.scenario, first)
    rows, repeats = _as_repeats(_of_one_topic(rows), tables, roles)
    notes += repeats
    return ForeignResults(
        form=first.form,
        factors=factors[0],
        rows=rows,
        unit=first.headers[own.unit] if own.unit >= 0 else "",
        taken=_taken(first, own, rows, several=len(tables) > 1),
        tells_failures=tells or any(row.error for row in rows),
        notes=tuple(dict.fromkeys(notes)),
    )


def _as_repeats(
    rows: list[ForeignRow], tables: Sequence[ForeignTable], roles: Sequence[_Roles]
) -> tuple[list[ForeignRow], list[str]]:
    """Rows of one unit and variant as repeats, where no column is there that numbers them.

    Raises:
        BadInput: A column tells them apart, and nobody has said what it is.
    """
    if any(one.repeat >= 0 for one in roles) or any(one.unit < 0 for one in roles):
        return rows, []
    lines = {f"{table.source}:{line}": cells for table in tables for line, cells in table.rows}
    first, own = tables[0], roles[0]

    def telling(groups: Sequence[Sequence[int]]) -> str:
        most = max(map(len, groups))
        for place, header in enumerate(first.headers if len(tables) == 1 else ()):
            if place in (own.unit, own.score, own.cost, own.scenario, *own.variants) or not header:
                continue
            if len({_text(cells[place]) for _, cells in first.rows} - {""}) > most:
                continue
            if all(
                len({_text(lines[rows[at].where][place]) for at in group} - {""}) == len(group)
                for group in groups
            ):
                return in_line(header[:LONGEST_NAME])
        return ""

    found, told, wrong = numbered(rows, telling)
    if wrong:
        faults = RowFaults(tables[0].source)
        faults.say(None, "", wrong)
        raise BadInput(faults.mistakes)
    return found, [told] if told else []


def _one_topic(rows: Sequence[ForeignRow], scenario: int, table: ForeignTable) -> list[str]:
    """Which topics are taken for one, in a sentence."""
    same = same_topics(row.scenario for row in rows)
    told = [f"{shown(one)} for {shown(first)}" for one, first in same.items() if one != first]
    if not told:
        return []
    return [f"{in_line(table.headers[scenario][:LONGEST_NAME])}: taken {', '.join(told[:10])}."]


def _of_one_topic(rows: Sequence[ForeignRow]) -> list[ForeignRow]:
    same = same_topics(row.scenario for row in rows)
    if all(one == first for one, first in same.items()):
        return list(rows)
    return [row._replace(scenario=same[row.scenario]) for row in rows]


def _amounts(table: ForeignTable) -> dict[str, Any]:
    """What is other of a table whose amounts are numbers."""
    return amounts_in(table.headers, table.rows)._asdict()


def _other_money(table: ForeignTable, roles: _Roles) -> list[str]:
    """Which metrics are money, and no dollars."""
    return [
        f"{in_line(table.headers[place][:LONGEST_NAME])} is in {money}: it is a metric of its own, "
        "and not counted as money, which is in US dollars here."
        for place, money in table.currencies.items()
        if place in roles.metrics and money != DOLLARS
    ]


def _factors(table: ForeignTable, roles: _Roles) -> tuple[str, ...]:
    names = (in_line(table.headers[place][:LONGEST_NAME]) for place in roles.variants)
    return tuple(names) or ("file",)


class _Finder:
    """Columns of one table that are not taken yet."""

    def __init__(self, table: ForeignTable, say: Callable[[int | None, str, str], None]) -> None:
        self.table, self.say = table, say
        self.taken: set[int] = set()

    def named(self, flag: str, name: str) -> int:
        """The column that the user names; -1 where there is none, which is told."""
        headers = self.table.headers
        exact = [place for place, header in enumerate(headers) if header == name]
        alike = [place for place, header in enumerate(headers) if plain(header) == plain(name)]
        for place in exact or alike[:1]:
            if place in self.taken:
                self.say(None, flag, f"{name!r} is taken for something else already")
                return -1
            self.taken.add(place)
            return place
        hint = did_you_mean(name, list(headers))
        self.say(None, flag, f"found {name!r}; the columns are {_listed(headers)}{hint}")
        return -1

    def usual(self, names: Sequence[str], fits: Callable[[int], bool] = lambda _: True) -> int:
        """The first free column of one of these names; -1 for none."""
        free = {
            plain(header): place
            for place, header in reversed(list(enumerate(self.table.headers)))
            if place not in self.taken
        }
        for name in names:
            place = free.get(name, -1)
            if place >= 0 and fits(place):
                self.taken.add(place)
                return place
        return -1

    def all(self, names: Sequence[str], fits: Callable[[int], bool]) -> tuple[int, ...]:
        """All free columns of these names."""
        found = [place for one in names if (place := self.usual((one,), fits)) >= 0]
        return tuple(sorted(found))

    def cells(self, place: int) -> Iterable[Cell]:
        return (cells[place] for _, cells in self.table.rows)


def _listed(headers: Sequence[str]) -> str:
    names = [in_line(header[:LONGEST_NAME]) for header in headers[:30]]
    return ", ".join(names) + (f" and {len(headers) - 30} more" if len(headers) > 30 else "")


def _roles_of(
    table: ForeignTable,
    wishes: Wishes,
    tables: Sequence[ForeignTable],
    *,
    say: Callable[[int | None, str, str], None],
) -> _Roles | None:
    """Which column is what; ``None`` where something is missing, which is told."""
    if not table.rows:
        say(None, "", "has no rows")
        return None
    if set(table.headers) >= _OF_RUNS:
        told = "is the table `sessions` of a run, which does not say what the run was; export the "
        say(None, "", f"{told}run itself: `matrix export RUN --to csv` or `--to inspect` come back")
        return None
    finder = _Finder(table, say)

    def numeric(place: int) -> bool:
        return _is_numeric(finder.cells(place), words=True)

    def in_dollars(place: int) -> bool:
        return table.currencies.get(place, DOLLARS) == DOLLARS

    def scored(place: int) -> bool:
        return _is_numeric(finder.cells(place), words=True, percent=True)

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
    if not wishes.score:
        # a usual name is no reason to take a text: but what is meant for a number is told as one
        score = finder.usual(SCORE, scored)
        score = score if score >= 0 else finder.usual(SCORE[:1])
    if not wishes.variants and (found := finder.usual(VARIANT)) >= 0:
        variants = (found,)
    why_left = dict[int, str]()
    if wishes.unit is None:
        unit = _usual_unit(finder, tables, variants, why_left)
    elif wishes.unit == NONE:
        finder.usual(UNIT)  # a number of a row is no metric
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
    if blank := _blank(table, cost):
        why_left[cost] = (
            f" (blank in {blank:,} of {len(table.rows):,} rows: of costs nothing is said)"
        )
        cost = -1
    if wishes.scenario is None and scenario >= 0 and _is_thin(table, scenario, unit, variants):
        why_left[scenario] = (
            f" (has fewer than {FEWEST_UNITS} units in some: --scenario "
            f"{_listed([table.headers[scenario]])} takes it all the same)"
        )
        scenario = -1
    if not wishes.repeat:
        repeat = finder.usual(REPEAT)
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
    if not variants and len(tables) < _TWO:
        missing.append(("--variant", "variant"))
    for flag, what in missing:
        told = f"no column of the usual names for the {what}; name it: {flag} COLUMN, of"
        long = "; a row is one result of one variant" if what == "variant" else ""
        say(None, "", f"{told} {_listed(table.headers)}{long}")
    if missing and not variants and (told := _wide(table, unit)):
        say(None, "", told)
    if missing or score < 0 or -1 in variants:
        return None
    seconds, ms = finder.usual(SECONDS, numeric), finder.usual(MILLISECONDS, numeric)
    tokens = (finder.usual(TOKENS_IN, numeric), finder.usual(TOKENS_OUT, numeric))
    error = finder.usual(ERROR, lambda place: not numeric(place))
    flags = finder.all(FLAG, lambda place: _is_yes_or_no(finder.cells(place)))
    if not wishes.status:
        status = finder.usual(STATUS, lambda place: _tells_ends(table, place))
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
    return _Roles(
        unit=unit,
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
        metrics=tuple(
            place
            for place in free
            if (name := table.headers[place].strip())
            and name not in twice
            and _is_metric(finder.cells(place))
        ),
        why_left=why_left,
    )


_PANDAS: Final = {"a table (Parquet)": "read_parquet", "a table (JSON)": "read_json"}
"""What reads a table of each form but CSV."""


def _wide(table: ForeignTable, unit: int) -> str:
    """How a table with a column for each variant is made long; empty where it is none."""
    headers = [in_line(header[:LONGEST_NAME]) for header in table.headers]
    numeric = [
        place
        for place, header in enumerate(table.headers)
        if header and place != unit
        if _is_numeric((cells[place] for _, cells in table.rows), words=True, percent=True)
    ]
    if len(numeric) < _TWO:
        return ""
    kept = [headers[unit]] if unit >= 0 else []
    kept += [headers[at] for at in range(len(headers)) if at not in numeric and at != unit]
    columns = [headers[place] for place in numeric]
    read = _PANDAS.get(table.form, "read_csv")
    source = repr(in_line(table.source))
    melted = f"id_vars={kept}, value_vars={columns}, var_name='variant', value_name='score'"
    return (
        "a table with a column for each variant is made long first: `import pandas; "
        f"pandas.{read}({source}).melt({melted}).to_csv('long.csv', index=False)`"
    )


def _usual_unit(
    finder: _Finder,
    tables: Sequence[ForeignTable],
    variants: Sequence[int],
    why_left: dict[int, str],
) -> int:
    """The first column of a usual name that pairs rows; where none does, the first at all."""
    headers = finder.table.headers
    kept = [headers[place] for place in variants if place >= 0]
    tried = list[int]()

    def pairs_rows(place: int) -> bool:
        tried.append(place)
        return pairs(
            (_text(cells[at]), tuple(_text(cells[one]) for one in own) or (table.source,))
            for table in tables
            if headers[place] in table.headers
            for at in [table.headers.index(headers[place])]
            for own in [[table.headers.index(one) for one in kept if one in table.headers]]
            for _, cells in table.rows
        )

    unit = finder.usual(UNIT, pairs_rows)
    if unit < 0:
        return finder.usual(UNIT)
    for place in tried[:-1]:
        finder.taken.add(place)  # a number of a row is no metric
        why_left[place] = " (no value of it is in two variants)"
    return unit


def _split(table: ForeignTable, scenario: int, unit: int, others: Sequence[int]) -> str:
    """Which unit a column of scenarios tears apart, in words."""
    if scenario < 0 or unit < 0:
        return ""
    same = same_topics(_text(cells[scenario]) for _, cells in table.rows)
    return splits(
        [
            (
                _text(cells[unit]),
                same[_text(cells[scenario])],
                tuple(_text(cells[one]) for one in others),
            )
            for _, cells in table.rows
        ]
    )


def _is_thin(table: ForeignTable, scenario: int, unit: int, variants: Sequence[int]) -> bool:
    """Whether some scenario has too few units to weigh as much as the others.

    Without a column of units it is rows of a variant that count.
    """
    units = defaultdict[str, set[str]](set)
    same = same_topics(_text(cells[scenario]) for _, cells in table.rows)
    for line, cells in table.rows:
        own = _text(cells[unit]) if unit >= 0 else f"{line}"
        units[same[_text(cells[scenario])]].add(own)
    shares = 1 if unit >= 0 else max(1, len({_text(c[v]) for v in variants for _, c in table.rows}))
    return min(map(len, units.values())) < FEWEST_UNITS * shares


def _tells_ends(table: ForeignTable, place: int) -> bool:
    """Whether a column has words for how results ended: any that are no numbers, or one of a wreck.

    ``ok`` and ``error`` are words for a score, too. Numbers are those of HTTP, or of programs.
    """
    header = table.headers[place]
    texts = {_text(cells[place]) for _, cells in table.rows}
    meanings = {meaning_of(text, header) for text in texts}
    if meanings & {"broke", "fell short", "no result"} or not _is_numeric(texts, words=True):
        return True
    numbers = {text for text in texts if text.isdecimal()}
    told = plain(header) in EXIT or all(len(text) == _HTTP_DIGITS for text in numbers)
    return bool(numbers) and told and meanings == {"fine"}


_HTTP_DIGITS: Final = 3


def _is_numeric(cells: Iterable[Cell], *, words: bool = False, percent: bool = False) -> bool:
    """Whether all cells that have a value have a number, and some have one."""
    some = False
    for cell in cells:
        found = number_of(cell, words=words, percent=percent)
        if isinstance(found, str):
            return False
        some = some or found is not None
    return some


def _is_metric(cells: Iterable[Cell]) -> bool:
    """Whether all cells that have a value are a number, or yes or no, and some have one."""
    some = False
    for cell in cells:
        found = metric_of(cell)
        if isinstance(found, str):
            return False
        some = some or found is not None
    return some


def _is_yes_or_no(cells: Iterable[Cell]) -> bool:
    """Whether all cells that have a value are 1 or 0, in numbers or words, and some have one."""
    found = {number_of(cell, words=True) for cell in cells} - {None}
    return bool(found) and found <= {0.0, 1.0}


def _rows_of(
    table: ForeignTable, roles: _Roles, faults: RowFaults, ends: _Ends
) -> list[ForeignRow]:
    """The results, without those that a status says are none yet."""
    headers, rows = table.headers, []
    names_of = _Names(faults)
    names = {place: _metric_name(headers[place]) for place in roles.metrics}
    for line, cells in table.rows:
        if not ends.there(cells):
            continue
        levels = tuple(
            names_of.checked(cells[place], line, headers[place]) for place in roles.variants
        )
        scenario = ""
        if roles.scenario >= 0:
            scenario = names_of.checked(cells[roles.scenario], line, headers[roles.scenario])
        unit = _unit(cells, roles.unit, line, headers, faults)
        score = _number(cells, roles.score, line, headers, faults, score=True)
        numbers = {place: metric_of(cells[place]) for place in roles.metrics}
        rows.append(
            ForeignRow(
                where=f"{table.source}:{line}",
                unit=unit,
                levels=levels or (table.stem,),
                scenario=scenario,
                repeat=_text(cells[roles.repeat]) if roles.repeat >= 0 else "",
                score=score,
                error=_error(cells, roles.error) or ends.wrong(cells),
                cost_usd=_amount(cells, roles.cost, line, headers, faults),
                duration_s=_amount(cells, roles.duration[0], line, headers, faults)
                * roles.duration[1],
                tokens_in=int(_amount(cells, roles.tokens[0], line, headers, faults)),
                tokens_out=int(_amount(cells, roles.tokens[1], line, headers, faults)),
                metrics={names[at]: one for at, one in numbers.items() if isinstance(one, float)},
                said=tuple((who, _text(cells[place])[:LONGEST_TEXT]) for who, place in roles.said),
            )
        )
    for place in (roles.score, *roles.metrics):
        if 0 < _percents(table, place) < _numbers(table, place):
            told = "has a percent sign in some cells and none in others; write all of them alike"
            faults.say(None, headers[place], told)
    for place in roles.variants if roles.scenario < 0 else (*roles.variants, roles.scenario):
        if len({_text(cells[place]) for _, cells in table.rows}) > MOST_LEVELS:
            told = f"has more than {MOST_LEVELS} different values; name the right column"
            faults.say(None, headers[place], told)
    return rows


def _percents(table: ForeignTable, place: int) -> int:
    return sum(is_percent(cells[place]) for _, cells in table.rows)


def _numbers(table: ForeignTable, place: int) -> int:
    """Cells of a column that have a number; 0 has the same value either way."""
    found = (number_of(cells[place], words=True, percent=True) for _, cells in table.rows)
    return sum(isinstance(one, float) and one != 0 for one in found)


def _metric_name(header: str) -> str:
    name = in_line(header.strip()[:LONGEST_NAME])
    return f"{name}_in_file" if name in RESERVED else name


def _text(cell: Cell) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))  # 3.0, as other programs write the 3 of a column with gaps
    return "" if cell is None else str(cell).strip()


class _Names:
    """Names of variants and scenarios: few, in many rows."""

    def __init__(self, faults: RowFaults) -> None:
        self._faults, self._sound = faults, set[str]()

    def checked(self, cell: Cell, line: int, header: str) -> str:
        """The name in a cell; what is wrong with it is told for every row."""
        text = _text(cell)
        if text in self._sound:
            return text
        if not text:
            self._faults.say(line, header, "is empty; every row has one")
        elif len(text) > LONGEST_NAME or in_line(text) != text:
            told = f"found {shown(text)}; a name is one line of at most {LONGEST_NAME} characters"
            self._faults.say(line, header, told)
        else:
            self._sound.add(text)
        return text


def _unit(
    cells: Sequence[Cell], place: int, line: int, headers: Sequence[str], faults: RowFaults
) -> str:
    if place < 0:
        return ""
    text = _text(cells[place])
    if not text:
        faults.say(line, headers[place], "is empty; every row says which unit it is of")
    return text


def _error(cells: Sequence[Cell], place: int) -> str:
    text = _text(cells[place]) if place >= 0 else ""
    return "" if meaning_of(text, ERROR[0]) == "fine" else text


class _Ends:
    """How the results of a table ended, as its status and its columns of yes and no say.

    ``failed`` of one that has a score may be just that score, which is looked for in the whole
    table: a status says the score where all it says it of are below all others, or all are. A
    column of yes and no does so of a score of two values only: of other scores it says more.
    """

    def __init__(self, table: ForeignTable, roles: _Roles) -> None:
        self._score, self._status = roles.score, roles.status
        headers = table.headers
        self._words = Statuses(in_line(headers[roles.status])) if roles.status >= 0 else None
        self._flags = [(at, in_line(headers[at][:LONGEST_NAME])) for at in roles.flags]
        self._none = Counter[str]()
        scores = [(self._scored(cells), cells) for _, cells in table.rows]
        self._status_scores = _tells_apart([(n, self._of_status(one)) for n, one in scores])
        values = {n for n, _ in scores if n is not None}
        told = [(n, self._of_flags(one)) for n, one in scores]
        alike = len(values) == _TWO and len({one for n, (one, _) in told if n is not None}) == _TWO
        self._flags_score = alike and _tells_apart(told)
        for _, cells in table.rows:
            if self._words is not None:
                self._words.counts[_text(cells[self._status])] += 1

    def _scored(self, cells: Sequence[Cell]) -> float | None:
        found = number_of(cells[self._score], words=True, percent=True)
        return found if isinstance(found, float) else None

    def _of_status(self, cells: Sequence[Cell]) -> tuple[Meaning, str]:
        text = _text(cells[self._status]) if self._words is not None else ""
        return ("fine" if self._words is None else self._words.of(text)), text

    def _of_flags(self, cells: Sequence[Cell]) -> tuple[Meaning, str]:
        said = [name for at, name in self._flags if number_of(cells[at], words=True) == 1.0]
        sure = [name for name in said if plain(name) not in MAY_BE_SCORE]
        if sure:
            return "broke", sure[0]
        return ("fell short", said[0]) if said else ("fine", "")

    def there(self, cells: Sequence[Cell]) -> bool:
        """Whether there is a result; one that has a score is there, whatever its status says."""
        meaning, text = self._of_status(cells)
        if meaning != "no result" or self._scored(cells) is not None:
            return True
        self._none[text] += 1
        return False

    def wrong(self, cells: Sequence[Cell]) -> str:
        """What went wrong with a result; empty for nothing."""
        scored = self._scored(cells) is not None
        for (meaning, text), is_score in (
            (self._of_flags(cells), self._flags_score),
            (self._of_status(cells), self._status_scores),
        ):
            if meaning == "broke" or (meaning == "fell short" and not (scored and is_score)):
                return text
        return ""

    @property
    def tells(self) -> bool:
        """Whether something here says of results that they failed, or that they did not."""
        by_status = self._words is not None and self._words.tells and not self._status_scores
        return by_status or (bool(self._flags) and not self._flags_score)

    @property
    def notes(self) -> list[str]:
        """What there is to know of it, in sentences."""
        told = [] if self._words is None else self._words.notes()
        if self._none:
            total = sum(self._none.values())
            words = ", ".join(f"{shown(text)} ({count:,})" for text, count in self._none.items())
            told.append(
                f"{total:,} {'row is' if total == 1 else 'rows are'} no result yet, and left out: "
                f"{words}."
            )
        return told


_TWO: Final = 2


def _tells_apart(ends: Sequence[tuple[float | None, tuple[Meaning, str]]]) -> bool:
    """Whether ``failed`` is said of every score below another, or of all, and of no other."""
    kept = [(score, one) for score, (one, _) in ends if score is not None and one != "broke"]
    wrong = [score for score, one in kept if one == "fell short"]
    right = [score for score, one in kept if one != "fell short"]
    if not wrong or not right:
        return bool(wrong)
    return max(wrong) <= min(right) or max(right) <= min(wrong)


def _number(
    cells: Sequence[Cell],
    place: int,
    line: int,
    headers: Sequence[str],
    faults: RowFaults,
    *,
    score: bool = False,
) -> float | None:
    found = number_of(cells[place], words=score, percent=score) if place >= 0 else None
    if isinstance(found, str):
        faults.say(line, headers[place], found)
        return None
    return found


MOST_AMOUNT: Final = 1e9
"""Dollars, seconds or tokens of one result."""


def _amount(
    cells: Sequence[Cell], place: int, line: int, headers: Sequence[str], faults: RowFaults
) -> float:
    """What is never negative."""
    if place < 0:
        return 0.0
    found = _number(cells, place, line, headers, faults) or 0.0
    if not 0 <= found <= MOST_AMOUNT:
        faults.say(line, headers[place], f"found {found:g}; must be from 0 to {MOST_AMOUNT:g}")
        return 0.0
    return found


def _blank(table: ForeignTable, place: int) -> int:
    """Rows without a value in a column."""
    return sum(number_of(cells[place]) is None for _, cells in table.rows) if place >= 0 else 0


def _taken(
    table: ForeignTable, roles: _Roles, rows: Sequence[ForeignRow], *, several: bool
) -> tuple[tuple[str, str], ...]:
    """What was taken for what."""
    failed = sum(bool(row.error) and row.score is not None for row in rows)

    def header(place: int) -> str:
        return in_line(table.headers[place][:LONGEST_NAME])

    beside = ", of results without a score"
    if failed:
        beside = f"; by it {failed:,} failed that have a score, which does not count"
    told = [
        ("variant", ", ".join(map(header, roles.variants)) or "each file" * several),
        ("unit", header(roles.unit) if roles.unit >= 0 else ""),
        ("score", header(roles.score) + ", 85% as .85" * bool(_percents(table, roles.score))),
        ("cost", f"{header(roles.cost)}, in US dollars" if roles.cost >= 0 else ""),
        ("scenario", header(roles.scenario) if roles.scenario >= 0 else ""),
        ("repeat", header(roles.repeat) if roles.repeat >= 0 else ""),
        ("error", header(roles.error) if roles.error >= 0 else ""),
        ("status", f"{header(roles.status)}{beside}" if roles.status >= 0 else ""),
        ("failures", f"{', '.join(map(header, roles.flags))}{beside}" if roles.flags else ""),
        ("time", header(roles.duration[0]) if roles.duration[0] >= 0 else ""),
        ("tokens", ", ".join(header(place) for place in roles.tokens if place >= 0)),
        ("texts", ", ".join(header(place) for _, place in roles.said if place != roles.unit)),
        ("metrics", _listed([_metric_name(table.headers[place]) for place in roles.metrics])),
    ]
    used = {roles.unit, roles.score, roles.cost, roles.scenario, roles.repeat, roles.error}
    used |= {roles.status, *roles.flags}
    used |= {*roles.variants, *roles.metrics, *roles.tokens, roles.duration[0]}
    used |= {place for _, place in roles.said}
    left = [
        f"{_listed([name])}{roles.why_left.get(place, '')}"
        for place, name in enumerate(table.headers)
        if place not in used
    ]
    more = f" and {len(left) - 30} more" if len(left) > 30 else ""
    told.append(("left out", ", ".join(left[:30]) + more))
    return tuple((label, text) for label, text in told if text)
