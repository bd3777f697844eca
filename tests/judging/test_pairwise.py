"""Which of two sessions is better: asked both ways round, ties allowed, a metric like any other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from matrix.judging.choice import Choice, preferred, read_choice
from matrix.judging.forms import Unread
from tests.executors.programs import Project
from tests.judging.served_judges import judged_project

JUDGES = """
import re
from pathlib import Path

def _sums(turn):
    return [sum(map(int, re.findall(r": (\\d+)$", part, re.M)))
            for part in turn.prompt.split("## Transcript B")]

async def larger(turn):
    a, b = _sums(turn)
    return f"CHOICE: {'A' if a > b else 'B' if b > a else 'TIE'} - {a} and {b}"

async def first(turn):
    return "CHOICE: A - it came first"

asked = []

async def fitful(turn):
    asked.append(turn)
    mended = Path(__file__).with_name("mended").exists()
    return "" if len(asked) <= 16 and not mended else await larger(turn)

async def numbers(turn):
    if "## Transcript B" not in turn.prompt:
        return "nothing"  # it is asked in place of the kind's own judge, too
    a, b = (int(re.search(r"\\[(\\d+)\\] ", part.partition("<<<")[2])[1])
            for part in turn.prompt.split("## Transcript B"))
    return f"CHOICE: {'A' if a < b else 'B' if b < a else 'TIE'} - {a} and {b}"

async def silent(turn):
    return ""

async def raises(turn):
    raise ValueError("no")
"""
WHICH = "---\nanswer: choice\n---\nWhich of the two counts further?\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "pairs_of_mine.py").write_text(JUDGES)
    (tmp_path / "which.md").write_text(WHICH)
    (tmp_path / "tone.md").write_text("---\nanswer: verdict\n---\nIs it so?\n")
    names = ("larger", "first", "fitful", "silent", "raises")
    spec = {
        "name": "count",
        "kind": "counter",
        "scenarios": ["one"],
        "factors": {"turns": [2, 3]},
        "per_cell": 12,
        "compare": {"factor": "turns"},
        "limits": {"cost_usd": 10},
        "agents": {one: {"python": f"pairs_of_mine:{one}", "free": True} for one in names},
    }
    (tmp_path / "matrix.yaml").write_text(yaml.safe_dump(spec))
    found = Project(tmp_path)
    done = found.matrix("run", "--executor", "in-process", "--quiet", "--run-id", "it")
    assert done.code == 0, done
    return found


def beside(project: Project, judge: str, *more: str, run_id: str = "pairs") -> dict[str, Any]:
    """Judge three turns beside two; rows of the score ``which`` by turns planned."""
    done = project.matrix(
        "rejudge", "it", "--rubric", "which.md", "--judge", judge, "--against", "2", *more,
        "--run-id", run_id, "--executor", "in-process", "--quiet",
    )  # fmt: skip
    assert done.code == 0, done
    tables = project.tables(run_id)
    scores = tables.frame("scores")
    scores = scores[scores.name == "which"]
    sessions = tables.frame("sessions").set_index("session_id")
    step = sessions["factor_turns" if "factor_turns" in sessions else "turns"]
    return {str(name): rows for name, rows in scores.groupby(scores.session_id.map(step))}


@pytest.mark.slow
def test_a_citation_of_nothing_is_told_of_choices_too(project: Project) -> None:
    with (project.folder / "pairs_of_mine.py").open("a") as more:
        more.write("\nasync def first(turn):\n    return 'CHOICE: A - as [1] and [77] show'\n")
    beside(project, "first")
    events = project.tables("pairs").frame("events")
    told = set(events[events.kind == "cites_nothing"].detail)
    assert told == {"first cites 77, which it was not shown"}


@pytest.mark.slow
def test_a_variant_that_is_better_both_ways_round_wins(project: Project) -> None:
    found = beside(project, "larger")
    assert set(found["2"].value) == {0.5}  # beside itself, nobody is asked
    assert set(found["3"].value) == {1.0}
    assert set(found["3"].label) == {"WIN"}
    calls = project.tables("pairs").frame("calls")
    assert len(calls) == 2 * 12
    done = project.matrix("compare", "pairs", "--metric", "which", "--json")
    assert done.code == 0, done
    told = json.loads(done.out)
    (row,) = told["differences"]
    assert (row["first"], row["difference"]) == ("3", 0.5)


@pytest.mark.slow
def test_a_choice_that_is_judged_again_is_asked_beside_the_same_sessions(project: Project) -> None:
    """And a rubric that was edited since is told, as its file of today is what is asked by."""
    found = beside(project, "larger")
    go = ("--executor", "in-process", "--run-id")
    done = project.matrix("rejudge", "pairs", "--no-cache", *go, "again")
    assert done.code == 0, done
    assert "is read as its file is today" not in done.out + done.err
    scores = project.tables("again").frame("scores")
    anew = scores[scores.name == "which"].value
    assert sorted(anew) == sorted(value for rows in found.values() for value in rows.value)
    assert len(project.tables("again").frame("calls")) == 2 * 12
    rubric = project.folder / "which.md"
    rubric.write_text(rubric.read_text() + "\nBe strict.\n")
    command = ("rejudge", "pairs", "--rubric", "which.md", "--judge", "larger", "--against", "2")
    done = project.matrix(*command, *go, "edited")
    told = "rubric which is read as its file is today, which is other than what run pairs was"
    assert told in " ".join((done.out + done.err).split()), done


@pytest.mark.slow
def test_choices_that_were_missing_are_made_beside_the_same_opponents(project: Project) -> None:
    """Fewer sessions have fewer opponents: nothing is other in a run of them."""
    found = beside(project, "fitful")["3"].value
    assert 0 < found.isna().sum() < len(found)
    (project.folder / "mended").touch()
    command = ("rejudge", "pairs", "--missing", "--executor", "in-process", "--run-id", "made")
    done = project.matrix(*command)
    assert done.code == 0, done
    done = project.matrix("compare", "pairs", "made", "--metric", "which")
    assert "opponent" not in done.out + done.err, done


@pytest.mark.slow
def test_a_judge_that_goes_by_the_place_tells_nobody_apart(project: Project) -> None:
    found = beside(project, "first")
    assert set(found["3"].value) == {0.5}
    events = project.tables("pairs").frame("events")
    assert (events.kind == "chosen_by_place").sum() == 12


@pytest.mark.slow
@pytest.mark.parametrize("judge", ["silent", "raises"])
def test_a_choice_that_cannot_be_had_is_missing_and_not_a_tie(judge: str, project: Project) -> None:
    found = beside(project, judge)
    assert found["3"].value.isna().all()
    assert found["3"].reason.str.len().min() > 0


@pytest.mark.slow
def test_numbers_of_messages_do_not_tell_which_side_is_the_baseline(tmp_path: Path) -> None:
    """A self-test's log begins with material that no judge of a transcript is shown."""
    (tmp_path / "pairs_of_mine.py").write_text(JUDGES)
    project = judged_project(
        tmp_path,
        "http://127.0.0.1:9/v1",
        factors={"system": ["echo", "other"]},
        agents={
            "echo": {"python": "echo:reply", "free": True},
            "other": {"python": "echo:reply", "free": True},
            "numbers": {"python": "pairs_of_mine:numbers", "free": True},
        },
        judges=[],
    )
    (tmp_path / "which.md").write_text(WHICH)
    project.matrix("run", "selftest.yaml", "--executor", "in-process", "--quiet", "--run-id", "it")
    done = project.matrix(
        "rejudge", "it", "--rubric", "which.md", "--judge", "numbers", "--against", "other",
        "--run-id", "pairs", "--executor", "in-process", "--quiet",
    )  # fmt: skip
    scores = project.tables("pairs").frame("scores")
    which = scores[scores.name == "which"]
    assert len(which) == 2, done
    assert set(which.value) == {0.5}


