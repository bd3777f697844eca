"""A winner that only a judge's favour makes is none: labels undo it wherever a verdict is told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from matrix.api.sessions.labelling import labelling
from tests.executors.programs import Project
from tests.judging.favouring import compared, label, played, told


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Two variants alike but for a turn more, which both judges favour; played once."""
    folder = tmp_path_factory.mktemp("void")
    return played(folder, 30)


@pytest.fixture(scope="module")
def early(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The same, over twelve rounds and favoured in every second session: too little to win."""
    return played(tmp_path_factory.mktemp("early"), 12, judge="slight")


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("moved", [0, 2])
def test_a_winner_by_a_judge_that_errs_for_it_is_named_nowhere(
    project: Project, moved: int
) -> None:
    label(project, "tone", {"2": 0.0, "3": 2.0}, moved)
    found = compared(project)
    assert (found["winner"], found["verdict"]) == (None, "not_enough_data")
    assert found["void"]["winner_by_judge"] == "3"
    assert found["judge_check"]["word"] == "void"
    assert found["settling"]["rounds"] is None
    assert found["decision_aid"] is None
    assert [pair["finding"] for pair in found["differences"]] == ["void"]
    people = [row["mean"] for row in found["void"]["by_people"]]
    said = f"By people, with the judge's help: 2 {people[0]:.3f}"
    for text in (told(project, "compare", "it"), told(project, "show", "it")):
        assert "No winner on tone on the judge's word alone" in text
        assert said in text
        for claim in ("beats", "Settled", "3 better", "Good enough", "dominates"):
            assert claim not in text.replace("to dominate", ""), claim
    show = json.loads(project.matrix("show", "it", "--json").out)
    assert show["comparison"]["winner"] is None
    assert show["comparison"]["void"] == found["void"]
    check = told(project, "label", "it", "--check")
    assert "The judge errs differently for 2 and 3" in check
    assert "Good enough" not in check


@pytest.mark.slow
def test_a_pass_rate_of_a_judge_that_passes_one_variant_whatever_it_is_names_no_winner(
    project: Project,
) -> None:
    """People fail what it passes of the variant of three turns, and agree on the other."""
    label(project, "ends", {"2": 0.0, "3": 1.0})
    found = compared(project, "--metric", "ends")
    assert found["winner"] is None
    assert found["void"]["winner_by_judge"] == "3"
    assert "No winner on ends" in told(project, "compare", "it", "--metric", "ends")


@pytest.mark.parametrize(
    ("off", "winner"),
    [
        ({"2": 0.0, "3": 0.0}, "3"),  # it is right
        ({"2": 1.0, "3": 1.0}, "3"),  # as wrong for both
        ({"2": 0.0, "3": 0.5}, "3"),  # favours the winner, which leads without that
        ({"2": 2.0, "3": 0.0}, "3"),  # favours the other
        ({"2": 0.0, "3": 3.0}, None),  # people have it the other way round
    ],
)
def test_a_winner_stands_where_what_the_judge_errs_by_does_not_undo_the_lead(
    project: Project, off: dict[str, float], winner: str | None
) -> None:
    label(project, "tone", off)
    found = compared(project)
    assert found["winner"] == winner
    assert (found["void"] is None) == (winner is not None)
    if winner and off["2"] != off["3"]:
        favours = "too little to undo this verdict" if off["3"] > off["2"] else "not in favour of"
        assert favours in told(project, "compare", "it")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("off", "void"),
    [
        ({"2": 0.0, "3": 1.0}, True),  # it errs for the one that is ahead so far
        ({"2": 1.0, "3": 0.0}, False),  # and against it: that lead stands
        ({"2": 1.0, "3": 1.0}, False),
    ],
)
def test_nor_is_it_said_who_is_ahead_by_a_judge_that_errs_for_it(
    early: Project, off: dict[str, float], void: bool
) -> None:
    """What would be said without a winner is who leads, by how many rounds, and the odds."""
    label(early, "tone", off)
    found, text = compared(early), told(early, "compare", "it")
    assert found["winner"] is None
    assert ("No winner shown on tone on the judge's word alone" in text) == void
    assert (found["void"] is not None) == void
    assert (found["decision_aid"] is None) == void
    assert ("More rounds would not settle it" in text) == void
    assert ("a verdict by it alone is void" in text) == void
    assert ("not in favour of the one of them that is ahead" in text) == (off["2"] > off["3"])
    if void:
        assert found["verdict"] == "not_enough_data"
        assert found["void"]["verdict_by_judge"] in ("not_enough_data", "no_difference")
        assert found["void"]["winner_by_judge"] is None
        assert [pair["finding"] for pair in found["differences"]] == ["void"]
        assert "more rounds needed" not in text
        assert "probably better" not in text


@pytest.mark.slow
def test_rejudging_tells_of_a_void_winner_by_the_labels_that_the_first_run_has(
    project: Project,
) -> None:
    label(project, "tone", {"2": 0.0, "3": 2.0})
    again = ("rejudge", "it", "--judge", "points", "--rubric", "tone.md", "--run-id", "again")
    text = told(project, *again, "--executor", "in-process", "--quiet")
    assert "beats" not in text
    for one in (told(project, "show", "again"), told(project, "compare", "again")):
        assert "No winner on tone on the judge's word alone" in one
        assert "beats" not in one
    assert compared(project, run="again")["void"]["winner_by_judge"] == "3"


def test_a_share_by_people_and_its_interval_stay_between_0_and_1(project: Project) -> None:
    """All but one session of a variant pass: t alone would reach beyond."""
    label(project, "ends", {"2": 0.0, "3": 0.0}, moved=0)
    work = labelling(project.folder / "results" / "it", metric="ends", sessions=60, rater="ana")
    frame: Any = project.tables("it").frame("sessions")
    last = frame[frame.turns == 3].session_id.iloc[-1]
    work.take([(str(last), 0.0, "")])
    work.close()
    rows = compared(project, "--metric", "ends")["by_people"]["rows"]
    ends = [
        float(row["interval"][end]) for row in rows for end in ("low", "high") if row["interval"]
    ]
    assert len(ends) >= 2
    assert max(ends) <= 1.0
    assert min(ends) >= 0.0
