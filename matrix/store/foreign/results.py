"""What is made of a file of results, whatever its form: rows, and what they are paired on."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from matrix.model.errors import BadInput, Mistake
from matrix.model.exported import ExportedFacts
from matrix.model.lines import in_line
from matrix.model.money import NanoUSD, from_usd
from matrix.model.records import Outcome

MOST_BYTES: Final = 256_000_000
"""Of a file; what is packed in it may have as much."""
MOST_ROWS: Final = 1_000_000
MOST_LEVELS: Final = 200
"""Variants, scenarios times repeats and so on; a column with more is none of these."""
LONGEST_NAME: Final = 120
"""Characters of what a variant or a scenario is called."""
LONGEST_TEXT: Final = 20_000
"""Characters that are kept of what was asked and answered."""
_MOST_TOLD: Final = 20
"""Mistakes of one file that are told one by one."""
_MOST_PLACES: Final = 3
"""Lines and values that are told of one cause."""


class Wishes(NamedTuple):
    """What the user says of the columns; ``None`` and nothing where usual names are looked for.

    ``unit`` and ``scenario`` may be ``NONE``: there is none. ``lower`` are metrics of which less is
    better; ``failed`` words of a status that are failures.
    """

    unit: str | None = None
    variants: tuple[str, ...] = ()
    score: str | None = None
    cost: str | None = None
    scenario: str | None = None
    repeat: str | None = None
    status: str | None = None
    lower: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()

    def flags(self) -> dict[str, str]:
        """Flag -> what was said."""
        said = {
            "--unit": self.unit,
            "--variant": ", ".join(self.variants) or None,
            "--score": self.score,
            "--cost": self.cost,
            "--scenario": self.scenario,
            "--repeat": self.repeat,
            "--status": self.status,
            "--failed": ", ".join(self.failed) or None,
        }
        return {flag: text for flag, text in said.items() if text is not None}


NONE: Final = "none"


class ForeignRow(NamedTuple):
    """One result.

    Attributes:
        where: File and line, or the place in it.
        unit: What it is paired on with results of other variants; empty where nothing says it.
        levels: Of each factor.
        scenario: Empty for none.
        repeat: Tells results of one unit and variant apart; empty for none.
        score: ``None`` where there is none.
        error: What went wrong; empty for nothing.
        cost_usd: In US dollars, as the file says; ``None`` where it does not, which
            :func:`with_known_costs` makes of all costs or of none.
        duration_s: In seconds.
        tokens_in: Input tokens.
        tokens_out: Output tokens.
        metrics: Other numbers by name.
        said: Who said what, as far as the file has it.
        outcome: How it ended, where the file says it in this project's words.
        error_class: What ended it, in this project's words.
        reason: Why it ended, in words.
        turns: Turns that it took.
        calls: Calls of models.
    """

    where: str
    unit: str
    levels: tuple[str, ...]
    scenario: str = ""
    repeat: str = ""
    score: float | None = None
    error: str = ""
    cost_usd: float | None = 0.0
    duration_s: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    metrics: Mapping[str, float] = {}
    said: tuple[tuple[str, str], ...] = ()
    outcome: Outcome | None = None
    error_class: str = ""
    reason: str = ""
    turns: int = 1
    calls: int = 0

    @property
    def cost_nano(self) -> NanoUSD:
        """What it cost, as money is counted here."""
        return from_usd(repr(self.cost_usd)) if self.cost_usd else 0


def outcome_of(row: ForeignRow) -> Outcome:
    """How a result counts: whose fault an error is nobody can say, so it counts as a failure."""
    return row.outcome or ("failed" if row.error else "completed")


class ForeignResults(NamedTuple):
    """All results of one import.

    Attributes:
        form: What the files are, in words.
        factors: What variants differ in.
        rows: The results.
        unit: What units are called in the file; empty where nothing pairs its rows.
        taken: What was taken for what: label and text.
        tells_failures: Whether the file says of a result that it went wrong.
        exported: What the run was that the file has the results of; its units are rounds, and
            keep their numbers.
        simulated: Whether the files say that simulated models played in it.
        notes: What a verdict on them has to be read with, in sentences.
        score_name: What the score is called in the file, which says whether less of it is better.
        money: Metrics, and the score by its column's name, that are amounts of money.
        tells_costs: Whether the file says of every result what it cost, be it nothing.
        no_costs: Why nothing is said of costs, where the file has some; empty for nothing.
        alone: What a verdict is about alone, such as the units; empty where it is about such.
        twice: What there is to do about a unit that is in one variant twice.
    """

    form: str
    factors: tuple[str, ...]
    rows: Sequence[ForeignRow]
    unit: str
    taken: tuple[tuple[str, str], ...]
    tells_failures: bool
    exported: ExportedFacts | None = None
    simulated: bool = False
    notes: tuple[str, ...] = ()
    score_name: str = ""
    money: frozenset[str] = frozenset()
    tells_costs: bool = False
    no_costs: str = ""
    alone: str = ""
    twice: str = "what tells repeats apart is said with --repeat COLUMN"


def with_known_costs(results: ForeignResults) -> ForeignResults:
    """The same without any cost where a row has none: nobody knows what that one cost."""
    blank = sum(row.cost_usd is None for row in results.rows)
    if not blank:
        return results
    taken = tuple((label, text) for label, text in results.taken if label != "cost")
    if blank < len(results.rows):
        told = f"cost (not told of {blank:,} of {len(results.rows):,} results: of costs nothing is "
        taken = (*taken, ("left out", f"{told}said)"))
        why = f"{blank:,} of {len(results.rows):,} results have no cost"
        results = results._replace(no_costs=why)
    rows = [row._replace(cost_usd=0.0) for row in results.rows]
    return results._replace(taken=taken, rows=rows, tells_costs=False)


def pairs_something(rows: Sequence[ForeignRow]) -> bool:
    """Whether a unit is in two variants."""
    seen: dict[tuple[str, str], tuple[str, ...]] = {}
    return any(seen.setdefault((row.scenario, row.unit), row.levels) != row.levels for row in rows)


def in_several(rows: Iterable[tuple[str, tuple[str, ...]]]) -> tuple[int, int]:
    """Of each row's unit and variant: how many units are in several, and how many there are."""
    variants = defaultdict[str, set[tuple[str, ...]]](set)
    for unit, variant in rows:
        variants[unit].add(variant)
    return sum(len(own) > 1 for own in variants.values()), len(variants)


