"""Creating, finding and updating runs."""

from __future__ import annotations

import random
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from matrix.model.errors import BadInput, RunExists, RunNotFound, StoreError
from matrix.store.run.run_folder import (
    PlanSummary,
    RunFile,
    RunTotals,
    Versions,
    create_run,
    find_run,
    list_runs,
    new_run_id,
    read_run,
    write_run,
)
from matrix.store.run.schema import RunInfo

START = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def run_file(run_id: str = "pulse-1", **changes: Any) -> RunFile:
    fields: dict[str, Any] = {
        "run_id": run_id,
        "created_at": START,
        "name": "pulse",
        "kind": "playtest",
        "spec": {"version": 1, "factors": {"prompt": ["a", "b"]}},
        "spec_hash": "s" * 16,
        "prices_hash": "p" * 16,
        "versions": Versions(matrix="0.1.0", python="3.11.7", kind=1, state=1),
        "git_commit": None,
        "status": "running",
        "plan": PlanSummary(
            sessions=100, cells=4, rounds=25, scenarios=("shadow-bay",),
            factors={"prompt": ("a", "b")}, compared="prompt", metric="score",
            score_range=(0.0, 10.0),
        ),
        "simulated": True,
        "cap_nano": 50 * 10**9,
    }  # fmt: skip
    return RunFile(**(fields | changes))


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    totals = RunTotals(
        outcomes={"completed": 99, "censored": 1}, calls=5, tokens_in=6, tokens_out=7,
        settled_nano=8, presumed_nano=9, elapsed_s=1.5,
    )  # fmt: skip
    run_dir = create_run(tmp_path / "results", run_file())
    assert read_run(run_dir) == run_file()
    done = run_file().model_copy(update={"status": "complete", "totals": totals})
    write_run(run_dir, done)
    assert read_run(run_dir) == done
    assert [path.name for path in run_dir.iterdir()] == ["run.json"]
    assert done.info == RunInfo("pulse-1", "s" * 16, "p" * 16, ("prompt",))


def test_a_run_is_never_overwritten(tmp_path: Path) -> None:
    create_run(tmp_path, run_file())
    with pytest.raises(RunExists, match="matrix resume pulse-1"):
        create_run(tmp_path, run_file(name="other"))
    assert read_run(tmp_path / "pulse-1").name == "pulse"


def test_an_unusable_results_folder_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(BadInput, match=r"^results: .*file is a file; name a folder"):
        create_run(tmp_path / "file", run_file())
    with pytest.raises(StoreError, match=r"cannot write in .*deeper.*results"):
        create_run(tmp_path / "file" / "deeper", run_file())


def test_run_files_are_frozen_and_know_no_other_fields() -> None:
    with pytest.raises(ValidationError):
        run_file(surprise=1)
    with pytest.raises(ValidationError):
        run_file(created_at=datetime(2026, 3, 1))  # noqa: DTZ001  without a time zone
    with pytest.raises(ValidationError):
        run_file().status = "complete"  # type: ignore[misc]


def test_a_run_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is this a results folder of matrix"):
        read_run(tmp_path)
    (tmp_path / "run.json").write_text(run_file().model_dump_json()[:-20])
    with pytest.raises(StoreError, match="damaged or was written by another version"):
        read_run(tmp_path)
    (tmp_path / "run.json").write_text('{"format": 2}')
    with pytest.raises(StoreError, match="format: Input should be 1"):
        read_run(tmp_path)


def test_run_ids_say_name_and_time_in_utc_and_end_in_chance() -> None:
    there = START.astimezone(timezone(timedelta(hours=5)))
    assert new_run_id("pulse", there, random.Random(7)) == new_run_id(
        "pulse", START, random.Random(7)
    )
    found = new_run_id("pulse", START, random.Random(7))
    assert found.startswith("pulse-20260301-120000-")
    assert len(found) == len("pulse-20260301-120000-") + 4


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for number, run_id in enumerate(["tone-1", "pulse-1", "pulse-2"]):
        create_run(tmp_path, run_file(run_id, created_at=START - timedelta(days=number)))
    (tmp_path / "README.md").write_text("the data dictionary")
    (tmp_path / "not-a-run").mkdir()
    return tmp_path


def test_runs_are_listed_oldest_first_and_damaged_ones_shown(results: Path) -> None:
    assert [listed.path.name for listed in list_runs(results)] == ["pulse-2", "pulse-1", "tone-1"]
    (results / "pulse-1" / "run.json").write_text("{")
    first = list_runs(results)[0]
    assert (first.path.name, first.run) == ("pulse-1", None)
    assert "damaged" in first.problem
    assert list_runs(results / "nowhere") == []


def test_a_run_is_found_by_id_beginning_path_or_as_the_last(results: Path) -> None:
    assert find_run(results, "pulse-1") == results / "pulse-1"
    assert find_run(results, "t") == results / "tone-1"
    assert find_run(results, "last") == results / "tone-1"
    elsewhere = results / "nowhere"
    assert find_run(elsewhere, str(results / "pulse-2")) == results / "pulse-2"
    assert find_run(elsewhere, str(results / "pulse-2" / "run.json")) == results / "pulse-2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pulse", "beginning of 2 runs: pulse-1, pulse-2"),
        ("plse-1", "near it: pulse-1"),
        ("", "there: pulse-1, pulse-2, tone-1"),
        ("xyz", "no run 'xyz'"),
    ],
)
def test_a_run_that_is_not_found_names_those_near_it(
    results: Path, text: str, message: str
) -> None:
    with pytest.raises(RunNotFound, match=message):
        find_run(results, text)


def test_the_last_run_of_an_empty_folder_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(RunNotFound, match="start one with `matrix run`"):
        find_run(tmp_path, "last")


def test_run_folders_journals_and_transcripts_import_neither_arrow_nor_pandas() -> None:
    code = (
        "import sys, matrix.store.run.run_folder\n"
        "import matrix.store.journal.journal, matrix.store.journal.transcript\n"
        "print(sorted({'pyarrow', 'pandas', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
