"""Sessions that cannot be gone on from are named, with the remedy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from matrix.api import Run, plan_branch, plan_replay, plan_replay_checkpoint
from matrix.model.entries import Ended, Entry, TurnDone, session_of
from matrix.model.errors import BadInput, RunNotFound
from matrix.model.records import Outcome
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader, JournalWriter
from matrix.store.journal.transcript import SessionNotFound
from matrix.store.reading.checkpoints import Moments
from matrix.store.run.run_folder import write_run
from tests.branching.looking import ids


def entries_of(run: Run) -> list[Entry]:
    reader = JournalReader(run.path / JOURNAL_NAME)
    try:
        return [row.entry for row in reader.rows(0, reader.last_seq())]
    finally:
        reader.close()


def hurt(run: Run, folder: Path, entries: Sequence[Entry]) -> Moments:
    """A run with the same ``run.json`` and another journal."""
    folder.mkdir()
    write_run(folder, run.file.model_copy(update={"run_id": folder.name}))
    writer = JournalWriter(folder / JOURNAL_NAME)
    reader = JournalReader(run.path / JOURNAL_NAME)
    writer.add_resources(reader.resources())
    reader.close()
    writer.append(entries)
    writer.close()
    return Moments(folder)


def test_a_turn_that_was_not_played_is_no_moment(parent: Run) -> None:
    session = ids(parent)[0]
    with pytest.raises(BadInput, match=r"has no turn 7; turns to go on after: 0 .* to 6"):
        plan_replay(parent.path, session, turn=7)


def test_a_session_that_has_not_ended_is_to_be_resumed(counter: Run, tmp_path: Path) -> None:
    entries = [entry for entry in entries_of(counter) if not isinstance(entry, Ended)]
    moments = hurt(counter, tmp_path / "open", entries)
    told = f"has not ended; `matrix resume open --results {tmp_path}` goes on with it"
    with pytest.raises(BadInput, match=re.escape(told)):
        moments.after(ids(counter)[0], 2)
    moments.close()


def ended_as(run: Run, outcome: Outcome) -> list[Entry]:
    """The run's journal, had its sessions ended in this way."""
    return [
        replace(entry, outcome=outcome, reason="the weather") if isinstance(entry, Ended) else entry
        for entry in entries_of(run)
    ]


def test_a_session_that_was_cut_short_is_no_parent(counter: Run, tmp_path: Path) -> None:
    moments = hurt(counter, tmp_path / "hurt", ended_as(counter, "censored"))
    with pytest.raises(BadInput, match=r"ended as censored \(the weather\); only sessions"):
        moments.after(ids(counter)[0], 2)
    moments.close()


def test_an_errored_session_is_a_parent_from_any_turn_that_it_finished(
    counter: Run, tmp_path: Path
) -> None:
    hurt(counter, tmp_path / "hurt", ended_as(counter, "errored")).close()
    session = ids(counter)[0]
    for turn in (0, 2):
        replayed = plan_replay(tmp_path / "hurt", session, turn=turn)
        (moment,) = replayed.continuation.moments
        assert (moment.plan.session_id, moment.turn) == (session, turn)
    branched = plan_branch(tmp_path / "hurt", session, turn=2, variants={"step": [1, 2]})
    assert len(branched.continuation.forks) == 2


def test_a_turn_that_was_redone_counts_as_it_was_done_last(counter: Run, tmp_path: Path) -> None:
    session = ids(counter)[0]
    mine = [entry for entry in entries_of(counter) if session_of(entry) == session]
    turns = [entry for entry in mine if isinstance(entry, TurnDone)]
    again = [replace(entry, events=()) for entry in turns if entry.turn >= 2]
    prelude = [entry for entry in entries_of(counter) if session_of(entry) != session]
    end = [entry for entry in mine if isinstance(entry, Ended)]
    body = [entry for entry in mine if not isinstance(entry, Ended)]
    moments = hurt(counter, tmp_path / "redone", [*prelude, *body, *again, *end])
    found = moments.after(session, 4)
    moments.close()
    assert [done.turn for done in found.turns] == [0, 1, 2, 3, 4]
    assert [len(done.events) for done in found.turns] == [0, 1, 0, 0, 0]


def test_the_preparation_of_a_round_is_no_session(counter: Run) -> None:
    prelude = counter.session(ids(counter)[0]).plan.prelude_id
    assert prelude is not None
    with pytest.raises(BadInput, match="is the preparation of a round"):
        plan_replay(counter.path, prelude, turn=0)


def test_what_is_not_there_is_not_found(counter: Run, tmp_path: Path) -> None:
    with pytest.raises(SessionNotFound):
        plan_replay(counter.path, "zz", turn=1)
    with pytest.raises(RunNotFound):
        plan_replay("nobody", "zz", turn=1, results=tmp_path)


def test_a_checkpoint_of_another_version_of_the_kind_is_refused(counter: Run) -> None:
    moments = Moments(counter.path)
    checkpoint = moments.after(ids(counter)[0], 2)
    moments.close()
    turns = tuple(replace(done, versions=(1, 99)) for done in checkpoint.turns)
    with pytest.raises(BadInput, match="state version 99; this one has 1 and 1"):
        plan_replay_checkpoint(replace(checkpoint, turns=turns))


def test_a_cap_below_one_moment_is_refused_before_anything_starts(counter: Run) -> None:
    session = ids(counter)[0]
    with pytest.raises(BadInput, match="too small for one round of 20 sessions"):
        plan_branch(counter.path, session, turn=1, variants={"step": [1, 2]}, max_cost=0.0005)


def test_what_a_branch_lacks_is_said_at_once(counter: Run) -> None:
    with pytest.raises(BadInput) as raised:
        plan_branch(counter.path, where="x", variants={"step": [1]}, times=0)
    assert [mistake.source for mistake in raised.value.mistakes] == [
        "--times",
        "--variants",
        "--where",
    ]
    for more in ({}, {"session": "a"}, {"turn": 3}, {"session": "a", "turn": 1, "where": "a.b==1"}):
        with pytest.raises(BadInput, match="say where to branch"):
            plan_branch(counter.path, variants={"step": [1, 2]}, **more)
