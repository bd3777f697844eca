"""Tables of results: which column is what, by its usual name or as the user says."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from matrix.model.errors import BadInput, did_you_mean
from matrix.model.lines import in_line
from matrix.store.foreign.numbers import MISSING, is_percent, number_of
from matrix.store.foreign.results import (
    LONGEST_NAME,
    LONGEST_TEXT,
    MOST_LEVELS,
    NONE,
    ForeignResults,
    ForeignRow,
    RowFaults,
    Wishes,
    pairs_something,
    shown,
    twice_in,
)

Cell = str | int | float | bool | None


class ForeignTable(NamedTuple):
    """A table as a file has it.

    Attributes:
        source: The file.
        stem: Its name without folder and ending.
        form: What it is, in words.
        headers: Names of its columns.
        rows: Line (or number) of each row, and its cells, one for each header.
    """

    source: str
    stem: str
    form: str
    headers: tuple[str, ...]
    rows: Sequence[tuple[int, Sequence[Cell]]]


UNIT: Final = (
    "unit", "unit_id", "id", "sample_id", "sample", "question_id", "question", "item_id", "item",
    "case_id", "case", "test_id", "test", "task_id", "example_id", "example", "doc_id",
    "prompt_id", "row_id", "idx", "index", "task", "seed", "round",
)  # fmt: skip
VARIANT: Final = (
    "variant", "model", "model_name", "provider", "arm", "condition", "system", "config",
    "treatment", "group", "method", "agent", "candidate", "prompt_version", "prompt",
)  # fmt: skip
SCORE: Final = (
    "score", "accuracy", "acc", "correct", "is_correct", "passed", "pass", "success", "reward",
    "rating", "grade", "quality", "exact_match", "em", "f1", "value", "result",
)  # fmt: skip
COST: Final = ("cost_usd", "cost", "usd", "total_cost", "cost_dollars", "price_usd", "price")
SCENARIO: Final = ("scenario", "category", "dataset", "subset", "domain", "topic", "story")
REPEAT: Final = ("repeat", "epoch", "trial", "attempt", "replicate", "run_index")
ERROR: Final = ("error", "error_message", "exception", "failure_reason")
STATUS: Final = ("outcome", "status", "state", "end_state", "exit_status")
TOKENS_IN: Final = ("tokens_in", "input_tokens", "prompt_tokens")
TOKENS_OUT: Final = ("tokens_out", "output_tokens", "completion_tokens")
SECONDS: Final = ("duration_s", "latency_s", "seconds", "time_s", "total_time")
MILLISECONDS: Final = ("latency_ms", "latencyms", "duration_ms", "time_ms")
ASKED: Final = ("input", "prompt_text", "query", "user", "instruction")
ANSWERED: Final = ("output", "answer", "response", "completion", "prediction")

BROKE: Final = frozenset(
    {"error", "errored", "exception", "crashed", "crash", "timeout", "timed out", "aborted"}
)
"""What a column of how results ended says of one that came to no end of its own."""

WENT_WRONG: Final = BROKE | {"failed", "failure", "fail"}
"""The same, and words that may be a score as well."""

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
    mistakes, rows, roles, tells = [], list[ForeignRow](), list[_Roles](), False
    for table in tables:
        faults = RowFaults(table.source)
        found = _roles_of(table, wishes, several=len(tables) > 1, say=faults.say)
        if found is not None:
            roles.append(found)
            is_score = _says_the_score(table, found)
            tells = tells or found.error >= 0 or (found.status >= 0 and not is_score)
            rows += _rows_of(table, found, faults, is_score=is_score)
        mistakes += faults.mistakes
    factors = [_factors(table, one) for table, one in zip(tables, roles, strict=False)]
    if not mistakes and len(set(factors)) > 1:
        faults = RowFaults(tables[-1].source)
        told = " and ".join(sorted({", ".join(one) for one in factors}))
        faults.say(None, "", f"files have other columns of variants: {told}; say with --variant")
        mistakes += faults.mistakes
    if mistakes:
        named = [row for row in rows if row.unit]
        faults = RowFaults(tables[0].source)
        for told in twice_in(named) if pairs_something(named) else ():
            faults.say(None, "", told)
        raise BadInput([*mistakes, *faults.mistakes])
    first, own = tables[0], roles[0]
    return ForeignResults(
        form=first.form,
        factors=factors[0],
        rows=rows,
        unit=first.headers[own.unit] if own.unit >= 0 else "",
        taken=_taken(first, own, rows, several=len(tables) > 1),
        tells_failures=tells or any(row.error for row in rows),
    )


def _factors(table: ForeignTable, roles: _Roles) -> tuple[str, ...]:
    names = (in_line(table.headers[place][:LONGEST_NAME]) for place in roles.variants)
    return tuple(names) or ("file",)


def _plain(header: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", header.strip().casefold()).strip("_")


class _Finder:
    """Columns of one table that are not taken yet."""

    def __init__(self, table: ForeignTable, say: Callable[[int | None, str, str], None]) -> None:
        self.table, self.say = table, say
        self.taken: set[int] = set()

    def named(self, flag: str, name: str) -> int:
        """The column that the user names; -1 where there is none, which is told."""
        headers = self.table.headers
        exact = [place for place, header in enumerate(headers) if header == name]
        alike = [place for place, header in enumerate(headers) if _plain(header) == _plain(name)]
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
            _plain(header): place
            for place, header in reversed(list(enumerate(self.table.headers)))
            if place not in self.taken
        }
        for name in names:
            place = free.get(name, -1)
            if place >= 0 and fits(place):
                self.taken.add(place)
                return place
        return -1

    def cells(self, place: int) -> Iterable[Cell]:
        return (cells[place] for _, cells in self.table.rows)


def _listed(headers: Sequence[str]) -> str:
    names = [in_line(header[:LONGEST_NAME]) for header in headers[:30]]
    return ", ".join(names) + (f" and {len(headers) - 30} more" if len(headers) > 30 else "")


def _roles_of(
    table: ForeignTable,
    wishes: Wishes,
    *,
    several: bool,
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

    def scored(place: int) -> bool:
        return _is_numeric(finder.cells(place), words=True, percent=True)

    variants = tuple(finder.named("--variant", one) for one in wishes.variants)
    score = finder.named("--score", wishes.score) if wishes.score else -1
    unit, scenario = (
        finder.named(flag, name) if name and name != NONE else -1
        for flag, name in (("--unit", wishes.unit), ("--scenario", wishes.scenario))
    )
    cost = finder.named("--cost", wishes.cost) if wishes.cost else -1
    repeat = finder.named("--repeat", wishes.repeat) if wishes.repeat else -1
    status = finder.named("--status", wishes.status) if wishes.status else -1
    if not wishes.score:
        # a usual name is no reason to take a text: but what is meant for a number is told as one
        score = finder.usual(SCORE, scored)
        score = score if score >= 0 else finder.usual(SCORE[:1])
    if not wishes.variants and (found := finder.usual(VARIANT)) >= 0:
        variants = (found,)
    if wishes.unit is None:
        unit = finder.usual(UNIT)
    elif wishes.unit == NONE:
        finder.usual(UNIT)  # a number of a row is no metric
    if not wishes.cost:
        cost = finder.usual(COST[:2])
        cost = cost if cost >= 0 else finder.usual(COST, numeric)
    if wishes.scenario is None:
        scenario = finder.usual(SCENARIO)
    why_left = dict[int, str]()
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
    missing = []
    if score < 0 and not wishes.score:
        missing.append(("--score", "score"))
    if not variants and not several:
        missing.append(("--variant", "variant"))
    for flag, what in missing:
        told = f"no column of the usual names for the {what}; name it: {flag} COLUMN, of"
        long = "; a row is one result of one variant" if what == "variant" else ""
        say(None, "", f"{told} {_listed(table.headers)}{long}")
    if missing or score < 0 or -1 in variants:
        return None
    seconds, ms = finder.usual(SECONDS, numeric), finder.usual(MILLISECONDS, numeric)
    tokens = (finder.usual(TOKENS_IN, numeric), finder.usual(TOKENS_OUT, numeric))
    error = finder.usual(ERROR, lambda place: not numeric(place))
    if not wishes.status:
        status = finder.usual(STATUS, lambda place: _tells_ends(finder.cells(place)))
    said = (("user", finder.usual(ASKED)), ("assistant", finder.usual(ANSWERED)))
    # a unit that a question is named by is the question
    asked = said if said[0][1] >= 0 or unit < 0 else (("user", unit), said[1])
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
        tokens=tokens,
        duration=(seconds, 1.0) if seconds >= 0 else (ms, 0.001),
        said=tuple(one for one in asked if one[1] >= 0),
        metrics=tuple(
            place
            for place in free
            if table.headers[place].strip() and _is_numeric(finder.cells(place), percent=True)
        ),
        why_left=why_left,
    )


def _is_thin(table: ForeignTable, scenario: int, unit: int, variants: Sequence[int]) -> bool:
    """Whether some scenario has too few units to weigh as much as the others.

    Without a column of units it is rows of a variant that count.
    """
    units = defaultdict[str, set[str]](set)
    for line, cells in table.rows:
        own = _text(cells[unit]) if unit >= 0 else f"{line}"
        units[_text(cells[scenario])].add(own)
    shares = 1 if unit >= 0 else max(1, len({_text(c[v]) for v in variants for _, c in table.rows}))
    return min(map(len, units.values())) < FEWEST_UNITS * shares


def _tells_ends(cells: Iterable[Cell]) -> bool:
    """Whether a column has words for how results ended: any that are no numbers, or one of a wreck.

    ``ok`` and ``error`` are words for a score, too.
    """
    texts = {_text(cell).casefold().replace("_", " ") for cell in cells}
    return bool(texts & WENT_WRONG) or not _is_numeric(texts, words=True)


def _is_numeric(cells: Iterable[Cell], *, words: bool = False, percent: bool = False) -> bool:
    """Whether all cells that have a value have a number, and some have one."""
    some = False
    for cell in cells:
        found = number_of(cell, words=words, percent=percent)
        if isinstance(found, str):
            return False
        some = some or found is not None
    return some


def _rows_of(
    table: ForeignTable, roles: _Roles, faults: RowFaults, *, is_score: bool
) -> list[ForeignRow]:
    """The results; ``is_score`` says that the status of one that has a score is that score."""
    headers, rows = table.headers, []
    names_of = _Names(faults)
    names = {place: _metric_name(headers[place]) for place in roles.metrics}
    for line, cells in table.rows:
        levels = tuple(
            names_of.checked(cells[place], line, headers[place]) for place in roles.variants
        )
        scenario = ""
        if roles.scenario >= 0:
            scenario = names_of.checked(cells[roles.scenario], line, headers[roles.scenario])
        unit = _unit(cells, roles.unit, line, headers, faults)
        score = _number(cells, roles.score, line, headers, faults, score=True)
        numbers = {place: number_of(cells[place], percent=True) for place in roles.metrics}
        rows.append(
            ForeignRow(
                where=f"{table.source}:{line}",
                unit=unit,
                levels=levels or (table.stem,),
                scenario=scenario,
                repeat=_text(cells[roles.repeat]) if roles.repeat >= 0 else "",
                score=score,
                error=_error(cells, roles.error)
                or _went_wrong(cells, roles.status, score if is_score else None),
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
    return "" if text.casefold() in MISSING | {"false", "0", "no"} else text


def _says_the_score(table: ForeignTable, roles: _Roles) -> bool:
    """Whether a status says ``failed`` of every score below another, or of all, and of no other."""
    wrong, right = list[float](), list[float]()
    for _, cells in table.rows:
        score = number_of(cells[roles.score], words=True, percent=True)
        if isinstance(score, float) and not _went_wrong(cells, roles.status, score):
            (wrong if _went_wrong(cells, roles.status, None) else right).append(score)
    if not wrong or not right:
        return bool(wrong)
    return max(wrong) <= min(right) or max(right) <= min(wrong)


def _went_wrong(cells: Sequence[Cell], place: int, score: float | None) -> str:
    """What a status says of a result; ``failed`` of one that has a score may be just that score.

    See :func:`_says_the_score`.
    """
    text = _text(cells[place]) if place >= 0 else ""
    words = WENT_WRONG if score is None else BROKE
    return text if text.casefold().replace("_", " ") in words else ""


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
        ("time", header(roles.duration[0]) if roles.duration[0] >= 0 else ""),
        ("tokens", ", ".join(header(place) for place in roles.tokens if place >= 0)),
        ("texts", ", ".join(header(place) for _, place in roles.said if place != roles.unit)),
        ("metrics", _listed([table.headers[place] for place in roles.metrics])),
    ]
    used = {roles.unit, roles.score, roles.cost, roles.scenario, roles.repeat, roles.error}
    used |= {roles.status}
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
