"""Changed code under a resumed run: it is said what differs, and the turn can be played anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from matrix.engine.governor.history import fold_session
from matrix.engine.prepare.registry import load_kind
from matrix.engine.run.redo import check_states, prepare_open_sessions, sessions_left_open
from matrix.kinds.context import Context
from matrix.model.entries import Ended, Opened, Settled, TurnDone
from matrix.model.errors import DigestMismatch, StateMismatch
from matrix.model.records import CallKey
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader, JournalWriter
from matrix.store.journal.session_state import SessionState
from tests.engine.lone_session import Journal
from tests.engine.mixed_kind import MixedKind, MixedState, say
from tests.engine.plans import MODEL, plan

MIXED = plan(kind="mixed", options={"turns": 3}, roles={"speaker": MODEL})


class Edited(MixedKind):
    """The kind after somebody has changed what a turn asks."""

    async def turn(self, ctx: Context, state: MixedState) -> MixedState:
        await say(ctx, "another prompt than before")
        return await super().turn(ctx, state)


class Wider(MixedState):
    """A state that has got a field without a default."""

    mood: str


def left_open(journal: Journal, redo: bool = False) -> list[SessionState]:
    return sessions_left_open(journal.entries, redo)


async def stopped_in_a_turn() -> Journal:
    journal = Journal(MixedKind(), MIXED, prelude=["Ada", "Bo"])
    assert await journal.play(4) is None
    assert journal.history.answers
    return journal


async def test_the_same_code_goes_on_without_a_word() -> None:
    journal = await stopped_in_a_turn()
    check_states(journal.kind, left_open(journal), Path("results/run-1"), redo=False)


async def test_another_version_of_the_kind_is_named_with_the_remedy_and_redo_is_let_through() -> (
    None
):
    journal = await stopped_in_a_turn()
    edited = Edited()
    edited.version, edited.state_version = 8, 9
    with pytest.raises(StateMismatch) as caught:
        check_states(edited, left_open(journal), Path("results/run-1"), redo=False)
    assert "installed are versions 8 and 9" in str(caught.value)
    assert "matrix resume run-1 --redo-turn" in str(caught.value)
    check_states(edited, left_open(journal, redo=True), Path("results/run-1"), redo=True)


async def test_a_turn_that_was_begun_anew_goes_on_without_being_redone_again() -> None:
    journal = await stopped_in_a_turn()
    edited = Edited()
    edited.version = 8
    journal.entries.append(Opened(MIXED, 1.0, redo=True))
    check_states(edited, left_open(journal), Path("results/run-1"), redo=False)


async def test_fields_that_a_stored_state_lacks_are_named_and_redo_does_not_help() -> None:
    journal = await stopped_in_a_turn()
    kind = MixedKind()
    kind.state_model = Wider
    for redo in (False, True):
        with pytest.raises(StateMismatch, match="field mood: Field required") as caught:
            check_states(kind, left_open(journal), Path("results/run-1"), redo=redo)
        assert "start a new run" in str(caught.value)


async def test_redone_a_turn_is_asked_anew_and_what_was_paid_stays_paid() -> None:
    journal = await stopped_in_a_turn()
    paid = [entry for entry in journal.entries if isinstance(entry, Settled)]
    first = CallKey("s1", "turn", 1, "0")
    assert first in journal.history.answers
    journal.kind = Edited()
    assert (await journal.play()).error_class == DigestMismatch.__name__  # type: ignore[union-attr]
    journal.entries.append(Opened(MIXED, 1.0, redo=True))
    assert fold_session(journal.entries).answers == {}
    journal.paid.clear()
    end = await journal.play()
    assert end is not None
    assert end.outcome == "completed"
    assert first in journal.paid, "an answer in flight was given to a changed turn"
    assert [e for e in journal.entries if isinstance(e, Settled)][: len(paid)] == paid
    turns = [entry.turn for entry in journal.entries if isinstance(entry, TurnDone)]
    assert turns == sorted(turns), "turns before the checkpoint were played again"


async def test_what_a_redone_turn_superseded_counts_in_the_sessions_tally() -> None:
    journal = await stopped_in_a_turn()
    journal.kind = Edited()
    for answers in (1, 3, None):  # begun anew three times, stopped twice in between
        journal.entries.append(Opened(MIXED, 1.0, redo=True))
        end = await journal.play(answers)
    assert end is not None
    paid = [e.answer for e in journal.entries if isinstance(e, Settled) and e.answer is not None]
    assert len(paid) > len({e.key for e in journal.entries if isinstance(e, Settled)})
    assert end.tally.calls == len(paid)
    assert end.tally.cost == sum(answer.cost for answer in paid)
    assert end.tally.tokens_in == sum(answer.usage.input for answer in paid)
    assert end.tally.tokens_out == sum(answer.usage.output for answer in paid)
    assert journal.history.used == end.tally


async def test_interrupted_again_a_redone_turn_keeps_its_new_answers() -> None:
    journal = await stopped_in_a_turn()
    journal.kind = Edited()
    journal.entries.append(Opened(MIXED, 1.0, redo=True))
    assert await journal.play(1) is None
    assert len(journal.history.answers) == 1
    assert (await journal.play()).outcome == "completed"  # type: ignore[union-attr]


async def test_the_journal_says_which_sessions_are_redone_and_leaves_those_that_are_over(
    tmp_path: Path,
) -> None:
    journal = await stopped_in_a_turn()
    over = Journal(load_kind("counter"), plan("s2"))
    await over.play()
    stopped = replace(
        next(e for e in over.entries if isinstance(e, Ended)),
        session_id="s3",
        error_class="DigestMismatch",
        outcome="errored",
    )
    writer = JournalWriter(tmp_path / JOURNAL_NAME)
    writer.append([*journal.entries, *over.entries, Opened(plan("s3"), 0.0), stopped])
    writer.close()
    kind: MixedKind = MixedKind()
    assert prepare_open_sessions(tmp_path, kind, redo=False, at=5.0) == 0
    assert prepare_open_sessions(tmp_path, kind, redo=True, at=5.0) == 2
    reader = JournalReader(tmp_path / JOURNAL_NAME)
    redone = {
        row.entry.plan.session_id
        for row in reader.rows(0, reader.last_seq())
        if isinstance(row.entry, Opened) and row.entry.redo
    }
    reader.close()
    assert redone == {"s1", "s3"}