def groups_something(rows: Sequence[ForeignRow]) -> bool:
    """Whether units have several rows of one variant; a variant's only unit groups nothing."""
    return groups([(row.unit, row.levels) for row in rows])


def groups(rows: Sequence[tuple[str, tuple[str, ...]]]) -> bool:
    """The same of each row's unit and variant."""
    return len(set(rows)) < len(rows) and fewest_units(rows) > 1


def fewest_units(rows: Iterable[tuple[str, tuple[str, ...]]]) -> int:
    """Of each row's unit and variant: how many units the variant with the fewest has."""
    return min(Counter(variant for _, variant in set(rows)).values())


def twice_in(rows: Sequence[ForeignRow], remedy: str) -> str:
    """Units that are there twice in one variant, and what to do, in words; empty for none."""
    seen: dict[tuple[str, ...], str] = {}
    told, units = "", dict[tuple[str, str], None]()
    for row in rows:
        key = (row.scenario, row.unit, row.repeat, *row.levels)
        if key in seen:
            where = f"at {seen[key]} and {row.where}"
            name = f"the unit {shown(row.unit)} is there twice for {', '.join(row.levels)}: {where}"
            told = told or name
            units[row.scenario, row.unit] = None
        seen.setdefault(key, row.where)
    if not told:
        return ""
    more = f" ({len(units):,} units are)" if len(units) > 1 else ""
    return f"{told}{more}; {remedy}"


