"""Replays: what is kept, what changes, and that nothing changes by itself."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from matrix.api import Run, open_run
from matrix.store.journal.journal import JOURNAL_NAME, JournalReader
from matrix.store.reading.judgings import judge_repeats
from matrix.store.reading.reader import RunTables
from tests.books import fold_money
from tests.branching.looking import TABLES, ids, left_behind, up_to


@pytest.mark.slow
@pytest.mark.parametrize("turn", [0, 3, 6])
def test_an_unchanged_replay_is_the_parent_again(parent: Run, tmp_path: Path, turn: int) -> None:
    for session in ids(parent)[:2]:
        again = parent.replay(
            session, turn=turn, results=tmp_path, run_id=session, executor="in-process"
        )
        (child,) = ids(again)
        assert child != session
        for table in TABLES:
            expected = left_behind(parent, session, table)
            assert left_behind(again, child, table) == expected, table
        assert len(left_behind(again, child, "messages")) >= 6
        columns = ["outcome", "turns", "score", "duration_s", "seed", "scenario", "prelude_id"]
        row = again.sessions()[columns].iloc[0]
        before = parent.sessions().set_index("session_id").loc[session]
        assert row.to_dict() == before[columns].to_dict()


def test_a_change_changes_what_comes_after_and_nothing_before(parent: Run, tmp_path: Path) -> None:
    changes = {"step": 9} if parent.file.kind == "counter" else {"prompt": "structured"}
    session = ids(parent)[0]
    other = parent.replay(session, turn=3, changes=changes, results=tmp_path, executor="in-process")
    child, before = other.session(ids(other)[0]), parent.session(session)
    assert up_to(child, 3) == up_to(before, 3)
    assert child.scores != before.scores
    (name, value), *_ = changes.items()
    assert child.plan.options[name] == value
    assert {**child.plan.options, name: before.plan.options[name]} == before.plan.options
    assert child.plan.levels[name] == str(value)


def test_lineage_is_in_the_sessions_table_and_in_the_run(counter: Run, tmp_path: Path) -> None:
    session = ids(counter)[0]
    run = counter.replay(
        session, turn=2, changes={"step": 2}, times=3, results=tmp_path, executor="in-process"
    )
    rows = run.sessions().sort_values("repeat")
    assert list(rows["repeat"]) == [1, 2, 3]
    assert set(rows["parent_run"]) == {"parent"}
    assert set(rows["parent_session_id"]) == {session}
    assert set(rows["parent_turn"]) == {2}
    assert set(rows["changed"]) == {"step=2"}
    assert rows["seed"].is_unique
    assert rows["seed"].iloc[0] == counter.session(session).plan.seed
    branched = run.file.branched
    assert branched is not None
    assert (branched.run_id, branched.mode, branched.times) == ("parent", "replay", 3)
    assert branched.moments == ((session, 2),)
    assert branched.changes == {"step": ("2",)}
    parents = counter.sessions()
    assert parents[["parent_run", "parent_session_id", "changed", "repeat"]].isna().all(axis=None)


def test_what_is_as_it_was_is_no_change(counter: Run, tmp_path: Path) -> None:
    session = ids(counter)[0]
    run = counter.replay(
        session, turn=2, changes={"step": 1}, results=tmp_path, executor="in-process"
    )
    assert run.sessions()["changed"].isna().all()


@pytest.mark.slow
def test_a_finished_session_is_judged_again_more_often_and_once_again(
    play: Run, tmp_path: Path
) -> None:
    def judged_again(run: Run, repeats: int) -> Run:
        """The last turn's transcript with so many repeats of the judge."""
        changes = {"judge_repeats": repeats}
        (child,) = ids(run)[:1]
        run_id = f"{run.id}-{repeats}"
        return run.replay(
            child, turn=6, changes=changes, results=tmp_path, run_id=run_id, executor="in-process"
        )

    more = judged_again(play, 4)
    assert list(more.sessions()["changed"]) == ["judge_repeats=4"]
    repeats = judge_repeats(RunTables(more.path))
    assert repeats.shape == (1, 4)
    assert repeats.std() > 0
    once = judged_again(more, 1)
    assert list(once.sessions()["changed"]) == ["judge_repeats=1"]
    parent = play.sessions().set_index("session_id").loc[ids(play)[0]]
    assert once.sessions()["score"].iloc[0] == parent["score"]
    assert judged_again(play, 1).sessions()["changed"].isna().all()


def test_a_replay_pays_only_for_what_it_plays(parent: Run, tmp_path: Path) -> None:
    session = ids(parent)[0]
    run = parent.replay(session, turn=4, results=tmp_path, executor="in-process")
    reader = JournalReader(run.path / JOURNAL_NAME)
    money = fold_money(row.entry for row in reader.rows(0, reader.last_seq()))
    reader.close()
    spent = money.history.settled
    assert spent == run.frame("calls")["cost_nano"].sum() == run.sessions()["cost_nano"].sum()
    turns = run.frame("turns")
    inherited = turns[(turns["turn"] <= 4) & (turns["phase"] != "finish")]
    assert len(inherited) == 5
    assert inherited["cost_nano"].sum() == 0
    rows = parent.sessions()
    whole = int(rows[rows["session_id"] == session]["cost_nano"].iloc[0])
    assert 0 < spent < whole
    calls = parent.frame("calls")
    mine = calls[calls["session_id"] == session]
    rest = mine[(mine["turn"] > 4) | (mine["phase"] == "finish")]
    assert spent == rest["cost_nano"].sum()


@pytest.mark.slow
def test_the_new_run_is_whole_without_its_parent(parent: Run, tmp_path: Path) -> None:
    copy = tmp_path / "copy" / "parent"
    shutil.copytree(parent.path, copy)
    run = open_run(copy).replay(ids(parent)[0], turn=2, run_id="child", executor="in-process")
    shutil.rmtree(copy)
    (child,) = ids(run)
    again = run.replay(child, turn=4, run_id="grandchild", executor="in-process")
    assert left_behind(again, ids(again)[0], "messages") == left_behind(run, child, "messages")
    assert list(again.sessions()["parent_session_id"]) == [child]


def test_messages_are_stored_once(parent: Run, tmp_path: Path) -> None:
    run = parent.replay(ids(parent)[0], turn=5, results=tmp_path, executor="in-process")
    messages = run.frame("messages")
    assert not messages.duplicated(["session_id", "position"]).any()
    assert len(messages) == len(left_behind(parent, ids(parent)[0], "messages"))
