"""Showing one session from the journal, while it is played or afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix.model.entries import Entry
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader
from matrix.store.journal.transcript import SessionNotFound, Transcript, find_session, transcript
from tests.store.journals import plan, tell, write_journal

PLAYED = [(1, "turn"), (1, "call"), (1, "turn"), (1, "lost"), (1, "turn")]


def shown(run_dir: Path, entries: list[Entry], session_id: str = "session-1") -> Transcript:
    write_journal(run_dir, entries)
    journal = JournalReader(run_dir / JOURNAL_NAME)
    try:
        return transcript(journal, session_id)
    finally:
        journal.close()


def test_an_open_session_is_shown_as_far_as_it_is(tmp_path: Path) -> None:
    entries = tell(PLAYED)
    found = shown(tmp_path, entries[:-2])  # up to the hold of the second call
    assert found.plan == plan(1)
    assert [turn.turn for turn in found.turns] == [0, 1]
    assert [call.hold_id for call in found.calls] == [1]
    assert [hold.hold_id for hold in found.in_flight] == [2]
    assert found.ended is None
    assert found.tally.calls == 1
    assert found.players[0].name == "Ada"


def test_what_was_played_again_is_shown_once(tmp_path: Path) -> None:
    entries = tell([*PLAYED, (1, "end"), (1, "redo"), (1, "late"), (1, "end"), (0, "turn")])
    found = shown(tmp_path, entries)
    assert [turn.turn for turn in found.turns] == [0, 1]
    assert [call.disposition for call in found.calls] == ["settled", "settled"]
    assert found.in_flight == ()
    assert found.ended == entries[-3]
    assert found.session_id == "session-1"
    assert len(found.messages) == sum(len(turn.messages) for turn in found.turns)
    assert len(found.scores) == 4


def test_a_session_opened_again_is_open(tmp_path: Path) -> None:
    assert shown(tmp_path, tell([*PLAYED, (1, "end"), (1, "open")])).ended is None


def test_sessions_are_found_by_their_beginning_or_near_ones_named(tmp_path: Path) -> None:
    write_journal(tmp_path, tell([(0, "open"), (1, "open")]))
    journal = JournalReader(tmp_path / JOURNAL_NAME)
    assert find_session(journal, "session-1") == "session-1"
    with pytest.raises(SessionNotFound, match="beginning of 2 sessions: session-0, session-1"):
        find_session(journal, "sess")
    with pytest.raises(SessionNotFound, match="near it: session-0"):
        find_session(journal, "sesion-0")
    with pytest.raises(SessionNotFound, match="among the 2 that were started"):
        find_session(journal, "")
    with pytest.raises(SessionNotFound, match="never opened"):
        transcript(journal, "session-9")
    journal.close()
