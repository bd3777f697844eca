"""Chapters on single sessions: what went wrong, and where to begin reading."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from matrix.report.page.blocks import Block, DataTable, Facts, Prose, TableCell, anchor_of
from matrix.report.page.known import RunFacts, levels_of, unit_of_row
from matrix.report.run.endings import ErrorClass
from matrix.report.run.explained import left_out_of, provenance_of
from matrix.report.text import number, plural, score_digits
from matrix.store.reading.reader import RunTables
from matrix.store.reading.told import units_in

_MOST_CAUSES: Final = 12
_MOST_OF_A_CAUSE: Final = 8
_MOST_CITED: Final = 20
_BROKEN: Final = ("failed", "errored")


def failures_of(run: RunFacts, frame: Any, shown: set[str]) -> Iterator[Block]:
    """What went wrong, by cause, with where it can be read."""
    for one, own in examples_of(run, frame):
        rows = [
            [
                TableCell(session[:16], anchor_of(session) if session in shown else ""),
                TableCell(_end_of(row)[:300]),
                TableCell(_turns_of(run, row)),
                TableCell(str(row["scenario"])),
                TableCell(levels_of(run.summary.run, row)),
            ]
            for session, row in ((str(row["session_id"]), row) for row in own)
        ]
        more = f" ({len(own)} of {one.sessions:,} shown)" if one.sessions > len(own) else ""
        yield DataTable(
            f"{one.name}: {plural(one.sessions, 'session')}{more}",
            ["session", "why", "turns", "scenario", "variant"],  # what decides stands first
            rows,
            (2,),
        )
    cut = [(name, f"{count:,} sessions") for name, count in run.summary.censored.items()]
    if cut:
        yield Facts([("cut short or not begun", ""), *cut])


def explained_of(run: RunFacts, shown: set[str]) -> Iterator[Block]:
    """What a model made of them: groups with the sessions that it cites."""
    found = run.explained
    if found is None:
        return
    yield Prose(provenance_of(found) + ".")
    for one in found.groups:
        rows = [
            [
                TableCell(
                    each.session[:16],
                    anchor_of(each.session, each.turn) if each.session in shown else "",
                ),
                TableCell(f"{each.turn:,}"),
                TableCell(each.why),
            ]
            for each in one.sessions[:_MOST_CITED]
        ]
        more = len(one.sessions) - len(rows)
        told = f" ({len(rows)} of {len(one.sessions):,} shown)" if more else ""
        title = f"{one.label}: {plural(len(one.sessions), 'session')}{told}. {one.explanation}"
        yield DataTable(title, ["session", "turn", "what shows it"], rows, (1,))
    yield from (Prose(told) for told in left_out_of(found))


def examples_of(run: RunFacts, frame: Any) -> list[tuple[ErrorClass, list[dict[str, Any]]]]:
    """What went wrong, the most frequent first, each with its newest sessions (rows)."""
    endings = run.summary.endings
    found = []
    for one in (*endings.errors, *endings.losses)[:_MOST_CAUSES]:
        own = frame[(frame["error_class"] == one.name) | (frame["outcome"] == one.name)]
        newest = own.sort_values("seq", ascending=False).head(_MOST_OF_A_CAUSE)
        found.append((one, newest.to_dict("records")))
    return found


def _turns_of(run: RunFacts, row: Any) -> str:
    """How many turns a session had; no file of imported results says it."""
    return "-" if run.summary.run.imported else f"{int(row['turns']):,}"


def _end_of(row: Any) -> str:
    """How a session ended: the kind's own words, or else its outcome."""
    reason = row["end_reason"]
    return reason if isinstance(reason, str) and reason else str(row["outcome"])


def to_look_at_of(run: RunFacts, frame: Any, shown: set[str]) -> Iterator[Block]:
    """Where to begin reading."""
    rows: list[list[TableCell]] = []
    digits = max(2, score_digits(run.summary.run.plan.score_range))
    marks, units = turns_to_look_at(run.tables, frame), units_in(run.tables)
    for word, session in looked_at_of(run, frame):
        row = frame[frame["session_id"] == session].iloc[0]
        turn = marks[session]
        score, unit = row["score"], unit_of_row(run.tables.run, row, units)
        rows.append(
            [
                TableCell(word),
                TableCell(
                    unit if run.summary.run.imported else f"turn {turn}",
                    anchor_of(session, turn) if session in shown and turn else "",
                ),
                TableCell("-" if score != score else number(float(score), digits)),
                TableCell(_end_of(row)[:200]),
                TableCell(str(row["scenario"])),
                TableCell(levels_of(run.summary.run, row)),
                TableCell(session[:16], anchor_of(session) if session in shown else ""),
            ]
        )
    if rows:
        headers = ["", "look at", "score", "ended", "scenario", "variant", "session"]
        yield DataTable("Where to begin reading", headers, rows, (2,))


def turns_to_look_at(tables: RunTables, frame: Any) -> dict[str, int]:
    """Session -> the turn that it is read for: its worst one.

    That is the last one of a session that failed or errored; else the one with the most errors, of
    equals the one with the most issues, of equals the first; without any, the last.
    """
    events = tables.frame("events", ["session_id", "turn", "severity"])
    events = events[events["severity"].notna()].assign(errors=events["severity"] == "error")
    counts = events.groupby(["session_id", "turn"], observed=True)["errors"].agg(["sum", "size"])
    order = ["sum", "size", "turn"]
    worst = counts.reset_index().sort_values(order, ascending=[False, False, True])
    worst = worst.drop_duplicates("session_id")
    marks = dict(zip(worst["session_id"].astype(str), worst["turn"].astype(int), strict=True))
    columns = (frame[name] for name in ("session_id", "outcome", "turns"))
    return {
        str(session): int(turns) if outcome in _BROKEN else marks.get(str(session), int(turns))
        for session, outcome, turns in zip(*columns, strict=True)
    }


def looked_at_of(run: RunFacts, frame: Any) -> list[tuple[str, str]]:
    """What a session is an example of, and which one; none as good as the best is a bad one."""
    found = dict[str, str]()
    rising = not run.summary.score_is_low
    scored = frame[frame["score"].notna()].sort_values("score", ascending=rising)
    best = scored["score"].iloc[-1:].to_list()
    worse = scored[~scored["score"].isin(best)]["session_id"].astype(str)
    for word, session in run.summary.extremes.items():
        if word != "worst" or session in set(worse):
            found.setdefault(session, word)
    for session in worse.head(3):
        found.setdefault(str(session), "among the worst")
    for session in scored["session_id"].tail(2):
        found.setdefault(str(session), "among the best")
    return [(word, session) for session, word in found.items()]
