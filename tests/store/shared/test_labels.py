"""Labels beside the runs: added, never rewritten; the newest of each person counts."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from matrix.model.errors import StoreError
from matrix.store.shared.labels import (
    LABELS_NAME,
    Label,
    LabelledTranscript,
    add_labels,
    people_say,
    read_labels,
)


def label(session: str, value: float | None, rater: str = "ana") -> Label:
    return Label(
        run="r",
        session=session,
        metric="tone",
        rater=rater,
        value=value,
        at=datetime(2026, 1, 2, tzinfo=UTC),
    )


def test_the_newest_label_of_each_person_counts_and_can_be_taken_back(tmp_path: Path) -> None:
    assert read_labels(tmp_path) == []
    add_labels(tmp_path, [label("a", 1.0), label("b", 2.0), label("b", 4.0, "ben")])
    add_labels(tmp_path, [label("a", 3.0), label("c", 5.0)])
    add_labels(tmp_path, [label("c", None)])
    found = read_labels(tmp_path)
    assert [(one.session, one.rater, one.value) for one in found] == [
        ("a", "ana", 3.0),
        ("b", "ana", 2.0),
        ("b", "ben", 4.0),
    ]
    a, b, x = (LabelledTranscript("r", session) for session in "abx")
    assert people_say(found, "tone", [[a], [b], [x, b]]).tolist() == [3.0, 3.0, 3.0]
    other = LabelledTranscript("another run of the same spec", "a")
    assert np.isnan(people_say(found, "tone", [[other]])).all()
    assert len((tmp_path / LABELS_NAME).read_text().splitlines()) == 6


def test_a_line_that_a_kill_has_cut_off_costs_no_other(tmp_path: Path) -> None:
    add_labels(tmp_path, [label("a", 1.0), label("b", 2.0)])
    whole = (tmp_path / LABELS_NAME).read_bytes()
    for end in range(len(whole) // 2 + 1, len(whole) - 1):
        (tmp_path / LABELS_NAME).write_bytes(whole[:end])
        add_labels(tmp_path, [label("c", 3.0)])
        assert [one.session for one in read_labels(tmp_path)] in (["a", "c"], ["a", "b", "c"])
    (tmp_path / LABELS_NAME).write_bytes(whole.rstrip())
    add_labels(tmp_path, [label("c", 3.0)])
    assert [one.session for one in read_labels(tmp_path)] == ["a", "b", "c"], "an editor did that"


@pytest.mark.parametrize("cut", [1, 30, 120])
def test_damaged_lines_are_named_and_no_older_label_counts_again(tmp_path: Path, cut: int) -> None:
    add_labels(tmp_path, [label(name, 1.0) for name in "abc"])
    add_labels(tmp_path, [label(name, 4.0) for name in "abc"])
    lines = (tmp_path / LABELS_NAME).read_bytes().splitlines()
    for number in (3, 4):
        lines[number] = lines[number][:-cut]
    (tmp_path / LABELS_NAME).write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(StoreError, match=r"lines 4, 5 of .*labels\.jsonl are no labels"):
        read_labels(tmp_path)


def test_a_line_of_something_else_is_told_with_its_number(tmp_path: Path) -> None:
    (tmp_path / LABELS_NAME).write_text('{"run": "r"}\n')
    with pytest.raises(StoreError, match="line 1 of"):
        read_labels(tmp_path)
