"""From tables to results: all files together, and what was taken for what."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from matrix.model.errors import BadInput, Mistake, did_you_mean
from matrix.model.lines import in_line
from matrix.store.foreign.results import (
    LONGEST_NAME,
    NONE,
    ForeignResults,
    ForeignRow,
    RowFaults,
    Wishes,
    groups_something,
    pairs_something,
    shown,
)
from matrix.store.foreign.tabular.columns import FILE, Columns, columns_of
from matrix.store.foreign.tabular.currencies import DOLLARS, amounts_in
from matrix.store.foreign.tabular.doubts import (
    divided_otherwise,
    doubled,
    marks_of_nothing,
    score_doubts,
    share_beside_percent,
)
from matrix.store.foreign.tabular.ends import Ends
from matrix.store.foreign.tabular.measures import measures_told
from matrix.store.foreign.tabular.names import plain, spoken, sums_up
from matrix.store.foreign.tabular.rows import rows_of
from matrix.store.foreign.tabular.table import (
    YES_OR_NO,
    ForeignTable,
    cell_text,
    listed,
    metric_name,
    numbers_in,
    percents_in,
)
from matrix.store.foreign.tabular.units.belonging import pairs, same_topics
from matrix.store.foreign.tabular.units.repeats import as_repeats, lines_of


def read_tables(tables: Sequence[ForeignTable], wishes: Wishes) -> ForeignResults:
    """The results of tables, of one file each.

    Without a column of variants, each of several files is a variant.

    Raises:
        BadInput: Every mistake in all of them.
    """
    mistakes, rows, roles = [], list[ForeignRow](), list[Columns]()
    tells, unsure, notes, words = list[bool](), False, list[str](), dict[str, None]()
    tables = [table._replace(**_amounts(table)) for table in tables]
    if FILE in wishes.variants and len(tables) > 1:
        tables = [_with_file(table) for table in tables]
    for table in tables:
        faults = RowFaults(table.source)
        found = columns_of(table, wishes, tables, say=faults.say)
        if found is not None:
            roles.append(found)
            ends = Ends(table, found, wishes.failed)
            own_rows = rows_of(table, found, faults, ends)
            rows += own_rows
            tells.append(found.error >= 0 or ends.tells or any(row.error for row in own_rows))
            unsure = unsure or ends.unsure
            words |= dict.fromkeys(ends.words)
            notes += [*ends.notes, *found.notes, *_again(table, found)]
            notes += _other_money(table, found)
        mistakes += faults.mistakes
    if len(roles) == len(tables):
        mistakes += _not_there(wishes.failed, roles, words)
        mistakes += _sums_and_scales(tables, roles)
        mistakes += _other_columns(tables, roles)
    factors = [_factors(table, one) for table, one in zip(tables, roles, strict=False)]
    if not mistakes and len(set(factors)) > 1:
        faults = RowFaults(tables[-1].source)
        told = " and ".join(sorted({", ".join(one) for one in factors}))
        faults.say(None, "", f"files have other columns of variants: {told}; say with --variant")
        mistakes += faults.mistakes
    if mistakes:
        raise BadInput(mistakes)
    first, own = tables[0], roles[0]
    if wishes.scenario and (told := _no_scenarios(rows, wishes.scenario)):
        raise BadInput([Mistake("--scenario", None, "", told)])
    notes += [*_untold(tables, tells), *_one_topic(rows, own.scenario, first)]
    rows, repeats = as_repeats(_of_one_topic(rows), tables, roles)
    notes += repeats
    if told := measures_told(tables, roles):
        raise BadInput([Mistake(tables[0].source, None, "", told)])
    said = own.unit >= 0 and (pairs_something(rows) or groups_something(rows))
    if told := share_beside_percent(rows) or marks_of_nothing(rows):
        raise BadInput([Mistake(tables[-1].source, None, first.headers[own.score], told)])
    notes += score_doubts(rows)
    if own.unit < 0 or not pairs_something(rows):
        independent = wishes.unit != NONE and not said
        notes += _doubts_of_samples(rows, tables, own, wishes, independent=independent)
    return ForeignResults(
        form=first.form,
        factors=factors[0],
        rows=rows,
        unit=first.headers[own.unit] if own.unit >= 0 else "",
        taken=_taken(first, own, rows, several=len(tables) > 1),
        tells_failures=not unsure and all(tells),
        notes=tuple(dict.fromkeys(notes)),
        score_name=first.headers[own.score],
        money=_money(tables, roles),
        tells_costs=all(one.cost >= 0 for one in roles),
        no_costs=next((one.no_costs for one in roles if one.no_costs), ""),
        alone=next((one.alone for one in roles if one.alone), ""),
    )


def _with_file(table: ForeignTable) -> ForeignTable:
    """The same with a column that says which file its rows are of, unless it has one."""
    if FILE in table.headers:
        return table
    rows = [(line, [*cells, table.stem]) for line, cells in table.rows]
    return table._replace(headers=(*table.headers, FILE), rows=rows)


def _other_columns(tables: Sequence[ForeignTable], roles: Sequence[Columns]) -> Iterator[Mistake]:
    """That files have scores, or units, in columns of other names, which may be other things."""
    for what, flag, places in (
        ("scores", "--score", [one.score for one in roles]),
        ("units", "--unit", [one.unit for one in roles]),
    ):
        named = [
            (table.source, plain(table.headers[at]) if at >= 0 else "")
            for table, at in zip(tables, places, strict=True)
        ]
        source, first = named[0]
        for other, name in named[1:]:
            if name != first:
                told = (
                    f"has {what} in {shown(name) if name else 'no column'}, and {in_line(source)} "
                )
                told += f"in {shown(first) if first else 'none'}; say with {flag} which all have"
                yield Mistake(other, None, "", told)


def _untold(tables: Sequence[ForeignTable], tells: Sequence[bool]) -> list[str]:
    """That some files say what failed and others do not, in a sentence."""
    silent = [in_line(table.source) for table, one in zip(tables, tells, strict=True) if not one]
    if not silent or not any(tells):
        return []
    names, does = listed(silent), "does" if len(silent) == 1 else "do"
    return [f"{names} {does} not say what failed, as others do: of failures nothing is said here."]


def _sums_and_scales(tables: Sequence[ForeignTable], roles: Sequence[Columns]) -> Iterator[Mistake]:
    """Rows that sum up others, and files that write their scores in other ways."""
    percent = [
        bool(percents_in(table, own.score)) for table, own in zip(tables, roles, strict=True)
    ]
    for table, own, share in zip(tables, roles, percent, strict=True):
        header = table.headers[own.score]
        if not share and any(percent) and numbers_in(table, own.score):
            told = "has no percent sign, and has one in another file; write all of them alike"
            yield Mistake(table.source, None, header, told)
        for line, cells in table.rows if own.unit >= 0 else ():
            if sums_up(text := cell_text(cells[own.unit])):
                told = f"found {shown(text)}, which sums up other rows; take such rows out, or give"
                yield Mistake(table.source, line, table.headers[own.unit], f"{told} it a name")


def _not_there(
    failed: Sequence[str], roles: Sequence[Columns], words: Collection[str]
) -> Iterator[Mistake]:
    """Words that the user calls failures, and that no status has."""
    known = {spoken(word) for word in words}
    for word in failed:
        if spoken(word) in known:
            continue
        if all(one.status < 0 for one in roles):
            told = f"found {shown(word)}, and no column of the usual names for a status"
            yield Mistake("--failed", None, "", f"{told}; name it: --status COLUMN")
        else:
            hint = did_you_mean(word, list(words))
            told = f"found {shown(word)}; words of the status are {listed(tuple(words))}{hint}"
            yield Mistake("--failed", None, "", told)


def _doubts_of_samples(
    rows: Sequence[ForeignRow],
    tables: Sequence[ForeignTable],
    own: Columns,
    wishes: Wishes,
    *,
    independent: bool,
) -> Iterator[str]:
    """What makes samples that nothing pairs doubtful, in sentences.

    ``independent`` is whether each row is taken for one observation, and nobody has said so.
    """
    headers = tables[0].headers
    if len({row.levels for row in rows}) < YES_OR_NO:
        return
    lines = lines_of(tables)
    texts = [tuple(map(cell_text, lines[row.where])) for row in rows]
    columns = dict[int, list[str]]()
    if len({table.headers for table in tables}) == 1:
        columns = {at: [one[at] for one in texts] for at, name in enumerate(headers) if name}
    if independent:
        cells = [(*one, *row.levels) for one, row in zip(texts, rows, strict=True)]
        told, many = doubled(cells, columns.values())
        if many:
            told += (
                "; take out what is a copy, or say --unit none where each is a result of its own"
            )
            raise BadInput([Mistake(tables[0].source, None, "", told)])
        if told:
            yield (
                f"{told}: all of them are counted, as nothing says that they are copies; take out "
                "what is."
            )
    if wishes.scenario is None:
        used = {own.unit, own.score, own.cost, own.scenario, own.repeat, own.error, own.status}
        used |= {*own.variants, *own.flags, *(place for _, place in own.said)}
        topics = {
            in_line(headers[at].strip()[:LONGEST_NAME]): texts_of
            for at, texts_of in columns.items()
            if at not in used
        }
        yield from divided_otherwise(topics, [row.levels for row in rows])


def _one_topic(rows: Sequence[ForeignRow], scenario: int, table: ForeignTable) -> list[str]:
    """Which topics are taken for one, in a sentence."""
    same = same_topics(row.scenario for row in rows)
    told = [f"{shown(one)} for {shown(first)}" for one, first in same.items() if one != first]
    if not told:
        return []
    return [f"{in_line(table.headers[scenario][:LONGEST_NAME])}: taken {', '.join(told[:10])}."]


def _no_scenarios(rows: Sequence[ForeignRow], name: str) -> str:
    """That no scenario is in two variants, in words; empty where one is."""
    if len({row.scenario for row in rows}) < YES_OR_NO or pairs(
        (row.scenario, row.levels) for row in rows
    ):
        return ""
    return (
        f"no {shown(name)} is in two variants, so nothing can be compared within one; leave it "
        f"out, or say --unit {name} where what is of one belongs together"
    )


def _of_one_topic(rows: Sequence[ForeignRow]) -> list[ForeignRow]:
    same = same_topics(row.scenario for row in rows)
    if all(one == first for one, first in same.items()):
        return list(rows)
    return [row._replace(scenario=same[row.scenario]) for row in rows]


def _amounts(table: ForeignTable) -> dict[str, Any]:
    """What is other of a table whose amounts are numbers."""
    return amounts_in(table.headers, table.rows)._asdict()


def _again(table: ForeignTable, roles: Columns) -> list[str]:
    """How many rows are there more than once, where units tell results apart."""
    if roles.unit < 0:
        return []
    again = len(table.rows) - len({tuple(map(cell_text, cells)) for _, cells in table.rows})
    if not again:
        return []
    rows = "row is" if again == 1 else "rows are"
    return [f"{again:,} {rows} the same in every column as an earlier one: see that none is twice."]


def _other_money(table: ForeignTable, roles: Columns) -> list[str]:
    """Which metrics are money, and no dollars."""
    return [
        f"{in_line(table.headers[place][:LONGEST_NAME])} is in {money}: it is a metric of its own, "
        "and not counted as money, which is in US dollars here."
        for place, money in table.currencies.items()
        if place in roles.metrics and money != DOLLARS
    ]


def _money(tables: Sequence[ForeignTable], roles: Sequence[Columns]) -> frozenset[str]:
    """Metrics that are amounts, and the score's own column if that is one."""
    found = set[str]()
    for table, own in zip(tables, roles, strict=True):
        found |= {metric_name(table.headers[at]) for at in table.currencies if at in own.metrics}
        found |= {table.headers[at] for at in table.currencies if at == own.score}
    return frozenset(found)


