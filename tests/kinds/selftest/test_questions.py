"""Questions are counted in whatever script they are asked."""

from __future__ import annotations

import pytest

from matrix.kinds.selftest.judging import questions_in


@pytest.mark.parametrize("mark", ["?", "\uff1f", "\u061f", "\u037e"])
def test_a_question_mark_of_any_script_ends_a_question(mark: str) -> None:
    assert questions_in(" ".join(f"A{mark}" for _ in range(6))) == 6


def test_full_width_marks_need_no_space_after_them_and_a_query_is_no_question() -> None:
    assert questions_in("A\uff1fB\uff1fC\uff1f") == 3
    assert questions_in("See https://x.example/a?b=c.") == 0
