"""Whoever reads a journal agrees with everybody else on what counts in it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix.engine.governor.history import fold_session
from matrix.engine.governor.money_fold import KEPT_AS, MoneyFold, money_so_far
from matrix.engine.prepare.registry import load_kind
from matrix.engine.run.earlier import earlier_lives
from matrix.engine.run.redo import prepare_open_sessions, sessions_left_open
from matrix.model.entries import Disposition, Ended, Entry, Held, Opened, Settled, Tally, TurnDone
from matrix.model.records import CallKey, Message, Outcome, Score, Usage
from matrix.store.journal.codec import SETTLED, TURN_DONE
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader, JournalWriter
from matrix.store.journal.transcript import transcript
from matrix.store.run.schema import RunInfo
from matrix.store.tables.projection import PROJECTED, ProjectedRows
from tests.books import fold_money
from tests.engine.plans import MODEL, answer, plan
from tests.sampling import examples

SESSION = plan()

OPENS = st.booleans().map(lambda redo: Opened(SESSION, 1.0, redo))
OUTCOMES: st.SearchStrategy[Outcome] = st.sampled_from(["completed", "errored", "censored"])


def _end(outcome: Outcome) -> Ended:
    return Ended("s1", outcome, "", "", 1, 0.5, Tally(), 3.0)


def _turn(turn: int) -> TurnDone:
    said = (Message("table", "x", f"turn {turn}", turn),)
    scores = (Score(f"turn {turn}", 1.0),)
    return TurnDone("s1", "turn", turn, b"{}", said, (), scores, (), Tally(), None, (1, 1), 2.0)


def _attempts(given: list[tuple[Disposition, int, bool]]) -> list[list[Entry]]:
    """Attempts one after the other; usage of a presumed one may come late."""
    found: list[list[Entry]] = []
    for hold_id, (disposition, saved, late) in enumerate(given, 1):
        held = Held(
            hold_id, CallKey("s1", "turn", 1, str(hold_id)), 1, "counter", MODEL, 100, "w", 1.5
        )
        found.append([held, _settled(held, disposition, saved)])
        if late and disposition == "presumed":
            found.append([_settled(held, "settled", saved)])
    return found


def _settled(held: Held, disposition: Disposition, saved: int) -> Settled:
    cost = {"settled": 60, "presumed": 100, "released": 0, "cached": 0}[disposition]
    said = answer() if disposition in ("settled", "cached") else None
    return Settled(
        held.hold_id, held.key, 1, "counter", MODEL, "d", 100, disposition, cost, Usage(20, 1), 0.0,
        0.0, "", said, 1.6, saved,
    )  # fmt: skip


def _journal(parts: list[Entry | None], attempts: list[list[Entry]]) -> list[Entry]:
    """Attempts where ``None`` stands, in their order, and the others at the end."""
    entries: list[Entry] = [Opened(SESSION, 0.5)]
    left = iter(attempts)
    for part in parts:
        entries += next(left, []) if part is None else [part]
    return [*entries, *(entry for attempt in left for entry in attempt)]


DISPOSITIONS: st.SearchStrategy[Disposition] = st.sampled_from(
    ["settled", "presumed", "released", "cached"]
)
ATTEMPTS = st.lists(st.tuples(DISPOSITIONS, st.integers(0, 9), st.booleans()), max_size=6)
PARTS = st.one_of(OPENS, OUTCOMES.map(_end), st.integers(1, 4).map(_turn), st.none())
ENTRIES = st.builds(_journal, st.lists(PARTS, max_size=14), ATTEMPTS.map(_attempts))


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(ENTRIES)
def test_all_readers_of_a_journal_agree_on_what_was_superseded(entries: list[Entry]) -> None:
    with TemporaryDirectory() as folder:
        run_dir = Path(folder)
        writer = JournalWriter(run_dir / JOURNAL_NAME)
        writer.append(entries)
        writer.close()
        with closing(JournalReader(run_dir / JOURNAL_NAME)) as reader:
            read = transcript(reader, "s1")
            over = reader.has_ended("s1")
            info = RunInfo("", "", "", ())
            rows = ProjectedRows(
                info, lambda session, seq: reader.session_rows(session, before=seq)
            )
            for row in reader.rows(0, reader.last_seq(), PROJECTED):
                rows.add(row.seq, row.entry)
        past = fold_session(entries)
        money = fold_money(entries).history
        earlier = earlier_lives(run_dir)
    # the end
    assert (read.ended is not None) == over == (past.snapshot.done is not None)
    assert read.ended == past.snapshot.done
    assert len(rows.live_rows("sessions")) == over
    goes_on = read.ended is None or read.ended.outcome == "censored"
    assert [state.plan for state in sessions_left_open(entries, redo=False)] == [SESSION] * goes_on
    assert ("s1" in earlier.done) == (not goes_on)
    # the checkpoints
    log = [message.text for message in past.snapshot.log]
    assert [message.text for message in read.messages] == log
    assert len(rows.live_rows("messages")) == len(log)
    assert {score.name for score in read.scores} == set(past.snapshot.scores)
    # the money
    cost = sum(call.cost for call in read.calls)
    assert cost == past.spent == money.settled + money.presumed
    assert len(rows.live_rows("calls")) == len(read.calls)
    saved = sum(call.saved for call in read.calls)
    assert saved == money.counters.saved
    if goes_on:
        assert sum(earlier.begun.get("s1", {}).values()) == cost
    elif read.ended is not None:
        assert earlier.done["s1"].cost == read.ended.tally.cost + saved


@given(ENTRIES, ENTRIES)
def test_money_that_was_kept_and_gone_on_with_is_the_money_of_all_entries(
    before: list[Entry], after: list[Entry]
) -> None:
    with TemporaryDirectory() as folder:
        writer = JournalWriter(Path(folder) / JOURNAL_NAME)
        writer.append(before)
        writer.keep(KEPT_AS, money_so_far(writer).to_json())
        late = [_renumbered(entry) for entry in after]
        writer.append(late)
        kept = writer.kept(KEPT_AS)
        assert kept is not None
        assert kept.up_to == len(before), "only what came later is read"
        found, whole = money_so_far(writer), MoneyFold()
        writer.close()
    whole.take([*before, *late])
    assert found.history() == whole.history()
    assert (found.charged, found.attempts.open) == (whole.charged, whole.attempts.open)


def _renumbered(entry: Entry) -> Entry:
    """Half of the later settlements are of attempts that were presumed before."""
    if isinstance(entry, Held) or (isinstance(entry, Settled) and entry.disposition != "settled"):
        return entry._replace(hold_id=entry.hold_id + 100)
    return entry


def test_a_resumed_run_reads_nothing_of_what_has_ended(tmp_path: Path) -> None:
    """Torn rows stand where nobody should look."""
    entries: list[Entry] = [Opened(SESSION, 0.5), *_attempts([("settled", 0, False)])[0], _turn(1)]
    writer = JournalWriter(tmp_path / JOURNAL_NAME)
    writer.append([*entries, _end("completed")])
    writer.keep(KEPT_AS, money_so_far(writer).to_json())
    writer.close()
    with closing(sqlite3.connect(tmp_path / JOURNAL_NAME)) as db, db:
        db.execute("UPDATE entries SET body = 'torn' WHERE kind IN (?, ?)", (SETTLED, TURN_DONE))
    assert earlier_lives(tmp_path).done.keys() == {"s1"}
    assert prepare_open_sessions(tmp_path, load_kind("counter"), redo=False, at=0.0) == 0
    with closing(JournalReader(tmp_path / JOURNAL_NAME)) as reader:
        assert money_so_far(reader).history().settled == 60
