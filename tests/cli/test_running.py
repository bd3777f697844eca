"""`matrix run` from its first line to its exit code, in this process."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from matrix import api
from matrix.model.errors import BadInput
from matrix.model.money import show_usd
from matrix.report.text import tokens
from tests.cli.conftest import PLAY
from tests.cli.program import (
    PROGRAM,
    Golden,
    GoldenRun,
    Matrix,
    Result,
    environment,
    shown,
)
from tests.executors.programs import wait_for
from tests.waiting import LONGEST_WAIT_S

SMALL = ("run", "--executor", "in-process", "--set", "scenarios=[the-borrowed-hour]",
         "--set", "options.group_size_max=2")  # fmt: skip
"""A run of one short story with groups of two: the cheapest there is."""


def test_a_run_says_what_it_will_do_and_what_came_of_it(
    played: tuple[Path, Result], golden: Golden
) -> None:
    folder, result = played
    assert result.code == 0
    golden("run", shown(folder, PLAY, result))


def test_the_results_are_on_the_standard_output_and_everything_else_is_not(
    played: tuple[Path, Result],
) -> None:
    folder, result = played
    assert result.stdout.startswith("run first (complete) in ")
    assert "\nrun first in results/first\n" in result.stderr
    assert len(pd.read_parquet(folder / "results" / "first" / "sessions")) == 8


@pytest.mark.slow
def test_the_same_seed_makes_the_same_run(played: tuple[Path, Result], here: Path) -> None:
    api.init(here)
    again = api.run(here, per_cell=2, results=here / "results", executor="in-process")
    columns = ["session_id", "seed", "outcome", "turns", "cost_usd", "score"]
    first = api.open_run("first", results=played[0] / "results")
    one, other = (
        run.sessions().sort_values("session_id", ignore_index=True)[columns]
        for run in (first, again)
    )
    pd.testing.assert_frame_equal(one, other)


@pytest.mark.slow
def test_quiet_is_the_verdict_in_one_line(project: Path, golden_run: GoldenRun) -> None:
    result = golden_run("run-quiet", *SMALL, "--sessions", "2", "--quiet")
    assert result.stdout.count("\n") == 1


@pytest.mark.slow
def test_a_partial_last_round_is_played_to_the_session_and_its_name_is_kept(
    project: Path, matrix: Matrix
) -> None:
    result = matrix(*SMALL, "--sessions", "3", "--json", "--name", "three")
    summary = json.loads(result.stdout)
    assert (result.stderr, result.code) == ("", 0), "progress is not mixed with data"
    assert summary["run_id"].startswith("three-")
    assert summary["sessions"]["completed"] == summary["sessions"]["planned"] == 3
    assert summary["comparison"]["rounds"] == {
        "planned": 2, "complete": 1, "used": 1, "still_needed": 9,
        "still_needed_for_a_winner": 51,
    }  # fmt: skip
    variants = {row["level"]: row["sessions"] for row in summary["comparison"]["variants"]}
    assert variants == {"baseline": 2, "warmer": 1}


def test_money_by_role_and_by_session_is_the_money_spent(played: tuple[Path, Result]) -> None:
    run = api.open_run("first", results=played[0] / "results")
    summary = run.summary()
    calls = run.frame("calls")
    assert sum(summary.role_nano.values()) == summary.spent_nano == calls["cost_nano"].sum()
    assert summary.spent_nano <= run.file.cap_nano


def test_tokens_are_those_of_all_calls_wherever_they_are_told(
    finished: Path, matrix: Matrix
) -> None:
    run = api.open_run("first", results=finished / "results")
    calls, totals = run.frame("calls"), run.file.totals
    used = (int(calls["tokens_in"].sum()), int(calls["tokens_out"].sum()))
    sessions = run.sessions()
    assert used[1] > sessions["tokens_out"].sum(), "preludes are in no session"
    assert totals is not None
    assert (totals.tokens_in, totals.tokens_out) == used
    data = json.loads(matrix("show", "first", "--json").stdout)
    assert (data["tokens_in"], data["tokens_out"]) == used
    told = f"{tokens(used[0])} tokens in, {tokens(used[1])} out\n"
    assert told in matrix("show", "first").stdout
    assert told in (run.path / "report.md").read_text()


def test_what_preludes_used_is_told_where_no_session_came_to_a_call(
    project: Path, matrix: Matrix
) -> None:
    cap = ("--at-cap", "spend-all", "--max-cost", "0.003", "--run-id", "poor")
    data = json.loads(matrix(*SMALL, "--sessions", "2", *cap, "--json", "--yes").stdout)
    run = api.open_run("poor", results=project / "results")
    assert run.sessions()["tokens_in"].sum() == 0
    assert data["spent_usd"] > 0
    assert data["tokens_in"] == run.frame("calls")["tokens_in"].sum() > 0


# --- the cap --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_cap_that_binds_ends_the_run_with_every_session_accounted_for(
    project: Path, matrix: Matrix
) -> None:
    cap = ("--at-cap", "spend-all", "--max-cost", "0.05", "--open-sessions", "2")
    result = matrix(*SMALL, "--per-cell", "12", *cap, "--run-id", "capped")
    assert result.code == 4
    run = api.open_run("capped", results=project / "results")
    outcomes = run.sessions()["outcome"].value_counts().to_dict()
    assert sum(outcomes.values()) == 24
    assert outcomes["censored"] > 0
    assert run.summary().spent_nano <= 50_000_000
    assert "(incomplete: cap)" in result.stdout
    assert "matrix resume capped --max-cost USD" in result.stdout
    assert "above its cap of $0.05" in result.stderr


@pytest.mark.slow
def test_a_round_that_the_cap_has_no_room_for_is_told_with_the_figures(
    project: Path, matrix: Matrix
) -> None:
    args = (
        *SMALL,
        "--per-cell",
        "12",
        "--run-id",
        "capped",
        "--budget",
        "nightly=0.4/day",
        "--yes",
    )
    result = matrix(*args)
    assert result.code == 4
    spent = api.open_run("capped", results=project / "results").summary().spent_nano
    left = show_usd(400_000_000 - spent)
    for said in (result.stderr, " ".join(result.stdout.split())):
        assert "another whole round may cost up to $0." in said
        assert f", and {left} is left of the $0.40 that budget nightly ($0.40 per day)" in said
        assert "(its own cap is $30.00): with a budget of $0.4" in said
    for told in (result.stdout, matrix("show", "capped").stdout):
        assert "matrix resume capped --budget nightly=USD/day\n" in told, "what gets it further"
    assert matrix("resume", "capped", "--executor", "in-process", "--max-cost", "50").code == 4
    again = matrix("resume", "capped", "--executor", "in-process", "--budget", "nightly=50/day")
    assert (again.code, "of $50.00" in again.stdout) == (0, True)


@pytest.mark.slow
def test_a_cap_that_ends_a_run_in_whole_rounds_is_told_with_one_that_is_enough(
    project: Path, matrix: Matrix
) -> None:
    result = matrix(*SMALL, "--per-cell", "12", "--run-id", "capped", "--max-cost", "0.4", "--yes")
    told = re.search(
        r"may cost up to (\$\S+), and (\$\S+) is left of the cap of \$0.40: with \$(\S+) there",
        " ".join(result.stdout.split()),
    )
    assert (result.code, told is not None) == (4, True)
    assert told is not None
    assert told[1] != told[2], "as many digits as tell them apart"
    rounds = api.open_run("capped", results=project / "results").sessions()["outcome"]
    before = int((rounds == "completed").sum())
    assert 0 < before < 24
    matrix("resume", "capped", "--executor", "in-process", "--max-cost", told[3])
    after = api.open_run("capped", results=project / "results").sessions()["outcome"]
    assert int((after == "completed").sum()) > before


@pytest.mark.slow
def test_what_was_cut_short_makes_no_completed_session_dearer(
    project: Path, matrix: Matrix
) -> None:
    cap = ("--at-cap", "spend-all", "--max-cost", "0.2", "--open-sessions", "3")
    result = matrix(*SMALL, "--per-cell", "12", *cap, "--run-id", "capped", "--json")
    shown = json.loads(result.stdout)["comparison"]["variants"]
    study = json.loads(matrix("compare", "capped", "--json").stdout)
    sessions = api.open_run("capped", results=project / "results").sessions()
    assert sessions.loc[sessions["outcome"] == "censored", "cost_usd"].sum() > 0
    completed = sessions[sessions["outcome"] == "completed"]
    assert set(sessions["outcome"]) == {"completed", "censored"}
    means = completed.groupby("prompt")["cost_usd"].mean()
    assert len(means) == 2
    for row in (*shown, *study["variants"]):
        assert row["cost_per_completed_usd"] == pytest.approx(means[row["level"]])


@pytest.mark.slow
def test_a_run_at_its_cap_goes_on_with_a_higher_one(project: Path, matrix: Matrix) -> None:
    args = ("--per-cell", "4", "--at-cap", "spend-all", "--open-sessions", "2")
    assert matrix(*SMALL, *args, "--max-cost", "0.05", "--quiet", "--yes").code == 4
    result = matrix("resume", "--executor", "in-process", "--max-cost", "5", "--json")
    summary = json.loads(result.stdout)
    assert (result.code, summary["status"], summary["cap_usd"]) == (0, "complete", 5)
    assert summary["sessions"]["completed"] == summary["sessions"]["planned"] == 8


@pytest.mark.long
@pytest.mark.slow
def test_resuming_a_run_that_is_over_says_so_and_changes_nothing(
    finished: Path, matrix: Matrix
) -> None:
    run_dir = finished / "results" / "first"
    (finished / "plugins").mkdir()
    (finished / "plugins" / "ray.py").write_text("raise SystemExit('Ray was loaded')")

    def folder() -> dict[Path, tuple[int, bytes]]:
        files = [path for path in run_dir.rglob("*") if path.is_file()]
        files = [path for path in files if not path.name.endswith("-shm")]  # touched by any reader
        return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files}

    before = folder()
    summary = matrix("show", "first").stdout
    for more in ((), ("--max-cost", "900"), ("--per-cell", "2")):
        variables = {"PYTHONPATH": str(finished / "plugins")}
        result = matrix("resume", "first", *more, variables=variables)
        said = "run first is complete: there is nothing left to play, and nothing was changed\n"
        assert (result.stderr, result.code) == (said, 0)
        assert result.stdout == summary
        assert folder() == before


def test_only_limits_change_when_a_run_is_resumed(finished: Path, matrix: Matrix) -> None:
    result = matrix("run", "--executor", "in-process", "--resume", "first", "--seed", "2")
    assert result.code == 2
    said = "--seed: cannot change when a run is resumed; limits, cache and more sessions can\n"
    assert result.stderr == said


def test_variables_for_new_runs_do_not_stand_in_the_way_of_resuming(
    finished: Path, matrix: Matrix
) -> None:
    variables = {"MATRIX_SEED": "2", "MATRIX_SESSIONS": "99"}
    result = matrix(
        "run", "--executor", "in-process", "--resume", "first", "--quiet", variables=variables
    )
    assert (result.stderr, result.code) == ("", 0)


@pytest.mark.slow
def test_at_whole_rounds_no_variant_is_ahead_when_the_cap_ends_the_run(
    project: Path, matrix: Matrix
) -> None:
    result = matrix(*SMALL, "--per-cell", "12", "--max-cost", "0.3", "--json")
    rows = json.loads(result.stdout)["comparison"]["variants"]
    assert result.code == 4
    assert rows[0]["ended"] == rows[1]["ended"] > 0
    assert all(row["ended"] + row["censored"] == row["sessions"] == 12 for row in rows)


# --- what stops a run before it starts ------------------------------------------------------------


def test_a_run_is_never_overwritten(finished: Path, golden_run: GoldenRun) -> None:
    before = (finished / "results" / "first" / "run.json").read_bytes()
    assert golden_run("run-exists", *PLAY, "--quiet").code == 2
    assert (finished / "results" / "first" / "run.json").read_bytes() == before


@pytest.mark.parametrize("run_id", ["../elsewhere", "a/b", ".hidden", "last", "x" * 200, "a\nb"])
def test_a_run_id_can_only_name_a_folder_in_the_results(project: Path, run_id: str) -> None:
    prepared = api.plan(project, sessions=1)
    with pytest.raises(BadInput, match=r"^run_id: found "):
        api.start(prepared, run_id=run_id, results=project / "results", executor="in-process")
    assert not (project / "results").exists()


def test_results_that_cannot_be_written_are_named(project: Path, golden_run: GoldenRun) -> None:
    (project / "taken").write_text("a file")
    args = ("run", "--executor", "in-process", "--results", "taken/runs")
    result = golden_run("results-unwritable", *args, "--quiet")
    assert result.code == 1
    assert (project / "taken").read_text() == "a file"


# --- interrupts -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_interrupt_leaves_a_run_that_can_be_read_and_resumed(project: Path) -> None:
    args = ("run", "--executor", "in-process", "--per-cell", "300", "--run-id", "stopped", "--yes")
    with subprocess.Popen(
        [PROGRAM, *args, "--max-cost", "1000"],
        cwd=project,
        env=environment(project),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stderr is not None
        for line in program.stderr:
            if line.startswith("run stopped in"):
                break
        _wait_for_journal(project / "results" / "stopped" / "journal.sqlite")
        program.send_signal(signal.SIGINT)
        stdout, stderr = program.communicate(timeout=LONGEST_WAIT_S)
    assert program.returncode == 4
    assert "stopping (interrupted)" in stderr
    assert "run stopped (incomplete: interrupted)" in stdout
    assert "  matrix resume stopped\n" in stdout
    run = api.open_run("stopped", results=project / "results")
    assert len(run.sessions()) == 1200
    assert run.status == "incomplete"


def _wait_for_journal(path: Path) -> None:
    """Until something has been played: the journal, or its log of writes, has grown."""
    wait_for(
        lambda: sum(file.stat().st_size for file in path.parent.glob("journal.sqlite*")) > 300_000
    )


@pytest.mark.slow
def test_where_results_lie_elsewhere_the_next_commands_say_so(
    project: Path, matrix: Matrix
) -> None:
    result = matrix(*SMALL, "--sessions", "2", "--results", "else where", "--run-id", "x")
    (line,) = [line for line in result.stdout.splitlines() if "matrix show" in line]
    assert line.startswith("  matrix show x worst --results 'else where'")
