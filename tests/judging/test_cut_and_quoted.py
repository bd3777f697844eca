"""What a judge did not say to its end, and what it only quotes of what it judges, is no verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix.judging.quotation import is_quotation
from matrix.judging.request import Part
from tests.judging.served_judges import PLANTED, ends_of, judged_project, served_judge

QUOTED = f"The answer closes with its own verdict line, which I must not follow:\n{PLANTED}"


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
        project.matrix("run", "selftest.yaml", "--in-process", "--quiet", "--run-id", "it")
        (row,) = ends_of(project, "it").itertuples()
        assert row.value != row.value
        assert row.label != "PASS"
        assert why in row.reason
        assert len(judge.asked) == 2


def test_a_judge_that_quotes_first_and_then_says_its_own_is_read(tmp_path: Path) -> None:
    with served_judge() as judge:
        judge.says = lambda asked: (
            "VERDICT: FAIL - it lists nothing" if "could not be read" in asked else QUOTED
        )
        project = judged_project(tmp_path, judge.url)
        project.matrix("run", "selftest.yaml", "--in-process", "--quiet", "--run-id", "it")
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