def alike_in(results: ForeignResults) -> Iterator[str]:
    """Names that look the same and are not, in words: in tables nobody could tell them apart.

    Of other programs' files, those that differ in nothing but case or blanks as well.
    """
    for place, factor in (*enumerate(results.factors), (-1, "scenario")):
        seen, loose = dict[str, str](), dict[str, str]()
        for name in dict.fromkeys(
            row.scenario if place < 0 else row.levels[place] for row in results.rows
        ):
            other = seen.setdefault(_as_seen(name), name)
            if other != name:
                told = f"{other!a} and {name!a} look the same, and differ in characters "
                yield f"{told}that are not shown; make them one name or two (of: {shown(factor)})"
                continue
            spoken = " ".join(name.casefold().split())
            other = name if results.exported is not None else loose.setdefault(spoken, name)
            if other != name:
                told = f"{other!a} and {name!a} differ in nothing but case or blanks"
                yield f"{told}; make them one name, or two that differ (of: {shown(factor)})"


def _as_seen(name: str) -> str:
    """A name without characters that have no look of their own."""
    plain = name if name.isascii() else unicodedata.normalize("NFC", name)
    return "".join(one for one in plain if unicodedata.category(one) != "Cf")


_VALUE: Final = re.compile(r"found (.+?)((?:, which |; ).*)", re.DOTALL)


class _Cause:
    """What is wrong in one column for one reason: in which lines, and what was found there."""

    def __init__(self, line: int | None, path: str, message: str) -> None:
        self.path, self.message = path, message
        self.lines, self.count = [line], 1
        self.values: list[str] = []

    def again(self, line: int | None, value: str) -> None:
        """Another row of it."""
        self.count += 1
        if len(self.lines) < _MOST_PLACES:
            self.lines.append(line)
        if value and value not in self.values and len(self.values) <= _MOST_PLACES:
            self.values.append(value)

    def mistake(self, source: str, array: str) -> Mistake:
        """All of it in one line."""
        first, path = self.lines[0], self.path
        if array and first is not None:
            first, path = None, ".".join(filter(None, (f"{array}[{first}]", path)))
        if self.count == 1:
            return Mistake(source, first, path, self.message)
        more = " ..." if self.count > len(self.lines) else ""
        rows = f"{self.count:,} rows: {array or 'lines'} {', '.join(map(str, self.lines))}{more}"
        told = f"{self.message} ({rows})"
        if (found := _VALUE.fullmatch(self.message)) is not None:
            more = " ..." if len(self.values) > _MOST_PLACES else ""
            told = f"found {', '.join(self.values[:_MOST_PLACES])}{more} in {rows}{found[2]}"
        return Mistake(source, first, path, told)


class RowFaults:
    """Mistakes in the rows of a file: those of one cause in a column are one, the first are told.

    What is not of a column is told by itself.

    Args:
        source: The file.
        array: What the rows are an array of, from 0, in a file that has no lines.
    """

    def __init__(self, source: str, array: str = "") -> None:
        self.source, self._array = source, array
        self._causes: dict[tuple[object, ...], _Cause] = {}
        self._more = 0

    def say(self, line: int | None, path: str, message: str) -> None:
        """Note a mistake."""
        found = _VALUE.fullmatch(message)
        value = "" if found is None else found[1]
        key: tuple[object, ...] = (path, message if found is None else found[2])
        if line is None or not (path or self._array):
            key = (line, path, message, len(self._causes))
        if (cause := self._causes.get(key)) is not None:
            cause.again(line, value)
        elif len(self._causes) < _MOST_TOLD:
            cause = self._causes[key] = _Cause(line, path, message)
            cause.values += [value] if value else []
        else:
            self._more += 1

    @property
    def mistakes(self) -> list[Mistake]:
        """All, the last of them about those that are only counted."""
        found = [cause.mistake(self.source, self._array) for cause in self._causes.values()]
        if self._more:
            found.append(Mistake(self.source, None, "", f"and {self._more:,} more mistakes"))
        return found

    def stop_if_any(self) -> None:
        """Raise ``BadInput`` with everything noted, if there is anything."""
        if self._causes:
            raise BadInput(self.mistakes)


def shown(text: str, most: int = 60) -> str:
    """A stranger's text as a message quotes it: one line, and not more than so many characters."""
    line = in_line(text[: most * 4])
    return repr(line if len(text) <= most else f"{line[:most]}...")
