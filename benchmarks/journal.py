"""The store alone: what a durable call costs, how big runs are, how fast tables are made and read.

The entries are real: a few play-tests are played, and their journal is copied under new session
ids until it is long enough.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from shutil import copyfile
from statistics import median
from typing import Final

from benchmarks.figures import Section
from benchmarks.measuring import timed
from benchmarks.runs import Job, Played, check_tables, play
from benchmarks.sizes import Sizes
from matrix.engine.governor.money_fold import KEEP_EVERY, KEPT_AS, money_so_far
from matrix.engine.run.earlier import earlier_lives
from matrix.model.entries import Ended, Entry, Held, Opened, Settled, TurnDone
from matrix.store.journal.codec import ENDED, HELD, OPENED, SETTLED, TURN_DONE
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader, JournalWriter
from matrix.store.reading.reader import RunTables
from matrix.store.run.run_folder import RUN_FILE, read_run
from matrix.store.tables.publisher import Publisher
from matrix.store.upkeep.repair import repair_tables

_KINDS: Final = {
    "opened": OPENED,
    "held": HELD,
    "settled": SETTLED,
    "turn done": TURN_DONE,
    "ended": ENDED,
}
_GROUPS: Final = (1, 20, 200)
"""Calls per transaction; with 200 sessions open the governor writes 20 to 200 at a time."""
_MOST_SINGLE: Final = 2_000
"""Calls that are enough to time transactions of one call each."""
_REPAIRED_CALLS: Final = 100_000
_QUICK_CALLS: Final = 2_000
_REPAIRED_FROM: Final = 50_000
"""Entries asked for from which the repaired run has its full size."""
_TABLES: Final = ("sessions", "calls", "messages")


def measure(sizes: Sizes, section: Section) -> None:
    """Fill the section."""
    job = Job(sizes.journal_sessions, open_sessions=200, in_process=True)
    played = play(sizes.folder, "journal", job)
    _bytes(played, sizes.journal_sessions, section)
    entries = _entries(played.run_dir)
    copies = -(-sizes.entries // len(entries))
    copied = [copy for number in range(copies) for copy in _copy(entries, number)]
    for calls in _GROUPS:
        _append_rate(copied, calls, sizes, section)
    _tables(played, copied, copies, sizes, section)
    _repair(played, entries, sizes, section)


def _bytes(played: Played, sessions: int, section: Section) -> None:
    journal = played.run_dir / JOURNAL_NAME
    with sqlite3.connect(f"file:{journal}?mode=ro", uri=True) as db:
        found = db.execute("SELECT kind, COUNT(*), SUM(LENGTH(body)) FROM entries GROUP BY kind")
        sums = {kind: (count, size) for kind, count, size in found}
    size, how = journal.stat().st_size, played.command
    turns = sums[TURN_DONE][0]
    section.add("journal: bytes per session", size / sessions, "bytes", how)
    section.add("journal: bytes per turn", size / turns, "bytes", "same run, the whole file")
    section.add("journal: bytes per call", size / played.calls, "bytes", "same run, the whole file")
    for name, kind in _KINDS.items():
        count, total = sums[kind]
        each = total / count
        section.add(f"journal: body of an entry '{name}'", each, "bytes", f"mean of {count:,}")
    tables = sum(path.stat().st_size for path in played.run_dir.glob("*/*.parquet"))
    section.add("tables: bytes per session", tables / sessions, "bytes", "same run, Parquet")


def _append_rate(copied: Sequence[Entry], calls: int, sizes: Sizes, section: Section) -> None:
    groups = list(_grouped(copied, calls))
    if calls == 1:
        groups = groups[:_MOST_SINGLE]
    recorded = sum(_is_answer(entry) for group in groups for entry in group)
    seconds = []
    for number in range(sizes.repeats):
        path = sizes.folder / f"append-{calls}-{number}" / JOURNAL_NAME
        writer = JournalWriter(path)
        seconds.append(timed(partial(_append, writer, groups)))
        writer.close()
        _check_length(path, sum(map(len, groups)))
    section.add(
        f"journal: calls committed, {calls} per fsync",
        recorded / median(seconds),
        "calls/s",
        f"{recorded:,} calls as Held + Settled + share of TurnDone, JournalWriter alone",
    )


def _tables(
    played: Played, copied: Sequence[Entry], copies: int, sizes: Sizes, section: Section
) -> None:
    run_dir = sizes.folder / "projection"
    writer = JournalWriter(run_dir / JOURNAL_NAME)
    _append(writer, list(_grouped(copied, 500)))
    writer.close()
    copyfile(played.run_dir / RUN_FILE, run_dir / RUN_FILE)
    with Publisher(run_dir, read_run(run_dir).info) as publisher:
        projected = timed(lambda: _follow(publisher))
        compacted = timed(lambda: publisher.finalize((), "done"))
    how = f"Publisher on {len(copied):,} entries"
    section.add("tables: projection", len(copied) / projected, "entries/s", how)
    section.add("tables: final compaction", compacted, "s", how)
    check_tables(
        run_dir, sessions=sizes.journal_sessions * copies, calls=sum(map(_is_answer, copied))
    )
    tables = RunTables(run_dir)
    for name in _TABLES:
        rows = tables.table(name).num_rows
        seconds = timed(partial(tables.frame, name), sizes.repeats)
        section.add(f"tables: {name} as pandas", seconds, "s", f"RunTables.frame, {rows:,} rows")


def _repair(played: Played, entries: Sequence[Entry], sizes: Sizes, section: Section) -> None:
    """Time ``matrix repair`` of a run with 100,000 journalled calls and torn tables, and recovery.

    As a governor does, the run's money is kept in the journal some 10,000 entries before its end.
    """
    calls = sum(map(_is_answer, entries))
    copies = -(-(_REPAIRED_CALLS if sizes.entries >= _REPAIRED_FROM else _QUICK_CALLS) // calls)
    run_dir = sizes.folder / "repair"
    writer = JournalWriter(run_dir / JOURNAL_NAME)
    tail = min(copies - 1, max(1, KEEP_EVERY // len(entries)))
    for number in range(copies):
        if number == copies - tail:
            whole = timed(lambda: money_so_far(writer))
            writer.keep(KEPT_AS, money_so_far(writer).to_json())
        writer.append(list(_copy(entries, number)))
    writer.close()
    copyfile(played.run_dir / RUN_FILE, run_dir / RUN_FILE)
    _recovery(run_dir, tail * len(entries), whole, section)
    (run_dir / "calls").mkdir()
    (run_dir / "calls" / "part-000000000000-000000000000.parquet").write_bytes(b"PAR1 torn")
    seconds = timed(partial(repair_tables, run_dir, read_run(run_dir), tuple))
    how = f"store.repair.repair_tables, {copies * calls:,} calls, {copies * len(entries):,} entries"
    section.add("journal: repair of all tables", seconds, "s", how, goal="< 60")
    check_tables(run_dir, sessions=sizes.journal_sessions * copies, calls=copies * calls)


def _recovery(run_dir: Path, tail: int, whole: float, section: Section) -> None:
    """Time what a resume reads before it can play."""
    with closing(JournalReader(run_dir / JOURNAL_NAME)) as reader:
        seconds = timed(lambda: money_so_far(reader))
    how = "engine.money_fold.money_so_far on the journal that is repaired below"
    section.add("recovery: money, nothing kept of it", whole, "s", how)
    kept = f"the same, {tail:,} entries since it was kept"
    section.add("recovery: money", seconds, "s", kept)
    seconds = timed(partial(earlier_lives, run_dir))
    section.add("recovery: sessions that ended", seconds, "s", "engine.earlier.earlier_lives")


def _append(writer: JournalWriter, groups: Sequence[Sequence[Entry]]) -> None:
    for group in groups:
        writer.append(group)


def _follow(publisher: Publisher) -> None:
    while publisher.step(flush=True):
        pass


def _entries(run_dir: Path) -> list[Entry]:
    reader = JournalReader(run_dir / JOURNAL_NAME)
    try:
        return [row.entry for row in reader.rows(0, reader.last_seq())]
    finally:
        reader.close()


def _copy(entries: Sequence[Entry], number: int) -> Iterator[Entry]:
    """The same entries for other sessions."""
    holds = number * len(entries)

    def other(session_id: str) -> str:
        return f"{session_id}-{number}"

    for entry in entries:
        match entry:
            case Opened(plan, at, redo):
                prelude = plan.prelude_id and other(plan.prelude_id)
                renamed = replace(plan, session_id=other(plan.session_id), prelude_id=prelude)
                yield Opened(renamed, at, redo)
            case Held() | Settled():
                key = entry.key._replace(session_id=other(entry.key.session_id))
                yield entry._replace(key=key, hold_id=entry.hold_id + holds)
            case TurnDone() | Ended():
                yield replace(entry, session_id=other(entry.session_id))


def _grouped(entries: Sequence[Entry], calls: int) -> Iterator[list[Entry]]:
    """Entries in order, cut after every so many answered calls."""
    group: list[Entry] = []
    answered = 0
    for entry in entries:
        group.append(entry)
        answered += _is_answer(entry)
        if answered == calls:
            yield group
            group, answered = [], 0
    if group:
        yield group


def _is_answer(entry: Entry) -> bool:
    return isinstance(entry, Settled) and entry.answer is not None


def _check_length(path: Path, entries: int) -> None:
    reader = JournalReader(path)
    try:
        assert reader.last_seq() == entries, f"{path} holds {reader.last_seq()} of {entries}"
    finally:
        reader.close()
