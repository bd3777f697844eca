"""The shipped rubrics of play-tests: found by name, shown the guide, in a run and in `rejudge`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from matrix.judging.rubric_file import read_rubric
from matrix.kinds.library import shipped_root
from matrix.kinds.playtest.kind import KIND
from matrix.kinds.playtest.setup.options import CheckedIssue
from matrix.kinds.playtest.table.review import HINTS
from tests.executors.programs import Project, counter_spec, play_spec

SCORED = {"players", "secrets", "story_guide"}
MINE = """
async def reads(turn):
    if "Which one is better?" in turn.messages[0].content:
        assert turn.prompt.index("## guide") < turn.prompt.index("## Transcript A")
        return "CHOICE: TIE - both are alike"
    if "Is there a word?" in turn.messages[0].content:
        return f"VERDICT: {'FAIL' if '## guide' in turn.prompt else 'UNCERTAIN'} - my own"
    guide, said = turn.prompt.split("## Messages")
    knows = "## guide" in guide and "# The House Too Many" in guide and "] narrator: " in said
    return f"VERDICT: {'PASS' if knows else 'FAIL'} - it is all there"
"""
BETTER = "---\nanswer: choice\ntexts: [guide]\n---\nWhich one is better?\n"
OWN = "---\nanswer: verdict\n---\nIs there a word?\n"


def project_of(folder: Path, spec: dict[str, Any], **changes: Any) -> Project:
    (folder / "mine.py").write_text(MINE)
    found = Project(folder)
    found.write(spec | {"agents": {"reads": {"python": "mine:reads", "free": True}}} | changes)
    return found


def played(project: Project, *arguments: str) -> None:
    done = project.matrix(*arguments, "--executor", "in-process", "--quiet")
    assert done.code == 0, done


def words(project: Project, run: str, name: str) -> list[str]:
    frame: Any = project.tables(run).frame("scores")
    return list(map(str, frame[(frame.name == name) & frame.turn.isna()].label))


@pytest.mark.slow
def test_a_run_lists_a_shipped_rubric_by_name_and_rejudge_takes_the_other(tmp_path: Path) -> None:
    judges = [{"rubric": "contradiction", "model": "reads"}]
    project = project_of(tmp_path, play_spec(factors={}, judges=judges))
    played(project, "run", "--run-id", "it")
    assert words(project, "it", "contradiction") == ["PASS", "PASS"]
    played(project, "rejudge", "it", "--rubric", "character_break", "--run-id", "again")
    assert words(project, "again", "character_break") == ["PASS", "PASS"]
    calls = project.tables("again").frame("calls")
    assert set(calls[calls.role == "judges"].tag) == {"character_break"}


def test_every_shipped_rubric_can_be_read() -> None:
    shipped = sorted((shipped_root() / "scenarios" / "playtest" / "rubrics").glob("*.md"))
    found = {path.stem: read_rubric(path) for path in shipped}
    checked = {name for name, one in found.items() if one.answer == "verdict"}
    assert checked == set(HINTS)
    assert checked == set(CheckedIssue.__args__)  # type: ignore[attr-defined]
    assert set(found) - checked == SCORED
    taken = KIND.score_names
    assert not taken & set(found), "a judge of its name could not be listed"


@pytest.mark.slow
def test_rubrics_of_scores_judge_what_was_played_each_criterion_by_itself(tmp_path: Path) -> None:
    """Of sessions in which nobody was told anything alone, none is asked about that."""
    limits = {"cost_usd": 150, "turns": 14}
    project = project_of(tmp_path, play_spec(factors={}, per_cell=6, limits=limits))
    played(project, "run", "--run-id", "it")
    channels: Any = project.tables("it").frame("messages").groupby("session_id").channel
    told = channels.apply(lambda each: each.str.startswith("private/").any())
    assert sorted(set(told)) == [False, True], "the sample has both"
    for rubric in sorted(SCORED):
        played(
            project, "rejudge", "it", "--rubric", rubric, "--judge", "sim/haiku", "--run-id", rubric
        )
        found: Any = project.tables(rubric).frame("scores")
        each = found[found.name.str.startswith(f"{rubric}.")].groupby("name").value.count()
        assert len(each) == 5
        asked = found[found.name == rubric].set_index("session_id").value.notna()
        expected = told if rubric == "secrets" else told | True
        assert set(each) == {expected.sum()}
        if rubric == "secrets":
            assert sorted(asked) == sorted(told)
            calls: Any = project.tables(rubric).frame("calls")
            assert (calls.tag == rubric).sum() == told.sum()


@pytest.mark.slow
def test_a_rubric_of_the_project_goes_before_the_shipped_one_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "rubrics").mkdir()
    (tmp_path / "rubrics" / "contradiction.md").write_text(OWN)
    judges = [{"rubric": "contradiction", "model": "reads"}]
    project = project_of(tmp_path, play_spec(factors={}, per_cell=1, judges=judges))
    played(project, "run", "--run-id", "it")
    assert words(project, "it", "contradiction") == ["UNCERTAIN"]


@pytest.mark.slow
def test_a_rubric_that_compares_shows_the_guide_once_above_both(tmp_path: Path) -> None:
    (tmp_path / "better.md").write_text(BETTER)
    project = project_of(tmp_path, play_spec(per_cell=1))
    played(project, "run", "--run-id", "it")
    against = ("--against", "baseline", "--judge", "reads")
    played(project, "rejudge", "it", "--rubric", "better.md", *against, "--run-id", "again")
    frame: Any = project.tables("again").frame("scores")
    assert set(frame[frame.name == "better"].value) == {0.5}
    assert "both are alike" in set(frame[frame.name == "better"].reason)


def test_a_text_that_no_session_has_is_told_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "own.md").write_text("---\nanswer: verdict\ntexts: [gide, prompt]\n---\nIs it?\n")
    judges = [{"rubric": "own.md", "model": "reads"}]
    project = project_of(tmp_path, play_spec(judges=judges))
    done = project.matrix("run", "--executor", "in-process")
    assert done.code == 2
    assert done.err.count("own shows its judge the text") == 2
    told = "own shows its judge the text 'gide', which sessions of the playtest kind do not have"
    assert f"{told}; they have: guide; did you mean 'guide'?" in " ".join(done.err.split())
    assert not list((tmp_path / "results").glob("*"))


def test_rubrics_of_play_tests_are_no_names_for_other_kinds(tmp_path: Path) -> None:
    judges = [{"rubric": "contradiction", "model": "reads"}]
    project = project_of(tmp_path, counter_spec(judges=judges))
    done = project.matrix("run", "--executor", "in-process")
    assert done.code == 2
    assert "found 'contradiction'; no such rubric" in done.err
