"""Laws of reading repeats of the judge: by session and repeat, with gaps left as gaps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from matrix.judging.repeats import repeat_name
from matrix.model.errors import StoreError
from matrix.store.reading.judgings import judge_repeats
from matrix.store.reading.reader import RunTables
from tests.report.synthetic import Row, make_run

FACTORS = {"prompt": ["p", "q"]}


def tables(folder: Path, *scores: dict[str, float | None]) -> RunTables:
    """Tables of sessions p0, q0, p1, q1 ... with these scores besides their primary one."""
    rows = [
        Row({"prompt": "pq"[at % 2]}, round=at // 2, scores=given)
        for at, given in enumerate(scores)
    ]
    return RunTables(make_run(folder / "run", rows, FACTORS, status="running").path)


def repeats(*values: float | None, metric: str = "score") -> dict[str, float | None]:
    return {repeat_name(number, metric): value for number, value in enumerate(values, 1)}


def test_every_session_is_a_row_and_every_repeat_a_column(tmp_path: Path) -> None:
    read = tables(
        tmp_path,
        repeats(50.0, 52.0, 54.0) | repeats(3.0, 3.5, 4.0, metric="quality_pacing"),
        repeats(60.0, None, 61.0),
        {},
        repeats(70.0),
    )
    nan = np.nan
    rows = {
        "a-p-0": [50.0, 52.0, 54.0],
        "a-q-0": [60.0, nan, 61.0],
        "a-p-1": [nan, nan, nan],
        "a-q-1": [70.0, nan, nan],
    }
    order = list(read.frame("sessions")["session_id"])
    np.testing.assert_array_equal(judge_repeats(read), [rows[name] for name in order])
    asked = ["a-q-1", "unknown", "a-p-0"]
    np.testing.assert_array_equal(
        judge_repeats(read, sessions=asked), [rows["a-q-1"], [nan] * 3, rows["a-p-0"]]
    )
    np.testing.assert_array_equal(
        judge_repeats(read, "quality_pacing", ["a-p-0", "a-q-0"]), [[3.0, 3.5, 4.0], [nan] * 3]
    )


def test_more_than_nine_repeats_keep_their_order(tmp_path: Path) -> None:
    values = [float(number) for number in range(20)]
    np.testing.assert_array_equal(judge_repeats(tables(tmp_path, repeats(*values))), [values])


def test_without_repeats_there_are_no_columns(tmp_path: Path) -> None:
    read = tables(tmp_path, {"quality_pacing": 3.0}, {})
    assert judge_repeats(read).shape == (2, 0)
    assert judge_repeats(read, "no-such-metric").shape == (2, 0)
    assert judge_repeats(read, sessions=[]).shape == (0, 0)


def test_a_run_of_which_nothing_is_published_yet_has_no_rows(tmp_path: Path) -> None:
    assert judge_repeats(tables(tmp_path)).shape == (0, 0)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    read = tables(tmp_path, repeats(1.0, 2.0))
    for file in (read.run_dir / "scores").iterdir():
        file.write_bytes(b"torn")
    with pytest.raises(StoreError, match="table scores"):
        judge_repeats(read)
