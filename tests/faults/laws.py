"""What must hold of a run's folder, whatever happened to its processes."""

from __future__ import annotations

import fcntl
from collections.abc import Sequence
from pathlib import Path

from matrix.model.entries import Acted, Entry, Held, Opened, Settled, TurnDone
from matrix.model.money import NanoUSD
from matrix.model.records import CallKey
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader
from matrix.store.reading.reader import RunTables
from matrix.store.run.run_folder import read_run
from matrix.store.tables.tables import table_named
from tests.books import fold_money
from tests.comparer import compare_tables


def entries_in(run_dir: Path) -> list[Entry]:
    """A run's whole journal."""
    reader = JournalReader(run_dir / JOURNAL_NAME)
    try:
        return [row.entry for row in reader.rows(0, reader.last_seq())]
    finally:
        reader.close()


def trees(run_dir: Path) -> dict[CallKey, str]:
    """The tree of every checkpoint and after every effect."""
    found: dict[CallKey, str] = {}
    for entry in entries_in(run_dir):
        if isinstance(entry, TurnDone):
            found[CallKey(entry.session_id, entry.phase, entry.turn, "")] = entry.tree
        elif isinstance(entry, Acted):
            found[entry.key] = entry.tree
    return found


def assert_whole(run_dir: Path, undisturbed: Path) -> None:
    """The run came to its end, equal to the undisturbed one, and its books are in order."""
    assert compare_tables(run_dir, undisturbed) == []
    assert_books(run_dir)
    run = read_run(run_dir)
    assert (run.status, run.end_reason) == ("complete", "done")
    sessions = RunTables(run_dir).frame("sessions")
    assert list(sessions.outcome.unique()) == ["completed"]


def assert_books(run_dir: Path) -> None:
    """Money adds up and was within the cap all along, nothing is paid twice, no id is twice."""
    run, tables = read_run(run_dir), RunTables(run_dir)
    entries = entries_in(run_dir)
    money = fold_money(entries)
    assert money.open_holds == []
    spent = money.history.settled + money.history.presumed
    assert most_committed(entries) <= run.cap_nano, "settled + presumed + held went over the cap"
    if run.totals is not None:
        assert run.totals.settled_nano == money.history.settled
        assert run.totals.presumed_nano == money.history.presumed
        assert sum(run.totals.outcomes.values()) == run.plan.sessions
    answered = [e for e in entries if isinstance(e, Settled) and e.answer is not None]
    assert paid_twice(entries) == []

    calls = tables.frame("calls")
    assert calls.cost_nano.sum() == spent
    assert calls.hold_id.is_unique
    assert calls.answered.sum() == len(answered)
    sessions = tables.frame("sessions")
    assert sessions.session_id.is_unique
    assert len(sessions) == run.plan.sessions, "rows add up to the plan"
    if run.status == "complete":
        paid = calls[calls.answered]  # settled, or presumed because nobody said what it cost
        own = paid[paid.session_id.isin(sessions.session_id)]
        beyond = sum(e.overrun for e in answered if e.key.session_id in set(sessions.session_id))
        paid_by_sessions = sessions.cost_nano.sum() - beyond
        assert paid_by_sessions == own.cost_nano.sum(), "sessions and ledger disagree"
    for table, place in (("messages", "position"), ("events", "position")):
        assert not tables.frame(table).duplicated(["session_id", place]).any()
    assert not tables.frame("turns").duplicated(["session_id", "phase", "turn"]).any()


def assert_kept(run_dir: Path, acknowledged: Sequence[Entry]) -> None:
    """Nothing that was in the journal at some moment is missing from it."""
    assert entries_in(run_dir)[: len(acknowledged)] == list(acknowledged)


def assert_agree(run_dir: Path, undisturbed: Path) -> int:
    """Sessions that were completed in both runs came out the same; returns how many."""
    volatile = [c.name for c in table_named("sessions").columns if c.mark == "volatile"]
    one, other = (
        frame[frame.outcome == "completed"].set_index("session_id").drop(columns=volatile)
        for frame in (RunTables(path).frame("sessions") for path in (run_dir, undisturbed))
    )
    both = one.index.intersection(other.index).sort_values()
    same = [name for name in one.columns if name in other.columns and name != "run_id"]
    assert one.loc[both, same].equals(other.loc[both, same])
    return len(both)


def is_locked(run_dir: Path) -> bool:
    """Whether somebody holds the journal's lock."""
    with (run_dir / "journal.lock").open("ab") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        return False


def most_committed(entries: Sequence[Entry]) -> NanoUSD:
    """The most that was settled, presumed and held together at any moment of a run."""
    held: dict[int, NanoUSD] = {}
    committed = most = 0
    for entry in entries:
        if isinstance(entry, Held | Settled):
            now = entry.amount if isinstance(entry, Held) else entry.cost
            committed += now - held.get(entry.hold_id, 0)
            held[entry.hold_id] = now
            most = max(most, committed)
    return most


def paid_twice(entries: Sequence[Entry]) -> list[CallKey]:
    """Calls that were answered although they had an answer which nobody had asked to supersede."""
    answered: dict[str, set[CallKey]] = {}
    twice = []
    for entry in entries:
        if isinstance(entry, Opened) and entry.redo:
            answered.pop(entry.plan.session_id, None)
        elif isinstance(entry, Settled) and entry.answer is not None:
            known = answered.setdefault(entry.key.session_id, set())
            if entry.key in known:
                twice.append(entry.key)
            known.add(entry.key)
    return twice