@pytest.mark.slow
def test_a_simulated_judge_compares_too(project: Project) -> None:
    found = beside(project, "sim/gpt-4o-mini", "--repeats", "3")
    assert found["3"].value.isin([0, 1 / 6, 1 / 3, 0.5, 2 / 3, 5 / 6, 1]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--rubric", "which.md"), "asks for a choice between two sessions"),
        (("--rubric", "tone.md", "--against", "2"), "asks for no choice"),
        (("--rubric", "which.md", "--against", "4"), "found '4'; the variants are: 2, 3"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    options: tuple[str, ...], told: str, project: Project
) -> None:
    done = project.matrix(
        "rejudge", "it", "--judge", "larger", *options, "--executor", "in-process"
    )
    assert done.code == 2, done
    assert told in done.err


# --- reading --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("CHOICE: A - it is", "A"),
        ("Both are fine.\n**CHOICE: B** \u2013 shorter", "B"),
        ("choice: tie", "TIE"),
    ],
)
def test_a_choice_is_read(text: str, word: str) -> None:
    found = read_choice(text)
    assert isinstance(found, Choice)
    assert found.word == word


@pytest.mark.parametrize("text", ["", "A", "CHOICE: C - x", "CHOICE: A\nCHOICE: B", "CHOICE: Both"])
def test_what_is_no_choice_is_not_guessed(text: str) -> None:
    assert isinstance(read_choice(text), Unread)


def test_only_what_both_orders_say_decides() -> None:
    a, b, tie = (Choice(word, "") for word in ("A", "B", "TIE"))
    expected = {(0, 1): 1.0, (1, 0): 0.0, (0, 0): 0.5, (1, 1): 0.5, (2, 2): 0.5, (0, 2): 0.5}
    for (one, two), value in expected.items():
        assert preferred((a, b, tie)[one], (a, b, tie)[two]) == value
    assert preferred(a, None) is None


@pytest.mark.slow
def test_the_summary_says_who_won_and_how_many_choices_went_with_the_place(
    project: Project,
) -> None:
    beside(project, "larger", run_id="pairs")
    told = " ".join(project.matrix("show", "pairs").out.split())
    assert "which, share of comparisons won, ties as halves: 2 0.500 (12 sessions), 3 1.000" in told
    assert "matrix compare pairs --metric which" in told
    assert "chosen by place" not in told
    beside(project, "first", run_id="placed")
    told = " ".join(project.matrix("show", "placed").out.split())
    assert "which: 12 of 12 comparisons chosen by place, and so a tie" in told
    data = json.loads(project.matrix("show", "placed", "--json").out)
    assert data["judging"]["chosen_by_place"] == {"which": {"choices": 12, "of": 12}}
