"""What must hold of a run's folder, whatever happened to its processes."""

from __future__ import annotations

from pathlib import Path

from matrix.engine.history import fold_money
from matrix.model.entries import Settled
from matrix.store.comparer import compare_tables
from matrix.store.journal import JOURNAL_NAME, JournalReader
from matrix.store.reader import RunTables
from matrix.store.run_folder import read_run


def assert_whole(run_dir: Path, undisturbed: Path) -> None:
    """The run came to its end, equal to the undisturbed one, and its books are in order."""
    assert compare_tables(run_dir, undisturbed) == []
    assert_books(run_dir)
    run = read_run(run_dir)
    assert (run.status, run.end_reason) == ("complete", "done")
    sessions = RunTables(run_dir).frame("sessions")
    assert list(sessions.outcome.unique()) == ["completed"]


def assert_books(run_dir: Path) -> None:
    """Money adds up and is within the cap, nothing is paid twice, no id is there twice."""
    run, tables = read_run(run_dir), RunTables(run_dir)
    reader = JournalReader(run_dir / JOURNAL_NAME)
    try:
        entries = [row.entry for row in reader.rows(0, reader.last_seq())]
    finally:
        reader.close()
    money = fold_money(entries)
    assert money.open_holds == []
    spent = money.history.settled + money.history.presumed
    assert spent <= run.cap_nano
    if run.totals is not None:
        assert run.totals.settled_nano == money.history.settled
        assert run.totals.presumed_nano == money.history.presumed
        assert sum(run.totals.outcomes.values()) == run.plan.sessions
    answered = [e.key for e in entries if isinstance(e, Settled) and e.answer is not None]
    assert len(answered) == len(set(answered)), "a call was paid for twice"

    calls = tables.frame("calls")
    assert calls.cost_nano.sum() == spent
    assert calls.hold_id.is_unique
    assert not calls[calls.answered].duplicated(["session_id", "phase", "turn", "slot"]).any()
    assert calls.answered.sum() == len(answered)
    sessions = tables.frame("sessions")
    assert sessions.session_id.is_unique
    assert len(sessions) == run.plan.sessions, "rows add up to the plan"
    for table, place in (("messages", "position"), ("events", "position")):
        assert not tables.frame(table).duplicated(["session_id", place]).any()
    assert not tables.frame("turns").duplicated(["session_id", "phase", "turn"]).any()