def _factors(table: ForeignTable, roles: Columns) -> tuple[str, ...]:
    names = (in_line(table.headers[place][:LONGEST_NAME]) for place in roles.variants)
    return tuple(names) or ("file",)


def _with_commas(table: ForeignTable) -> str:
    names = listed([table.headers[place] for place in table.commas])
    return f"have a decimal comma in {names}, 0,5 for 0.5" if names else ""


def _taken(
    table: ForeignTable, roles: Columns, rows: Sequence[ForeignRow], *, several: bool
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
        ("score", header(roles.score) + ", 85% as .85" * bool(percents_in(table, roles.score))),
        ("cost", f"{header(roles.cost)}, in US dollars" if roles.cost >= 0 else ""),
        ("scenario", header(roles.scenario) if roles.scenario >= 0 else ""),
        ("repeat", header(roles.repeat) if roles.repeat >= 0 else ""),
        ("error", header(roles.error) if roles.error >= 0 else ""),
        ("status", f"{header(roles.status)}{beside}" if roles.status >= 0 else ""),
        ("failures", f"{', '.join(map(header, roles.flags))}{beside}" if roles.flags else ""),
        ("time", header(roles.duration[0]) if roles.duration[0] >= 0 else ""),
        ("tokens", ", ".join(header(place) for place in roles.tokens if place >= 0)),
        ("texts", ", ".join(header(place) for _, place in roles.said if place != roles.unit)),
        ("numbers", _with_commas(table)),
        ("metrics", listed([metric_name(table.headers[place]) for place in roles.metrics])),
    ]
    used = {roles.unit, roles.score, roles.cost, roles.scenario, roles.repeat, roles.error}
    used |= {roles.status, *roles.flags}
    used |= {*roles.variants, *roles.metrics, *roles.tokens, roles.duration[0]}
    used |= {place for _, place in roles.said}
    left = [
        f"{listed([name]) or 'a column without a name'}{roles.why_left.get(place, '')}"
        for place, name in enumerate(table.headers)
        if place not in used
    ]
    more = f" and {len(left) - 30} more" if len(left) > 30 else ""
    told.append(("left out", ", ".join(left[:30]) + more))
    return tuple((label, text) for label, text in told if text)
