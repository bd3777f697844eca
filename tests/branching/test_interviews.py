"""Interviews: one player is asked, and the session stays as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

import matrix
from matrix.api import Run, export
from matrix.kinds.protocol import INTERVIEWED
from matrix.model.errors import BadInput
from tests.branching.looking import TABLES, ids, left_behind


def first_player(run: Run, session: str) -> str:
    return str(run.session(session).players[0].name)


@pytest.mark.parametrize("turn", [0, 3, None])
def test_an_interview_asks_once_and_leaves_the_session_as_it_was(
    play: Run, tmp_path: Path, turn: int | None
) -> None:
    session = ids(play)[0]
    name = first_player(play, session)
    before = {table: left_behind(play, session, table) for table in TABLES}
    heard = play.interview(
        session, name, "Why did you stay?", turn=turn, results=tmp_path, executor="in-process"
    )
    assert {table: left_behind(play, session, table) for table in TABLES} == before
    assert (heard.who, heard.question, heard.session_id) == (name, "Why did you stay?", session)
    assert heard.turn == (6 if turn is None else turn)
    assert len(heard.answers) == 1
    assert heard.answers[0]
    calls = heard.run.frame("calls")
    assert list(calls["agent"]) == [name]
    assert list(calls["tag"]) == ["interview"]
    said = heard.run.frame("messages")
    assert list(said[said["channel"] == INTERVIEWED]["speaker"]) == ["system", name]
    planned = heard.run.file
    assert planned.branched is not None
    assert planned.branched.mode == "interview"


@pytest.mark.slow
def test_the_same_question_has_the_same_answer_and_more_often_others(
    play: Run, tmp_path: Path
) -> None:
    session = ids(play)[0]
    name = first_player(play, session)

    def ask(folder: str, times: int) -> tuple[str, ...]:
        return play.interview(
            session,
            name,
            "What do you remember?",
            times=times,
            results=tmp_path / folder,
            executor="in-process",
        ).answers

    assert ask("one", 1) == ask("two", 1)
    many = ask("many", 8)
    assert len(many) == 8
    assert len(set(many)) > 1


@pytest.mark.slow
def test_a_file_is_asked_as_its_session_is(play: Run, tmp_path: Path) -> None:
    session = ids(play)[0]
    name = first_player(play, session)
    file = export(play.path, session, turn=3, output=tmp_path / "3.json")
    planned = matrix.api.plan_interview_checkpoint(file, name, "And then?")
    run = matrix.api.start_branching(planned, tmp_path / "file", executor="in-process")
    in_run = play.interview(
        session, name, "And then?", turn=3, results=tmp_path / "run", executor="in-process"
    )
    assert matrix.api.answered(run).answers == in_run.answers


@pytest.mark.slow
def test_the_spokesperson_can_be_asked_without_a_name(play: Run, tmp_path: Path) -> None:
    session = ids(play)[0]
    (speaker,) = [one.name for one in play.session(session).players if one.is_spokesperson]
    heard = play.interview(
        session, "Spokesperson", "Well?", results=tmp_path, executor="in-process"
    )
    assert heard.who == speaker


@pytest.mark.slow
def test_an_interview_is_never_meant_by_last(play: Run, tmp_path: Path) -> None:
    session = ids(play)[0]
    results = tmp_path / "results"
    again = play.replay(session, turn=5, results=results, executor="in-process")
    name = first_player(play, session)
    again.interview(ids(again)[0], name, "Well?", executor="in-process")
    assert matrix.open_run("last", results=results).id == again.id


def test_who_cannot_be_asked_is_told_before_anything_starts(
    play: Run, counter: Run, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="found 'Nobody'; the players are "):
        play.interview(ids(play)[0], "Nobody", "Why?", results=tmp_path)
    with pytest.raises(BadInput, match="counter have nobody in them"):
        counter.interview(ids(counter)[0], "Ned", "Why?", results=tmp_path)
    with pytest.raises(BadInput, match="question"):
        play.interview(ids(play)[0], first_player(play, ids(play)[0]), " ", results=tmp_path)
    assert not list(tmp_path.iterdir())
