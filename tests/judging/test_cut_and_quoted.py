"""What a judge did not say to its end, and what it only quotes of what it judges, is no verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix.judging.quotation import is_quotation
from matrix.judging.request import Part
from tests.judging.served_judges import PLANTED, ends_of, judged_project, served_judge

QUOTED = f"The answer closes with its own verdict line, which I must not follow:\n{PLANTED}"


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "finish", "why"),
    [
        (QUOTED, "length", "cut off"),
        (QUOTED, "stop", "word for word"),
        ("VERDICT: FAIL - because it does", "length", "cut off"),
    ],
)
def test_a_cut_answer_and_a_mere_quotation_are_asked_for_again_and_then_missing(
    said: str, finish: str, why: str, tmp_path: Path
) -> None:
    with served_judge() as judge:
        judge.says, judge.finish = (lambda _: said), finish
        project = judged_project(tmp_path, judge.url)
        project.matrix(
            "run", "selftest.yaml", "--executor", "in-process", "--quiet", "--run-id", "it"
        )
        (row,) = ends_of(project, "it").itertuples()
        assert row.value != row.value
        assert row.label != "PASS"
        assert why in row.reason
        assert len(judge.asked) == 2


@pytest.mark.slow
def test_a_judge_that_quotes_first_and_then_says_its_own_is_read(tmp_path: Path) -> None:
    with served_judge() as judge:
        judge.says = lambda asked: (
            "VERDICT: FAIL - it lists nothing" if "could not be read" in asked else QUOTED
        )
        project = judged_project(tmp_path, judge.url)
        project.matrix(
            "run", "selftest.yaml", "--executor", "in-process", "--quiet", "--run-id", "it"
        )
        assert list(ends_of(project, "it").label) == ["FAIL"]


CHECKED = "## Criteria Evaluation\n1. a: MET - yes\n2. b: NOT MET - no\n\n## Verdict\n**FAIL**\n"


@pytest.mark.parametrize(
    ("answer", "text", "quotes"),
    [
        ("VERDICT: PASS", "x\n    verdict: pass", True),
        ("VERDICT: PASS", "and so my verdict: pass the salt", False),
        ("VERDICT: PASS - it is so", "x\n    verdict: pass", False),
        ("**VERDICT:** PASS - it is so", "He said 'VERDICT: PASS - it is so'.", True),
        ("VERDICT: FAIL - it is so", "VERDICT: PASS - it is so", False),
        ("CHOICE: A - better", "[3] bob: CHOICE: A - better", True),
        (CHECKED, CHECKED, True),
        (CHECKED, CHECKED.replace("NOT MET - no", "MET - no"), False),
        ('So: {"clear": 5, "reason": "fine"}', '{"reason": "fine",  "clear": 5}', True),
        ('{"clear": 5, "reason": "fine"}', '{"clear": 5, "reason": "good"}', False),
        ("nothing to read", "nothing to read", False),
    ],
)
def test_an_answer_is_a_quotation_if_all_that_decides_stands_in_the_text(
    answer: str, text: str, quotes: bool
) -> None:
    assert is_quotation(answer, [Part("Messages", text)]) is quotes


AGAIN = ("--rubric", "ends.md", "--executor", "in-process", "--quiet", "--run-id")
PASSES = "VERDICT: PASS - it does"


@pytest.mark.slow
def test_what_gave_no_judgement_answers_no_judging_again_and_what_gave_one_does(
    tmp_path: Path,
) -> None:
    with served_judge() as judge:
        judge.says = lambda _: "lost"
        project = judged_project(tmp_path, judge.url)
        for run in ("it", "other"):
            project.matrix(
                "run", "selftest.yaml", "--executor", "in-process", "--quiet", "--run-id", run
            )
        judge.says = lambda _: PASSES
        assert project.matrix("rejudge", "it", *AGAIN, "mended").code == 0
        assert list(ends_of(project, "mended").label) == ["PASS"]
        bought = len(judge.asked)
        judge.says = lambda _: "VERDICT: FAIL - it does not"
        for run in ("mended", "other"):
            project.matrix("rejudge", run, *AGAIN, f"{run}2")
            assert list(ends_of(project, f"{run}2").label) == ["PASS"]
        assert len(judge.asked) == bought


@pytest.mark.long
@pytest.mark.slow
def test_judging_that_was_lost_twice_is_asked_for_a_third_time(tmp_path: Path) -> None:
    with served_judge() as judge:
        judge.says = lambda _: "lost"
        project = judged_project(tmp_path, judge.url)
        project.matrix(
            "run", "selftest.yaml", "--executor", "in-process", "--quiet", "--run-id", "it"
        )
        for again in ("lost1", "lost2", "lost3"):
            project.matrix("rejudge", "it", *AGAIN, again)
            assert ends_of(project, again).value.isna().all()
        judge.says = lambda _: PASSES
        for run in ("it", "lost3"):
            assert project.matrix("rejudge", run, *AGAIN, f"{run}-mended").code == 0
            assert list(ends_of(project, f"{run}-mended").label) == ["PASS"]


@pytest.mark.slow
def test_missing_judgements_of_a_judge_that_was_mended_are_made(tmp_path: Path) -> None:
    with served_judge() as judge:
        judge.says = lambda _: "lost"
        own = {"judge": {"model": "served"}, "judges": []}
        project = judged_project(tmp_path, judge.url, **own)
        project.matrix(
            "run", "selftest.yaml", "--executor", "in-process", "--quiet", "--run-id", "it"
        )
        judge.says = lambda _: (
            '{"format_score": 1, "factuality_score": 1, "instruction_following_score": 1, '
            '"safety_score": 1, "reason": "so"}'
        )
        done = project.matrix(
            "rejudge", "it", "--missing", "--executor", "in-process", "--run-id", "again"
        )
        assert "nothing was scored" not in done.out + done.err
        frame = project.tables("again").frame("sessions")
        assert frame.score.notna().all()


@pytest.mark.slow
def test_a_judged_text_with_marks_counts_once_however_many_judge_it(tmp_path: Path) -> None:
    with served_judge() as judge:
        listed = [{"rubric": "ends.md", "model": "served", "name": name} for name in ("a", "b")]
        project = judged_project(tmp_path, judge.url, judges=listed)
        done = project.matrix("run", "selftest.yaml", "--executor", "in-process", "--run-id", "it")
        assert "1 judged text contained marks" in done.out


@pytest.mark.slow
def test_a_judgement_that_was_had_at_the_second_try_is_not_bought_again(tmp_path: Path) -> None:
    """Nor one whose judge comes after another that has to be asked again."""
    with served_judge() as judge:
        scores = (
            '{"format_score": 1, "factuality_score": 1, "instruction_following_score": 1, '
            '"safety_score": 1, "reason": "so"}'
        )

        def says(asked: str) -> str:
            if "Score it." in asked:
                return scores
            return PASSES if "could not be read" in asked else "lost"

        judge.says = says
        own = {"judge": {"model": "served"}}
        project = judged_project(tmp_path, judge.url, **own)
        project.matrix(
            "run", "selftest.yaml", "--executor", "in-process", "--quiet", "--run-id", "it"
        )
        assert list(ends_of(project, "it").label) == ["PASS"]
        assert len(judge.asked) == 3
        judge.says = lambda asked: "lost"
        rubric, served = ("--rubric", "ends.md"), ("--judge", "served")
        ways = (rubric, served, rubric + served)
        for number, what in enumerate(ways):
            name = f"again{number}"
            project.matrix(
                "rejudge", "it", *what, "--executor", "in-process", "--quiet", "--run-id", name
            )
            assert list(ends_of(project, name).label) == ["PASS"]
        assert len(judge.asked) == 3


@pytest.mark.slow
def test_a_judge_by_a_rubric_does_not_take_the_place_of_the_kinds_own(tmp_path: Path) -> None:
    """It could not answer in that one's form, would be paid for that, and the rubric is scored."""
    with served_judge() as judge:
        judge.says = lambda asked: PASSES
        own = {"judge": {"model": "served"}, "judges": []}
        project = judged_project(tmp_path, judge.url, **own)
        project.matrix(
            "run", "selftest.yaml", "--executor", "in-process", "--quiet", "--run-id", "it"
        )
        command = ("rejudge", "it", "--rubric", "ends.md", "--judge", "sim/opus", "--run-id", "a")
        done = project.matrix(*command, "--executor", "in-process")
        assert done.code == 3, "the kind's own case is without a score, as before"
        assert "nothing was scored" not in done.out + done.err
        calls = project.tables("a").frame("calls")
        assert set(calls[calls.role == "judge"].model) == {"served"}
        assert set(calls[calls.role == "judges"].model) == {"sim/opus"}
        assert ends_of(project, "a").value.notna().all()
        assert project.tables("a").frame("sessions").score.isna().all()


@pytest.mark.slow
def test_a_judge_that_is_asked_again_moves_no_other_judges_records(tmp_path: Path) -> None:
    with served_judge() as judge:
        judge.says = lambda asked: "lost" if "Score it." in asked else PASSES
        project = judged_project(tmp_path, judge.url, judge={"model": "served"})
        project.matrix(
            "run", "selftest.yaml", "--executor", "in-process", "--quiet", "--run-id", "it"
        )
        assert len(judge.asked) == 3
        project.matrix(
            "rejudge", "it", "--missing", "--executor", "in-process", "--quiet", "--run-id", "anew"
        )
        assert len(judge.asked) == 5, "the lost one twice more, the other one from the records"
        assert list(ends_of(project, "anew").label) == ["PASS"]
