"""Laws of reading all scores at once: what is recorded of whole sessions, and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from matrix.store.reading.reader import RunTables
from matrix.store.reading.session_scores import session_scores
from tests.report.synthetic import Row, make_run

FACTORS = {"prompt": ["p", "q"]}


def tables(folder: Path) -> RunTables:
    rows = [
        Row({"prompt": "p"}, scores={"fun": 3.0, "gone": None, "judge.1": 50.0}),
        Row({"prompt": "q"}, scores={"fun": float("nan")}),
        Row({"prompt": "p"}, round=1, scores={"dull": 1.0}),
    ]
    return RunTables(make_run(folder / "run", rows, FACTORS).path)


def test_every_name_that_is_wanted_has_one_value_per_session(tmp_path: Path) -> None:
    ids = ["a-p-1", "unknown", "a-p-0", "a-q-0"]
    found = session_scores(tables(tmp_path), ids, lambda name: not name.startswith("judge."))
    nan = np.nan
    assert set(found) == {"fun", "gone", "dull"}
    np.testing.assert_array_equal(found["fun"], [nan, nan, 3.0, nan])
    np.testing.assert_array_equal(found["gone"], [nan] * 4)
    np.testing.assert_array_equal(found["dull"], [1.0, nan, nan, nan])


def test_pieces_put_together_are_the_table(tmp_path: Path) -> None:
    read = tables(tmp_path)
    columns = ["session_id", "name", "value"]
    rows = [row for piece in read.pieces("scores", columns) for row in piece.to_pylist()]
    assert repr(rows) == repr(read.table("scores", columns).to_pylist())
    assert read.schema_versions("scores") == {"1"}


def test_a_run_without_scores_has_none(tmp_path: Path) -> None:
    read = RunTables(make_run(tmp_path / "run", [], FACTORS, status="running").path)
    assert session_scores(read, ["a"], lambda _: True) == {}
    assert read.schema_versions("scores") == frozenset()
